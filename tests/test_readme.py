"""What the README says is so: its keys are the registry's, its formats those there are, its commands run."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from tuimon import config
from tuimon.commands import commands
from tuimon.detectors import all_detectors
from tuimon.formats import all_formats
from tuimon.tui.actions import all_actions, key_names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
MEASURED = json.loads((ROOT / "tests" / "bench" / "detectors.json").read_text("utf-8"))


def between(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", README, re.DOTALL)
    assert found, f"README.md has no {name} section"
    return found[1].strip()


def keys_table() -> str:
    """Those of the dashboard: a list's own stand in its footer and under ?."""
    here = [action for action in all_actions() if "dashboard" in action.where]
    rows = "".join(f"| `{key_names(action.keys)}` | {action.help} |\n" for action in here)
    return f"| key | what it does |\n| --- | --- |\n{rows}".strip()


def detectors_table() -> str:
    """Each with the first sentence of its module, and what `python -m tests.bench detectors` has measured of it."""
    measured = MEASURED["detectors"]
    rows = ""
    for one in sorted(all_detectors(), key=lambda one: one.id):
        told = (sys.modules[type(one).__module__].__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        known = measured.get(one.id, dict.fromkeys(("recall", "precision", "delay"), "-"))
        rows += f"| `{one.id}` | {told} | {known['recall']} | {known['precision']} | {known['delay']} |\n"
    head = "| detector | what it tells | recall | precision | steps |\n| --- | --- | --- | --- | --- |"
    return f"{head}\n{rows}".strip()


def formats_table() -> str:
    supported = [one for one in all_formats() if not one.unsupported]
    rows = "".join(
        f"| {one.title} | {one.writers} | `{one.id}` |\n"
        for one in sorted(supported, key=lambda one: (-one.rank, one.title))
    )
    return f"| log | written by | id |\n| --- | --- | --- |\n{rows}".strip()


def test_the_keys_are_those_of_the_registry() -> None:
    assert between("keys") == keys_table(), f"put this into README.md:\n{keys_table()}"


def test_the_detectors_are_those_there_are() -> None:
    assert between("detectors") == detectors_table(), f"put this into README.md:\n{detectors_table()}"


def test_the_healthy_runs_are_as_quiet_as_has_been_measured() -> None:
    assert f"{MEASURED['healthy']} healthy ones, {MEASURED['quiet']} of which raise no alert" in README


def test_the_formats_are_those_there_are() -> None:
    assert between("formats") == formats_table(), f"put this into README.md:\n{formats_table()}"


def test_every_command_it_names_exists_and_every_command_is_named() -> None:
    named = set(re.findall(r"^    tuimon (\w+) ", README, re.MULTILINE))
    assert named <= set(commands())
    assert set(commands()) - named <= {"watch", "man"}


def test_every_setting_is_told_with_its_default() -> None:
    block = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert block
    told = tomllib.loads(block[1])
    settings = config.Settings()
    for field in fields(settings):
        assert field.name in told
        if field.name not in config.TABLES:
            value = told[field.name]
            assert (tuple(value) if isinstance(value, list) else value) == getattr(settings, field.name), field.name


@pytest.mark.parametrize("path", re.findall(r"\]\((?!http)([^)]+)\)", README))
def test_what_it_links_to_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_two_commands_are_one_line_each() -> None:
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        assert block.count("\n") == 1
        assert shlex.split(block)[0] == "python3"


if __name__ == "__main__":  # writes the tables into the README
    text = README
    for name, table in (("keys", keys_table()), ("formats", formats_table()), ("detectors", detectors_table())):
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", rf"\1{table}\n\2", text, flags=re.DOTALL)
    (ROOT / "README.md").write_text(text, "utf-8")
