"""Names and order of runs from their paths."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tuimon.monitor.local import open_run
from tuimon.sources.run_names import run_names

TABLE: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_name("paths.toml").read_text("utf-8"))


@pytest.mark.parametrize(("path", "name"), TABLE["names"])
def test_a_name_says_which_run_it_is(path: str, name: str) -> None:
    assert run_names([path], {path: "/data/grpo" if path.startswith("/data") else "/s"}) == {path: name}


@pytest.mark.parametrize(("roots", "names"), TABLE["given"])
def test_a_given_directory_keeps_its_name(roots: list[str], names: list[str]) -> None:
    assert [*run_names(roots, {root: root for root in roots}).values()] == names


def test_a_directory_below_the_given_one_is_named_by_its_parent() -> None:
    assert run_names(["/s/own/console"], {"/s/own/console": "/s"}) == {"/s/own/console": "own"}


def test_trial_2_is_found_before_trial_10(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        (tmp_path / f"trial_{number}").mkdir()
        (tmp_path / f"trial_{number}" / "metrics.jsonl").write_text('{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}\n')
    assert [run.name.rpartition("/")[2] for run in open_run(str(tmp_path)).runs] == ["trial_1", "trial_2", "trial_10"]
