"""NaN in a source of a metric that is not drawn: it is alerted and counted, unless it tells nothing of the training."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tuimon.analysis.hidden_values import hidden_conflict, hidden_values
from tuimon.exports.summary import summarise
from tuimon.exports.summary_text import facts_of
from tuimon.monitor.local import LocalMonitor

NAN = math.nan


def alerts_and_counts(directory: Path) -> tuple[list[str], str, list[tuple[str, list[int]]]]:
    """Return the alerts, the remark of the summary, and the steps of hidden values by source."""
    monitor = LocalMonitor([directory])
    monitor.update()
    snapshot = monitor.snapshot()
    [run] = snapshot.runs
    hidden = [(found.source, found.curve.steps[found.rows].tolist()) for found in hidden_values(run, "loss")]
    alerts = [alert for alert in snapshot.alerts if alert.rule == "nonfinite"]
    return alerts, summarise(run, "loss").remarks, hidden


def write_table(path: Path, values: list[float]) -> None:
    path.write_text("epoch,loss\n" + "".join(f"{epoch},{value}\n" for epoch, value in enumerate(values)))


def write_lines(path: Path, values: list[float]) -> None:
    path.write_text("".join(json.dumps({"step": s, "loss": v}) + "\n" for s, v in enumerate(values) if v == v))


def test_nan_in_another_file_of_the_run(tmp_path: Path) -> None:
    """Other values at the same steps."""
    write_lines(tmp_path / "metrics.jsonl", [1 / (1 + epoch) for epoch in range(30)])
    write_table(tmp_path / "training_nan.csv", [0.9, 0.7, 0.5, NAN])
    alerts, remark, hidden = alerts_and_counts(tmp_path)
    [alert] = alerts
    assert (alert.what, alert.step, alert.source, alert.count) == ("nan", 3, "training_nan.csv", 1)
    assert (remark, hidden) == ("1 NaN at 3 in training_nan.csv", [("training_nan.csv", [3])])


def test_a_step_that_is_nan_in_two_sources_counts_once(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [1 / (1 + epoch) for epoch in range(30)])
    for name in ("b.csv", "c.csv"):
        write_table(tmp_path / name, [0.9, 0.7, NAN, 0.5])
    alerts, remark, hidden = alerts_and_counts(tmp_path)
    assert len(alerts) == 1
    assert (remark, hidden) == ("1 NaN at 2 in b.csv", [("b.csv", [2])])


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ([1.0, 0.5, 0.25], ""),
        ([1.0, 0.5, 0.75], "1 value of 1 file conflicts and is hidden"),
        ([3.0, 2.0, 1.0, 0.5], "3 values of 1 file conflict and are hidden"),
    ],
)
def test_values_that_conflict_are_counted(tmp_path: Path, table: list[float], wanted: str) -> None:
    write_lines(tmp_path / "metrics.jsonl", [1.0, 0.5, 0.25])
    write_table(tmp_path / "metrics.csv", table)
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    [run] = monitor.snapshot().runs
    assert hidden_conflict(run) == wanted
    assert run.disagreements("loss") is run.disagreements("loss")
    assert dict(facts_of(run, 0.0)).get("conflict", "").startswith(wanted)


@pytest.mark.parametrize(
    ("lines", "table", "wanted"),
    [
        ([1.0, 0.5, NAN, 0.25, 0.2], [1.0, 0.5, NAN, 0.25, 0.2], [2]),  # a writer that leaves NaN out
        ([1.0, 0.5, 0.3, 0.25, 0.2], [1.0, 0.5, NAN, 0.25, 0.2], []),  # an empty cell
        ([1.0, NAN, NAN, NAN, NAN, 0.5], [1.0, NAN, NAN, NAN, NAN, 0.5], []),  # a metric that is logged seldom
        ([1.0, 0.5, 0.3, 0.25, 0.2], [1.0, 0.5, 0.3, 0.25, 0.2], []),
    ],
)
def test_nan_in_a_table_that_agrees_with_the_curve(
    tmp_path: Path, lines: list[float], table: list[float], wanted: list[int]
) -> None:
    write_lines(tmp_path / "metrics.jsonl", lines)
    write_table(tmp_path / "metrics.csv", table)
    alerts, remark, hidden = alerts_and_counts(tmp_path)
    assert [steps for _, steps in hidden] == ([wanted] if wanted else [])
    assert bool(alerts) == bool(remark) == bool(wanted)
