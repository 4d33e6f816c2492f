"""When real runs end, foretold at moments of their past and compared with what came."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tuimon.analysis.progress import report
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.model.events import Columns, FactFound, MetricsFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.store import Store

START = 1_795_000_000.0
Metrics = dict[str, tuple[np.ndarray, np.ndarray]]
"""Metric -> steps, seconds."""
MOMENTS = np.linspace(0.2, 0.9, 15)


@cache
def replayed() -> dict[str, Metrics]:
    path = Path(__file__).parent / "data" / "progress" / "replayed.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = json.load(file)
    return {
        name: {metric: (np.array(s, np.int64), np.array(t)) for metric, (s, t) in metrics.items()}
        for name, metrics in found.items()
    }


class Growing:
    """A run's store, as far as its log had come at a moment. The clock goes on only."""

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
    """At each moment after a fifth of the run: how far the ETA is from what was left, as a part of that; and whether
    what was left lies within its range, widened to a tenth on either side."""
    busiest = max(metrics, key=lambda name: len(metrics[name][0]))
    whole = Growing(metrics, 0)
    whole.until(float("inf"))
    total = progress_inputs(whole.store.snapshot().runs[0]).step
    assert total is not None
    steps, times = metrics[busiest]
    end = float(times[np.searchsorted(steps, steps[-1])])
    run = Growing(metrics, total)
    found, inside = [], []
    for part in MOMENTS:
        run.until(part * end)
        said = report(progress_inputs(run.store.snapshot().runs[0]), START + part * end)
        left = end - part * end
        if said.total is not None and np.isfinite(said.eta_seconds):
            found.append(abs(said.eta_seconds - left) / left)
            inside.append(said.eta_range[0] * 0.9 <= left <= said.eta_range[1] * 1.1)
    return found, inside


def test_the_end_of_real_runs_is_foretold_within_a_tenth() -> None:
    """The median over all runs and all moments, and that of most runs: one that evaluates once, half way, cannot be."""
    found = {name: errors(metrics) for name, metrics in replayed().items()}
    every = [error for some, _ in found.values() for error in some]
    assert len(every) >= 0.95 * len(found) * len(MOMENTS), "an ETA at nearly every moment"
    assert np.median(every) < 0.10
    each = [np.median(some) for some, _ in found.values()]
    assert np.median(each) < 0.10
    assert np.mean(np.array(each) < 0.15) >= 0.6


def paced(
    count: int, noise: float, every: int = 0, pause: float = 0.0, night: int = 0, drift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(count)
    elapsed = 60.0 * np.exp(random.normal(0, noise, count)) * (1 + drift * np.arange(count) / count)
    if every:
        elapsed[every::every] += pause
    if night:
        elapsed[night] += 8 * 3600
    return np.arange(count), np.cumsum(elapsed)


@pytest.mark.parametrize(
    ("train", "val", "most"),
    [
        (paced(500, 0.1), None, 0.03),
        (paced(500, 0.5), None, 0.08),
        (paced(500, 0.1, every=20, pause=600.0), None, 0.06),
        (paced(500, 0.1, every=100, pause=3000.0), 100, 0.10),
        (paced(500, 0.1, night=60), None, 0.03),
        (paced(500, 0.1, drift=0.4), None, 0.10),
    ],
    ids=["steady", "noisy", "evaluates often", "evaluates seldom, and logs it", "one long night", "slows down"],
)
def test_kinds_of_runs(train: tuple[np.ndarray, np.ndarray], val: int | None, most: float) -> None:
    steps, times = train
    metrics = {"loss": train}
    if val:
        metrics["eval/loss"] = (steps[val::val], times[val::val])
    assert np.median(errors(metrics)[0]) < most


def test_the_range_holds_most_of_what_came() -> None:
    inside = [ok for metrics in replayed().values() for ok in errors(metrics)[1]]
    assert np.mean(inside) > 0.6
