"""ETA of real runs, computed at earlier moments and compared with what actually happened."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np

from tuimon.analysis.progress import report
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.model.events import Columns, FactFound, MetricsFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.store import Store

START = 1_795_000_000.0
Metrics = dict[str, tuple[np.ndarray, np.ndarray]]
"""Metric -> (steps, seconds)."""
MOMENTS = np.linspace(0.2, 0.9, 15)


@cache
def replayed() -> dict[str, Metrics]:
    path = Path(__file__).parent.parent / "data" / "progress" / "replayed.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        runs = json.load(file)
    return {
        name: {metric: (np.array(s, np.int64), np.array(t)) for metric, (s, t) in metrics.items()}
        for name, metrics in runs.items()
    }


class GrowingRun:
    """Store of a run up to a moment; the clock only goes forward."""

    def __init__(self, metrics: Metrics, total: int) -> None:
        self.metrics = metrics
        self.read = dict.fromkeys(metrics, 0)
        self.store = Store()
        self.store.apply(RunFound(0, "run", "/run"))
        self.store.apply(StreamFound(0, 0, "log", "/run/log", "tensorboard", 40, "", 0))
        self.store.apply(MetricsFound(0, 0, tuple(metrics)))
        self.store.apply(FactFound(0, Fact("config", {"max_steps": total})))

    def until(self, seconds: float) -> None:
        for number, (metric, (steps, times)) in enumerate(self.metrics.items()):
            begin, end = self.read[metric], int(np.searchsorted(times, seconds, "right"))
            if end > begin:
                ids, counts = np.array([number], np.uint32), np.array([end - begin], np.uint32)
                here = slice(begin, end)
                self.store.apply(Columns(0, ids, counts, steps[here], np.zeros(end - begin), START + times[here]))
                self.read[metric] = end


def errors(metrics: Metrics) -> tuple[list[float], list[bool]]:
    """Return for moments after a fifth of the run the relative error of the ETA, and whether the range was right.

    The range is right if it contains the time that was left, with a tolerance of a tenth on either side.
    """
    busiest = max(metrics, key=lambda name: len(metrics[name][0]))
    whole = GrowingRun(metrics, 0)
    whole.until(float("inf"))
    total = progress_inputs(whole.store.snapshot().runs[0]).step
    assert total is not None
    steps, times = metrics[busiest]
    end = float(times[np.searchsorted(steps, steps[-1])])
    run = GrowingRun(metrics, total)
    relative_errors, inside = [], []
    for part in MOMENTS:
        run.until(part * end)
        progress = report(progress_inputs(run.store.snapshot().runs[0]), START + part * end)
        left = end - part * end
        if progress.total is not None and np.isfinite(progress.eta_seconds):
            relative_errors.append(abs(progress.eta_seconds - left) / left)
            inside.append(progress.eta_range[0] * 0.9 <= left <= progress.eta_range[1] * 1.1)
    return relative_errors, inside


def test_eta_of_real_runs_is_within_a_tenth() -> None:
    """Holds for the median of all runs and of most single runs; one that evaluates only once is unpredictable."""
    results = {name: errors(metrics) for name, metrics in replayed().items()}
    every = [error for run_errors, _ in results.values() for error in run_errors]
    assert len(every) >= 0.95 * len(results) * len(MOMENTS), "an ETA at nearly every moment"
    assert np.median(every) < 0.10
    medians = [np.median(run_errors) for run_errors, _ in results.values()]
    assert np.median(medians) < 0.10
    assert np.mean(np.array(medians) < 0.17) >= 0.6


def test_eta_range_contains_most_outcomes() -> None:
    inside = [ok for metrics in replayed().values() for ok in errors(metrics)[1]]
    assert np.mean(inside) > 0.6
