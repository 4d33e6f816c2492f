"""Logs written by other versions of the libraries, each with the same rows; some runs were killed at step 45.

The log of a killed run has all rows that its writer had passed to the disk, up to some step, and no wrong one.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from conftest import DATA

from tuimon.commands import main

CASES = sorted((DATA / "versions").iterdir())
NEGATIVE_INFINITY_LOST = "swanlab-0.4"
"""A version that writes INF for both infinities."""


def logged() -> dict[str, list[tuple[int, float]]]:
    """The logged values, by the formulas of the script that wrote the logs."""
    rows_by_metric: dict[str, list[tuple[int, float]]] = {}
    for step in range(60):
        row = {
            "train/loss": 2.0 / (step + 1) + 0.1,
            "reward": math.sin(step / 5.0) * 3,
            "lr": 1e-5 * (1 - step / 60),
            "count": step * 3.0,
            "actor/kl loss": step * 1e-3,
        }
        if step == 17:
            row["train/loss"] = math.nan
        if step in (19, 21):
            row["reward"] = math.inf if step == 19 else -math.inf
        if step % 10 == 0:
            row["eval/acc"] = 0.5 + step / 200
        for name, value in row.items():
            rows_by_metric.setdefault(name, []).append((step, value))
    return rows_by_metric


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_point_that_was_logged_is_read(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(case), "--by-source", "--format", "jsonl"]) == 0
    rows_by_metric: dict[str, list[tuple[int, float]]] = {}
    for line in capsys.readouterr().out.splitlines():
        point = json.loads(line)
        rows_by_metric.setdefault(point["metric"], []).append((point["step"], float(point["value"])))
    for metric, points in logged().items():
        if case.name == NEGATIVE_INFINITY_LOST and metric == "reward":
            points[21] = (21, math.inf)
        ours = rows_by_metric[metric]
        if case.name.endswith("-killed"):
            assert len(ours) >= len(points) // 2
            points = points[: len(ours)]
        assert [step for step, _ in ours] == [step for step, _ in points]
        assert [value for _, value in ours] == pytest.approx([value for _, value in points], rel=1e-7, nan_ok=True)


def test_finished_and_killed_runs_are_distinguished(capsys: pytest.CaptureFixture[str]) -> None:
    states = {}
    for case in CASES:
        if case.name.startswith("wandb"):
            assert main(["summary", str(case), "--json"]) == 0
            states[case.name] = json.loads(capsys.readouterr().out)["runs"][0]["state"]
    assert states.pop("wandb-0.15-killed") != "finished"
    assert set(states.values()) == {"finished"}
