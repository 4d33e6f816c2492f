"""A run with many restarts: one more point is appended to the curve."""

from __future__ import annotations

import pytest
from support.stores import Log

from tuimon.panels._charts.marks import restart_steps
from tuimon.store import Curve, join

ATTEMPTS, EACH, AGAIN = 30, 10, 4
"""Each attempt logs ten steps, the first four of which the previous one has logged already."""


def point(log: Log, attempt: int, *steps: int) -> Curve:
    """Add points of an attempt, and return the curve."""
    times = [10_000.0 * attempt + step for step in steps]  # one attempt after the other
    return log.add(attempt, steps, [1000.0 * attempt + step for step in steps], times).curve()


def log_of_attempts() -> Log:
    log = Log()
    for attempt in range(ATTEMPTS):
        point(log, attempt, *_steps(attempt))
    return log


def test_one_more_point_arranges_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of_attempts()
    before = log.curve()
    hidden = before.superseded_curve
    assert hidden is not None
    arranged, real_arrange = [], join.arrange
    monkeypatch.setattr(join, "arrange", lambda slices: arranged.append(slices) or real_arrange(slices))
    last = int(before.steps[-1])
    for step in range(last + 1, last + 4):
        curve = point(log, ATTEMPTS - 1, step)
        assert curve.steps[-1] == step
        assert curve.superseded_curve is hidden
    assert not arranged
    log.start(ATTEMPTS - 1, last, purge=True)  # drawn points become void, so the superseded curve changes
    curve = point(log, ATTEMPTS - 1, last)
    assert curve.steps[-1] == last
    assert curve.superseded == before.superseded + 4
    assert curve.superseded_curve is not None
    assert len(curve.superseded_curve) == curve.superseded


def test_points_of_an_earlier_attempt_that_goes_on() -> None:
    log = log_of_attempts()
    wanted = {step: 1000.0 * attempt + step for attempt in range(ATTEMPTS) for step in _steps(attempt)}
    curve = log.curve()
    assert dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == wanted
    assert curve.superseded == (ATTEMPTS - 1) * AGAIN
    assert restart_steps(log.run, curve).tolist() == [_steps(attempt)[0] for attempt in range(1, ATTEMPTS)]
    later = point(log, 3, 5000)  # an earlier attempt goes on; its point is not drawn
    assert later.steps.tolist() == curve.steps.tolist()
    assert later.superseded == curve.superseded + 1
    assert 5000 in later.superseded_points()[0]


def _steps(attempt: int) -> range:
    return range(attempt * (EACH - AGAIN), attempt * (EACH - AGAIN) + EACH)
