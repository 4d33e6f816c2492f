"""The settings of a run begin with what its log says about the run itself."""

from __future__ import annotations

from conftest import DATA
from support.made_run import run_of

from tuimon.analysis.words import time_of_day
from tuimon.draw.numbers import format_duration
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run
from tuimon.panels.lists.settings import settings_tree


def test_host_program_and_arguments_of_a_wandb_run() -> None:
    run = next(run for run in open_run(DATA / "wandb").runs if run.name == "run-good")
    known = {row.name: row.value for row in settings_tree(run) if row.path[0] == "run"}
    assert (known["writer"], known["host"]) == ("wandb", "vm")
    assert known["program"].endswith("wb.py")
    assert known["arguments"] == "run-good 220 3e-3 -1"
    assert known["directory"] == run.path
    lasted = format_duration(run.last_wall_time - run.first_wall_time)
    assert known["first point"].endswith(f"{time_of_day(run.first_wall_time)}, {lasted} before the last")


def test_a_commit_is_shown_and_a_secret_is_not() -> None:
    writer = {"name": "wandb", "git_commit": "8a5edab282632443219e051e4ade2d1d5bbc671c", "api_key": "sk-" + "a" * 40}
    known = {row.name: row.value for row in settings_tree(run_of({}, [Fact("writer", writer)]))}
    assert known["git_commit"] == writer["git_commit"]
    assert "aaaa" not in known["api_key"]
    assert settings_tree(run_of({})) == ()
