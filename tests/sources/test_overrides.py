"""The user's word about runs: on the command line and in a project file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.programs import run as tuimon

from tuimon.errors import UsageError
from tuimon.sources.overrides import PROJECT_FILE, Overrides, load_overrides, runs_table


def write_log(path: Path, steps: Iterable[int], shift: float = 0.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"step": step, "loss": 1 / (1 + step) + shift}) + "\n" for step in steps))


@pytest.fixture
def resumed(tmp_path: Path) -> Path:
    write_log(tmp_path / "first" / "metrics.jsonl", range(50))
    write_log(tmp_path / "second" / "metrics.jsonl", range(45, 90), 0.5)
    return tmp_path


def runs_of(*words: str) -> list[tuple[str, int, int]]:
    """Name, last step and superseded points of the loss of each run."""
    printed = json.loads(tuimon("summary", "--json", *words).stdout)
    return [(run["name"], run["step"], run["metrics"][0]["superseded"]) for run in printed["runs"]]


def test_paths_joined_on_the_command_line_are_attempts_of_one_run(resumed: Path) -> None:
    first, second = str(resumed / "first"), str(resumed / "second")
    assert runs_of(str(resumed)) == [("first", 49, 0), ("second", 89, 0)]
    joined = [("first", 89, 5)]
    assert runs_of(str(resumed), "--join", first, second) == joined
    assert runs_of("--join", first, second) == joined
    assert runs_of(first, second, "--join") == joined


def test_files_split_on_the_command_line_are_runs(resumed: Path) -> None:
    both = resumed / "both"
    write_log(both / "a.jsonl", range(50))
    write_log(both / "b.jsonl", range(45, 90), 0.5)
    assert [name for name, _, _ in runs_of(str(both))] == ["both"]
    assert [name for name, _, _ in runs_of(str(both), "--split", str(both))] == ["a.jsonl", "b.jsonl"]


def test_a_project_file_joins_and_splits(resumed: Path) -> None:
    (resumed / PROJECT_FILE).write_text('[runs]\njoin = [["first", "second"]]\nsplit = ["other"]\n')
    assert runs_of(str(resumed)) == [("first", 89, 5)]
    assert load_overrides([str(resumed / "first")], {}) == Overrides(
        ((str(resumed / "first"), str(resumed / "second")),), (str(resumed / "other"),)
    )


@pytest.mark.parametrize(
    "table", ["runs = 1", "[runs]\njoin = [1]", "[runs]\nsplit = 'a'", "[runs]\nother = []", "[runs"]
)
def test_an_invalid_table_says_so_and_changes_nothing(resumed: Path, table: str) -> None:
    (resumed / PROJECT_FILE).write_text(table)
    with pytest.raises(UsageError):
        runs_table(resumed / PROJECT_FILE)
    assert load_overrides([str(resumed)], {}) == Overrides()


def test_doctor_prints_the_rule_of_each_log(resumed: Path) -> None:
    words = "--join", str(resumed / "first"), str(resumed / "second")
    lines = tuimon("doctor", str(resumed), *words).stdout.splitlines()
    rules = [line.partition("; rule: ")[2] for line in lines if "metrics.jsonl" in line]
    assert rules == ["its directory", "it goes on where attempt 1 stopped"]
