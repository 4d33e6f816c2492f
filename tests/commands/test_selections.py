"""Patterns of commands: what matches nothing is an error with the nearest name, never an empty result."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from conftest import DATA
from support.programs import run, write_rows

NAMES = ("train/reward", "train/reward_std", "train/loss", "train/loss_scale")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("run")
    rows = ({"step": step, **dict.fromkeys(NAMES, step / 10)} for step in range(30))
    write_rows(path, rows)
    return str(path)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("reward", NAMES[:2]),
        ("LOSS scale", NAMES[3:]),
        ("train/loss", NAMES[2:3]),
        ("train/loss*", NAMES[2:]),
        ("re:loss$", NAMES[2:3]),
        ("scale|reward std", (*NAMES[1:2], *NAMES[3:])),
        ("scale|", NAMES[3:]),
    ],
)
def test_metrics_are_chosen_by_the_patterns_of_the_screen(log: str, pattern: str, names: tuple[str, ...]) -> None:
    for options in ((), ("--by-source",)):
        rows = csv.DictReader(io.StringIO(run("export", log, "--metric", pattern, *options).stdout))
        assert {row["metric"] for row in rows} == set(names)


@pytest.mark.parametrize("pattern", ["kl", "train/kl", "k?"])
def test_every_source_of_a_chosen_metric_is_written(tmp_path: Path, pattern: str) -> None:
    """The sources have different names for one metric."""
    history = [{"step": 1, "kl": 0.5, "loss": 2.0}, {"step": 2, "kl": 0.25, "loss": 1.0}]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"global_step": 2, "log_history": history}))
    rows = [{"step": row["step"], "train/kl": row["kl"], "train/loss": row["loss"]} for row in history]
    write_rows(tmp_path, rows)
    output = run("export", str(tmp_path), "--by-source", "--metric", pattern).stdout
    points = {(row["source"], row["metric"], row["step"], row["value"]) for row in csv.DictReader(io.StringIO(output))}
    assert points == {
        (source, name, str(row["step"]), str(row["kl"]))
        for source, name in (("metrics.jsonl", "train/kl"), ("trainer_state.json", "kl"))
        for row in history
    }


def test_histograms_are_chosen_by_their_own_names(tmp_path: Path) -> None:
    source = str(DATA / "tensorboard" / "torch")
    options = ("export", source, "--format", "media", "--metric")
    run(*options, "*weight*", "-o", f"{tmp_path}/some/")
    lines = (tmp_path / "some" / "media.jsonl").read_text().splitlines()
    assert {"weight" in json.loads(line)["tag"] for line in lines} == {True}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [("10-12", [10, 11, 12]), ("28-", [28, 29]), ("-1", [0, 1]), ("5-5", [5]), ("0-99", list(range(30)))],
)
def test_points_of_a_range_of_steps(log: str, steps: str, expected: list[int]) -> None:
    command = ("export", log, f"--steps={steps}", "--metric", "train/loss")
    points = [(step, step / 10) for step in expected]
    for options in ((), ("--by-source",)):
        rows = csv.DictReader(io.StringIO(run(*command, *options).stdout))
        assert [(int(row["step"]), float(row["value"])) for row in rows] == points
    rows_of_json = map(json.loads, run(*command, "--format", "jsonl").stdout.splitlines())
    assert [(row["step"], row["value"]) for row in rows_of_json] == points
