"""ETA of real runs, computed at earlier moments and compared with what actually happened."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from support.stores import Log

from tuimon.analysis.progress import report
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.store import Run

START = 1_795_000_000.0
Metrics = dict[str, tuple[np.ndarray, np.ndarray]]
"""Metric -> (steps, seconds)."""
MOMENTS = np.linspace(0.2, 0.9, 15)


def replayed() -> dict[str, Metrics]:
    path = Path(__file__).parent.parent / "data" / "progress" / "replayed.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        runs = json.load(file)
    return {
        name: {metric: (np.array(s, np.int64), np.array(t)) for metric, (s, t) in metrics.items()}
        for name, metrics in runs.items()
    }


class GrowingRun:
    """A run up to a moment; the clock only goes forward."""

    def __init__(self, metrics: Metrics, total: int) -> None:
        self.metrics = metrics
        self.read = dict.fromkeys(metrics, 0)
        self.log = Log().stream(0).fact(0, "config", {"max_steps": total})

    def until(self, seconds: float) -> Run:
        for metric, (steps, times) in self.metrics.items():
            begin, end = self.read[metric], int(np.searchsorted(times, seconds, "right"))
            if end > begin:
                self.log.add(0, steps[begin:end], 0.0, START + times[begin:end], metric)
                self.read[metric] = end
        return self.log.run


def errors(metrics: Metrics) -> tuple[list[float], list[bool]]:
    """Return for moments after a fifth of the run the relative error of the ETA, and whether the range was right.

    The range is right if it contains the time that was left, with a tolerance of a tenth on either side.
    """
    busiest = max(metrics, key=lambda name: len(metrics[name][0]))
    total = progress_inputs(GrowingRun(metrics, 0).until(float("inf"))).step
    assert total is not None
    steps, times = metrics[busiest]
    end = float(times[np.searchsorted(steps, steps[-1])])
    run = GrowingRun(metrics, total)
    relative_errors, inside = [], []
    for now in MOMENTS * end:
        progress = report(progress_inputs(run.until(now)), START + now)
        left = end - now
        if progress.total is not None and np.isfinite(progress.eta_seconds):
            relative_errors.append(abs(progress.eta_seconds - left) / left)
            inside.append(progress.eta_range[0] * 0.9 <= left <= progress.eta_range[1] * 1.1)
    return relative_errors, inside


def test_eta_of_real_runs_is_within_a_tenth() -> None:
    """Holds for the median of all runs and of most single runs; one that evaluates only once is unpredictable."""
    results = [errors(metrics) for metrics in replayed().values()]
    every = [error for run_errors, _ in results for error in run_errors]
    assert len(every) >= 0.95 * len(results) * len(MOMENTS), "an ETA at nearly every moment"
    assert np.median(every) < 0.10
    medians = [np.median(run_errors) for run_errors, _ in results]
    assert np.median(medians) < 0.10
    assert np.mean(np.array(medians) < 0.15) >= 0.6
    assert np.mean([is_inside for _, inside in results for is_inside in inside]) > 0.6, "the range is right"
