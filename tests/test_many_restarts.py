"""A run that was begun again often: a point more costs what its own stream does, not what all of them do."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.model.events import Columns, MetricsFound, RunFound, SegmentStarted, StreamFound
from tuimon.panels._marks import restart_steps
from tuimon.store import Run, Store, join, shares

ATTEMPTS, EACH, AGAIN = 30, 10, 4
"""Each attempt logs ten steps, the first four of which the one before it had logged already."""


def points(stream: int, steps: range) -> Columns:
    found = np.array(steps, np.int64)
    values, times = 1000.0 * stream + found, 10_000.0 * stream + found  # one attempt after the other
    return Columns(stream, np.zeros(1, np.uint32), np.array([len(found)], np.uint32), found, values, times)


def run_of_attempts(store: Store) -> Run:
    store.apply(RunFound(0, "run", "/run"))
    for attempt in range(ATTEMPTS):
        store.apply(StreamFound(attempt, 0, "events", f"/run/{attempt}", "tensorboard", 40, "", attempt))
        store.apply(MetricsFound(attempt, 0, ("loss",)))
        begin = attempt * (EACH - AGAIN)
        store.apply(points(attempt, range(begin, begin + EACH)))
    return store.snapshot().runs[0]


def test_a_point_more_looks_at_its_own_stream_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    run = run_of_attempts(store)
    before = run.curve("loss")
    ghost = before.ghost
    assert ghost is not None
    looked, arranged = [], []
    real_part, real_arrange = shares.part, join.arrange
    monkeypatch.setattr(shares, "part", lambda *share: looked.append(share[0]) or real_part(*share))
    monkeypatch.setattr(join, "arrange", lambda parts: arranged.append(parts) or real_arrange(parts))
    last = int(before.steps[-1])
    for step in range(last + 1, last + 4):
        store.apply(points(ATTEMPTS - 1, range(step, step + 1)))
        curve = store.snapshot().runs[0].curve("loss")
        assert curve.steps[-1] == step
        assert curve.ghost is ghost
    assert len(looked) == 3
    assert not arranged
    store.apply(SegmentStarted(ATTEMPTS - 1, last, purge=True))  # what was drawn is void, and the ghost another one
    store.apply(points(ATTEMPTS - 1, range(last, last + 1)))
    curve = store.snapshot().runs[0].curve("loss")
    assert curve.steps[-1] == last
    assert curve.superseded == before.superseded + 4
    assert curve.ghost is not None
    assert len(curve.ghost) == curve.superseded


def test_what_is_kept_is_what_a_fresh_look_gives() -> None:
    store = Store()
    run = run_of_attempts(store)
    wanted = {step: 1000.0 * attempt + step for attempt in range(ATTEMPTS) for step in _steps(attempt)}
    curve = run.curve("loss")
    assert dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == wanted
    assert curve.superseded == (ATTEMPTS - 1) * AGAIN
    assert restart_steps(run, curve).tolist() == [_steps(attempt)[0] for attempt in range(1, ATTEMPTS)]
    store.apply(points(3, range(5000, 5001)))  # an attempt in the middle goes on: what lies behind it is not drawn
    run = store.snapshot().runs[0]
    assert run.curve("loss").steps.tolist() == curve.steps.tolist()
    assert run.curve("loss").superseded == curve.superseded + 1
    assert 5000 in run.curve("loss").superseded_points()[0]


def _steps(attempt: int) -> range:
    return range(attempt * (EACH - AGAIN), attempt * (EACH - AGAIN) + EACH)
