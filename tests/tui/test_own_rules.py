"""Alert rules of the user that are added and removed on the screen."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from support.dashboard import opened, until
from textual.pilot import Pilot

from tuimon import config
from tuimon.errors import UsageError
from tuimon.tui.app import TuimonApp
from tuimon.tui.settings_file import add_rule, remove_rule

LOW = "reward < 0.5 for 5 steps"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("TUIMON_CONFIG", str(path))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps({"step": step, "reward": step / 20, "kl": 0.01}) + "\n" for step in range(20)))
    return path.parent


async def answer(app: TuimonApp, pilot: Pilot[None], action: str, line: str) -> None:
    app.action_do(action)
    await until(app, pilot, lambda _: app.input_line.display)
    app.input_line.line.value = line
    await pilot.press("enter")


async def test_a_rule_is_checked_at_once_and_saved_until_it_is_removed(run: Path, file: Path) -> None:
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s and app.snapshot.progress.caught_up)
        await answer(app, pilot, "add_rule", LOW)
        await until(app, pilot, lambda _: any(alert.rule == LOW for alert in app.snapshot.resolved))
        assert tomllib.loads(file.read_text())["rules"] == [{"rule": LOW}]
        await answer(app, pilot, "add_rule", "kl<0.1")
        await until(app, pilot, lambda s: "⚑kl<0.1" in s and any(a.rule == "kl<0.1" for a in app.snapshot.alerts))
        await answer(app, pilot, "add_rule", "kl<0.1")
        await until(app, pilot, lambda s: not app.snapshot.alerts and "⚑kl<0.1" not in s)
        assert tomllib.loads(file.read_text())["rules"] == [{"rule": LOW}]
        assert config.load().rules == ({"rule": LOW},) == app.settings.rules


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("reward <", "invalid rule: reward <; example: reward < 0.1 for 20 steps"),
        ("rewrd < 1", "Not saved: no metric matches rewrd; did you mean reward?"),
    ],
)
async def test_a_rule_that_means_nothing_is_named(run: Path, file: Path, line: str, said: str) -> None:
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await answer(app, pilot, "add_rule", line)
        await until(app, pilot, lambda s: said in s)
        assert not file.exists()
        if line == "rewrd < 1":
            assert app.settings.rules == ()
            await pilot.press("enter")
            await until(app, pilot, lambda s: "Rule added, saved in" in s)
            assert tomllib.loads(file.read_text())["rules"] == [{"rule": line}]
            await answer(app, pilot, "add_rule", "rewar < 1")
            await until(app, pilot, lambda s: "Rule added for reward, saved in" in s)


async def test_a_rule_that_cannot_be_saved_is_checked_until_the_end(run: Path, file: Path) -> None:
    file.parent.mkdir()
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        file.write_text("[[rules]\n")
        await answer(app, pilot, "add_rule", "kl < 0.1")
        await until(app, pilot, lambda s: "until tuimon ends only" in s)
        await until(app, pilot, lambda _: any(alert.rule == "kl < 0.1" for alert in app.snapshot.alerts))
    assert file.read_text() == "[[rules]\n"


def test_other_contents_of_the_file_are_kept(file: Path) -> None:
    file.parent.mkdir()
    rule = '[[rules]]\nrule = "kl > 5"  # too far\nseverity = "critical"\n'
    before = f'theme = "dark"  # mine\n\n{rule}\n[notify]\nbell = true\n'
    file.write_text(before)
    assert add_rule('a "b" < 1') == file
    assert config.load().rules == ({"rule": "kl > 5", "severity": "critical"}, {"rule": 'a "b" < 1'})
    assert all(line in file.read_text() for line in before.splitlines())
    assert remove_rule("kl > 5") == file
    assert remove_rule("kl > 5") is None
    assert tomllib.loads(file.read_text()) == {
        "theme": "dark",
        "rules": [{"rule": 'a "b" < 1'}],
        "notify": {"bell": True},
    }
    assert "# mine" in file.read_text()


def test_rules_in_an_inline_list_are_changed(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('rules = [{rule = "kl > 5"}]\n')
    add_rule("lr > 1")
    assert config.load().rules == ({"rule": "kl > 5"}, {"rule": "lr > 1"})
    remove_rule("kl > 5")
    remove_rule("lr > 1")
    assert config.load().rules == ()


def test_a_file_that_is_no_toml_is_not_changed(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("[[rules]\n")
    for change in (add_rule, remove_rule):
        with pytest.raises(UsageError, match="it is no TOML"):
            change("kl > 5")
    assert file.read_text() == "[[rules]\n"
