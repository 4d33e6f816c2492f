"""Points of a log that make the curve: restarts, purges, parallel writers, several sources."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stores import Log

from tuimon.model.events import StreamReplaced


def hiding(curve):
    """Return the number of superseded points by the step at which the segment that hides them takes over."""
    return Counter(curve.superseded_points().hiding_steps.tolist())


def points(curve):
    return list(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))


def test_the_points_of_an_ordinary_log_are_not_copied():
    log = Log().add(0, range(10))
    curve = log.curve()
    assert points(curve) == [(step, float(step)) for step in range(10)]
    series = next(iter(log.store._streams[0].data.series.values()))
    assert np.shares_memory(curve.values, series.columns.values)
    assert (curve.superseded, len(curve.restarts), curve.sources) == (0, 0, ("events",))
    assert not curve.values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        curve.steps[0] = 1


def test_properties_of_a_curve():
    nan, inf = float("nan"), float("inf")
    curve = Log().add(0, range(7), [nan, 3.0, 1.0, inf, 1.0, 5.0, -inf], np.arange(7) + 0.5).curve()
    assert curve.first == (1, 3.0, 1.5)
    assert curve.last == (5, 5.0, 5.5)
    assert curve.min == (2, 1.0, 2.5)
    assert curve.max == (5, 5.0, 5.5)
    assert (curve.nan_count, curve.infinity_count, curve.finite_count, len(curve)) == (1, 2, 4, 7)
    assert curve.value_at(2) == 1.0
    assert curve.value_at(99) == -inf
    assert np.isnan(curve.value_at(-1))


def test_a_log_without_steps_is_ordinal():
    curve = Log().add(0, [0, 0, 0, 0], [4, 3, 2, 1]).curve()
    assert curve.ordinal
    assert curve.limits() == (0.0, 3.0)
    assert curve.envelope(0, 3, 4).first.tolist() == [4, 3, 2, 1]
    assert not Log().add(0, [0]).curve().ordinal


@given(st.integers(2, 6), st.randoms(use_true_random=True))
def test_rows_somewhat_out_of_order_hide_no_point(width, rng):
    steps = []
    for start in range(0, 60, width):
        window = list(range(start, start + width))
        rng.shuffle(window)
        steps += window
    curve = Log().add(0, steps).curve()
    assert curve.steps.tolist() == sorted(steps)
    assert (curve.superseded, len(curve.restarts)) == (0, 0)


def test_superseded_points_of_different_attempts_are_not_joined():
    curve = Log().add(0, range(1, 8)).add(1, range(5, 13)).add(2, range(10, 15)).curve()
    hidden = curve.superseded_curve
    assert hidden.steps.tolist() == [5, 6, 7, 10, 11, 12]
    assert hidden.restarts.tolist() == [3]
    assert hidden.envelope(0, 15, 15).gap_after[[5, 6, 7, 10]].tolist() == [0, 0, 1, 0]
    assert [curve.superseded_at(step) and curve.superseded_at(step).value for step in (4, 7, 9, 12, 13)] == [
        None,
        7,
        None,
        12,
        None,
    ]
    assert hiding(curve) == {5: 3, 10: 3}


def test_a_prefix_keeps_sub_runs_apart():
    log = Log().stream(0, "train", prefix="train/").stream(1, "val", prefix="val/").add(0, [0]).add(1, [0])
    assert log.run.metrics == ("train/loss", "val/loss")


def test_names_with_one_merge_key_are_one_metric_named_by_the_best_source():
    log = Log()
    log.stream(0, "a", 30).stream(1, "b", 40).add(0, [0, 1], metric="eval_loss").add(1, [0, 1], metric="eval/loss")
    assert log.run.metrics == ("eval/loss",)
    assert log.curve("eval/loss").sources == log.curve("eval_loss").sources == ("b", "a")


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 2), st.lists(st.integers(0, 12), min_size=1, max_size=6)),
        st.tuples(st.just("climb"), st.integers(0, 2), st.integers(1, 5)),
        st.tuples(st.just("start"), st.integers(0, 2), st.integers(0, 12) | st.none(), st.booleans()),
        st.tuples(st.just("replace"), st.integers(0, 2)),
    ),
    max_size=14,
)


@settings(max_examples=3 * settings.default.max_examples)
@given(EVENTS, st.sampled_from(["none", "of a clock", "of the steps"]))
def test_an_extended_curve_equals_one_built_at_once(events, times):
    """Two stores get the same events; one takes a snapshot after every event, the other only at the end."""

    def drawn(run):
        if not run.metrics:
            return None
        curve = run.curve("loss")
        return points(curve), repr(curve.wall_times.tolist()), curve.restarts.tolist(), curve.superseded

    live, late, kept = Log(), Log(), []
    clock, highest = 0.0, 0
    for log in (live, late):
        for stream in range(3):
            log.stream(stream)
    for event in events:
        kind, stream, *rest = event
        clock += 1
        if kind in ("add", "climb"):
            steps = rest[0] if kind == "add" else list(range(highest, highest + rest[0]))
            highest = max(highest, *steps)
            walls = {"none": None, "of a clock": clock + np.arange(len(steps)) / 100, "of the steps": steps}[times]
        for log in (live, late):
            if kind in ("add", "climb"):
                log.add(stream, steps, np.arange(len(steps)) + clock * 100, walls)
            elif kind == "start":
                log.start(stream, rest[0], rest[1])
            else:
                log.store.apply(StreamReplaced(stream))
        run = live.run
        kept.append((run, drawn(run)))
    for run, expected in kept:  # earlier snapshots have not changed
        assert drawn(run) == expected
    assert live.run.metrics == late.run.metrics
    assert drawn(live.run) == drawn(late.run)
    if live.run.metrics:
        curve = live.curve()
        assert len(curve) + curve.superseded == live.run.point_count
        assert (curve.steps[1:] >= curve.steps[:-1]).all()
        hidden = curve.superseded_points()
        assert len(hidden[0]) == len(hidden[1]) == curve.superseded
