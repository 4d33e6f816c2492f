"""A run with many restarts: one more point is appended to the curve."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.model.events import Columns, MetricsFound, RunFound, SegmentStarted, StreamFound
from tuimon.panels._charts.marks import restart_steps
from tuimon.store import Run, Store, join

ATTEMPTS, EACH, AGAIN = 30, 10, 4
"""Each attempt logs ten steps, the first four of which the previous one has logged already."""


def points(stream: int, steps: range) -> Columns:
    numbers = np.array(steps, np.int64)
    values, times = 1000.0 * stream + numbers, 10_000.0 * stream + numbers  # one attempt after the other
    return Columns(stream, np.zeros(1, np.uint32), np.array([len(numbers)], np.uint32), numbers, values, times)


def run_of_attempts(store: Store) -> Run:
    store.apply(RunFound(0, "run", "/run"))
    for attempt in range(ATTEMPTS):
        store.apply(StreamFound(attempt, 0, "events", f"/run/{attempt}", "tensorboard", 40, "", attempt))
        store.apply(MetricsFound(attempt, 0, ("loss",)))
        begin = attempt * (EACH - AGAIN)
        store.apply(points(attempt, range(begin, begin + EACH)))
    return store.snapshot().runs[0]


def test_one_more_point_arranges_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    run = run_of_attempts(store)
    before = run.curve("loss")
    hidden = before.superseded_curve
    assert hidden is not None
    arranged, real_arrange = [], join.arrange
    monkeypatch.setattr(join, "arrange", lambda slices: arranged.append(slices) or real_arrange(slices))
    last = int(before.steps[-1])
    for step in range(last + 1, last + 4):
        store.apply(points(ATTEMPTS - 1, range(step, step + 1)))
        curve = store.snapshot().runs[0].curve("loss")
        assert curve.steps[-1] == step
        assert curve.superseded_curve is hidden
    assert not arranged
    store.apply(
        SegmentStarted(ATTEMPTS - 1, last, purge=True)
    )  # drawn points become void, so the superseded curve changes
    store.apply(points(ATTEMPTS - 1, range(last, last + 1)))
    curve = store.snapshot().runs[0].curve("loss")
    assert curve.steps[-1] == last
    assert curve.superseded == before.superseded + 4
    assert curve.superseded_curve is not None
    assert len(curve.superseded_curve) == curve.superseded


def test_points_of_an_earlier_attempt_that_goes_on() -> None:
    store = Store()
    run = run_of_attempts(store)
    wanted = {step: 1000.0 * attempt + step for attempt in range(ATTEMPTS) for step in _steps(attempt)}
    curve = run.curve("loss")
    assert dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == wanted
    assert curve.superseded == (ATTEMPTS - 1) * AGAIN
    assert restart_steps(run, curve).tolist() == [_steps(attempt)[0] for attempt in range(1, ATTEMPTS)]
    store.apply(points(3, range(5000, 5001)))  # an earlier attempt goes on; its point is not drawn
    run = store.snapshot().runs[0]
    assert run.curve("loss").steps.tolist() == curve.steps.tolist()
    assert run.curve("loss").superseded == curve.superseded + 1
    assert 5000 in run.curve("loss").superseded_points()[0]


def _steps(attempt: int) -> range:
    return range(attempt * (EACH - AGAIN), attempt * (EACH - AGAIN) + EACH)
