"""The line for a status bar, the first page as text, and metrics in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.made_run import START, run_of, snapshot_of, store_of

from tuimon.exports.dashboard import dashboard
from tuimon.exports.line import line
from tuimon.exports.summary import summarise
from tuimon.model.alerts import Alert
from tuimon.model.views import Symbols
from tuimon.monitor.local import open_run
from tuimon.store import Run


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 01:00:00 DUE TO TIME LIMIT ***", "time limit reached"),
        ("srun: error: Node failure on n8", "node failure on n8"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB", "GPU out of memory"),
    ],
)
def test_the_cause_replaces_the_state_of_a_crashed_run(tmp_path: Path, end: str, cause: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"step {step}/600 | loss {1 - step / 1000:.4f}\n" for step in range(10, 360, 10)) + end + "\n"
    )
    snapshot = open_run(str(log))
    wide = line(snapshot, 1.8e9, 100)
    assert f"350/600 58%  ✗ {cause}" in wide
    assert wide.count(cause) == 1
    assert "crashed" not in wide
    assert line(snapshot, 1.8e9, 40).endswith(f"350  ✗ {cause}")
    assert line(snapshot, 1.8e9, 32).endswith("✗ crashed"), "no room for the cause"


def test_a_name_sets_no_style_of_tmux(tmp_path: Path) -> None:
    (tmp_path / "#[fg=red]run").mkdir()
    (tmp_path / "#[fg=red]run" / "metrics.jsonl").write_text('{"step": 1, "loss": 2}\n')
    text = line(open_run(str(tmp_path)), 1.8e9, 80)
    assert "# fg=red]run" in text
    assert "#[" not in text


@pytest.mark.parametrize("width", [60, 50])
def test_the_reason_of_a_critical_alert_comes_before_the_value_of_the_run(width: int) -> None:
    store = store_of(dict.fromkeys(("critic/score/mean", "critic/rewards/mean"), (range(41), [0.03646] * 41)))
    message = "learning rate 2.293e+20; actor/total_loss is NaN since step 15 (26 NaN of 41 points), and so is kl"
    store.set_alerts([Alert("nonfinite", "critical", 0, "actor/total_loss", 15, message)])
    text = line(store.snapshot(), 1.8e9, width)
    assert "  learning rate 2" in text
    assert "critic/score" not in text
    store.set_alerts([])
    assert "critic/score/mean 0.03646" in line(store.snapshot(), 1.8e9, width)


def test_axes_of_a_row_are_aligned_beside_a_chart_with_a_note() -> None:
    steps = range(20)
    series = {
        "reward": (steps, [0.5] * 20),
        "loss": (steps, [1.0] * 18 + [math.nan, 1.0]),
        "entropy": (steps, [1.0] * 20),
    }
    lines = list(dashboard(snapshot_of(series), 120, 20, START, Symbols.BRAILLE))
    assert any("1 NaN" in line for line in lines)
    assert [line.count("└") for line in lines if "└" in line] == [3]


NAN, INF = float("nan"), float("inf")


def run_with(losses: Sequence[float]) -> Run:
    """Return a run with a loss at steps 10, 20, …"""
    return run_of({"loss": (range(10, 10 * len(losses) + 1, 10), losses)})


@pytest.mark.parametrize(
    ("values", "direction", "text", "brief"),
    [
        (np.linspace(1, 10, 60), "rising", "rising +8.237", "↑ 8.237"),
        (np.where(np.arange(60) < 15, 10.0, 1.0), "falling", "falling -9", "↓ 9"),
        (np.tile([0.01, -0.01, 0.0], 20), "flat", "flat", "flat"),
        (np.linspace(1, 10, 4), "unknown", "", ""),
    ],
)
def test_trend(values: list[float], direction: str, text: str, brief: str) -> None:
    trend = summarise(run_with(values), "loss").trend
    assert (trend.direction, trend.text(), trend.text(brief=True)) == (direction, text, brief)


def test_what_is_not_finite_is_counted_and_named() -> None:
    metric = summarise(run_with([3.0, NAN, NAN, INF, 1.0]), "loss")
    assert (metric.points, metric.nan, metric.infinite, metric.mean) == (5, 2, 1, 2.0)
    assert metric.remarks == "2 NaN at 20 and 30, 1 infinite at 40"
    assert (metric.best.step, metric.best.value) == (50, 1.0)
