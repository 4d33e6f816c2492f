"""Axes of curves: steps, times, and the counters that a run logs itself."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_run import store_of, view_of
from support.stores import Log

from tuimon.draw import render
from tuimon.model.views import Size, Symbols
from tuimon.panels import ChartOptions, all_panels, header_panel, metric_panel
from tuimon.store import Curve, Scale, Store

START = datetime(2026, 11, 21, 10, 0).timestamp()
NAN = float("nan")
SIZE = Size(80, 14)


def run_of(series, start=START, seconds=60.0):
    return store_of(series, seconds=seconds, start=start).snapshot().runs[0]


def view(run, axis, metric="loss", size=SIZE):
    return metric_panel(metric).view(run, size, START, Symbols.BRAILLE, ChartOptions(axis))


def rows(run, axis, metric="loss", size=SIZE):
    drawn = render(view(run, axis, metric, size), size, Symbols.BRAILLE)
    return ["".join(text for text, _ in row) for row in drawn]


STEPS = range(100)


def test_usual_names_of_totals_are_axes_if_they_do_not_fall():
    totals = [1000.0 * (step + 1) for step in STEPS]
    for name in ("tokens", "train/tokens_seen", "consumed_tokens"):
        assert "tokens" in run_of({"loss": (STEPS, totals), name: (STEPS, totals)}).axes()
    assert "samples" in run_of({"samples_seen": (STEPS, totals)}).axes()
    each = [1000.0 + step % 7 for step in STEPS]
    assert "tokens" not in run_of({"tokens": (STEPS, each)}).axes()
    both = run_of({"tokens": (STEPS, totals), "total_tokens": (STEPS, [2 * total for total in totals])})
    assert both.scale("tokens").counts[0] == 2000


def test_a_metric_of_times_is_displayed_as_time():
    """W&B logs _timestamp and _runtime as metrics of every step."""
    run = run_of({"_timestamp": (STEPS, [START + 60.0 * step for step in STEPS]), "_runtime": (STEPS, STEPS)})
    drawn = rows(run, "step", "_timestamp")
    assert "2026-11-21 11:39:00" in drawn[0]
    assert [row[:7].strip() for row in drawn[1:] if row[:7].strip()] == ["11:30", "11:00", "10:30", "10:00"]
    assert "99 s" in rows(run, "step", "_runtime")[0]


# ---------------------------------------------------------------- available axes


def test_available_axes():
    assert run_of({"loss": (STEPS, STEPS)}, start=NAN).axes() == ("step",)
    assert run_of({"loss": (STEPS, STEPS)}).axes() == ("step", "time", "duration")
    resumed = run_of({"loss": (range(5000, 5100), STEPS)}, start=NAN)
    assert resumed.axes() == ("step", "relative step")
    assert run_of({"loss": (range(10, 200, 10), range(19))}, start=NAN).axes() == ("step",), (
        "the first step is within two strides of 0"
    )
    every = {
        "train/epoch": (STEPS, [s / 40 for s in STEPS]),
        "system/samples": (STEPS, [s * 64 for s in STEPS]),
        "num_tokens": (STEPS, [s * 1000 for s in STEPS]),
    }
    assert run_of(every).axes() == ("step", "time", "duration", "epoch", "samples", "tokens")
    assert Store().snapshot().runs == ()
    with pytest.raises(KeyError):
        run_of({"loss": (STEPS, STEPS)}).scale("epoch")
    with pytest.raises(ValueError, match="epoch"):
        run_of({"loss": (STEPS, STEPS)}).curve("loss").envelope(0, 1, 4, "epoch")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("perf/total_num_tokens", [3000 + (s * 7919) % 800 for s in STEPS]),  # of each step alone
        ("num_tokens", [4096.0] * 100),
        ("num_tokens", [float(s) for s in STEPS]),  # the step once more
        ("num_tokens", [NAN] * 100),
        ("val/num_tokens", [s * 10.0 for s in STEPS]),
    ],
)
def test_metrics_that_are_no_training_counters_give_no_axis(name, values):
    assert "tokens" not in run_of({"loss": (STEPS, STEPS), name: (STEPS, values)}).axes()


# ---------------------------------------------------------------- positions of points


def test_a_point_has_the_last_value_of_the_counter_as_position():
    """The epoch is logged at 10, 20 … only; the loss at each step."""
    run = run_of({"loss": (STEPS, STEPS), "epoch": (range(10, 100, 10), [s / 10 for s in range(1, 10)])})
    curve, scale = run.curve("loss"), run.scale("epoch")
    x = curve.x_of_rows(np.arange(100), scale)
    assert np.isnan(x[:10]).all()
    assert x[10:].tolist() == [s // 10 / 10 for s in range(10, 100)]
    assert curve.limits(scale) == (0.1, 0.9)
    assert (curve.x_of_step(35, scale), curve.count_within(0.1, 0.3, scale)) == (0.3, 30)
    assert run.curve("epoch").limits(scale) == (0.1, 0.9)


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=30),
    st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 9)), min_size=2, max_size=20),
    st.integers(1, 12),
    st.tuples(st.floats(-3, 12), st.floats(0.1, 12)),
)
def test_an_envelope_along_a_counter_equals_the_definition(steps, counts, columns, limits):
    """Compare with an envelope computed from each point's own x."""
    steps = np.sort(np.array(steps))
    table = {}
    highest = -99
    for step, count in sorted(counts, key=lambda one: one[0]):
        highest = max(highest, count)
        table[step] = highest
    scale = Scale("epoch", 0, np.array(list(table)), np.array(list(table.values()), float))
    values = np.random.default_rng(0).normal(size=len(steps))
    curve = Curve.from_arrays("loss", steps, values)
    low, high = limits[0], limits[0] + limits[1]
    envelope = curve.envelope(low, high, columns, scale)
    x = [max((table[s] for s in table if s <= step), default=NAN) for step in steps.tolist()]
    assert np.array_equal(curve.x_of_rows(np.arange(len(steps)), scale), x, equal_nan=True)
    borders = low + np.arange(columns + 1) * (high / columns - low / columns)
    borders[-1] = high
    for column in range(columns):
        last = column == columns - 1
        inside = [
            value
            for place, value in zip(x, values, strict=True)
            if borders[column] <= place and (place < borders[column + 1] or (last and place == high))
        ]
        expected = (min(inside), max(inside), inside[0], inside[-1]) if inside else (NAN,) * 4
        actual = [getattr(envelope, name)[column] for name in ("low", "high", "first", "last")]
        assert np.array_equal(actual, expected, equal_nan=True)
    assert curve.count_within(low, high, scale) == sum(low <= place <= high for place in x)


def test_a_counter_that_goes_back_keeps_its_maximum():
    values = [0, 1, 2, 3, 2, 3, 4, 5, *range(6, 98)]
    run = run_of({"loss": (STEPS, STEPS), "epoch": (range(98), values)})
    assert run.curve("loss").x_of_rows(np.arange(8), run.scale("epoch")).tolist() == [0, 1, 2, 3, 3, 3, 4, 5]


def test_relative_steps_count_from_the_first_step():
    series = {"loss": (range(5000, 5100), STEPS), "eval": (range(5020, 5100, 20), range(4))}
    run = run_of(series)
    scale = run.scale("relative step")
    assert run.curve("loss").limits(scale) == (0.0, 99.0)
    assert run.curve("eval").limits(scale) == (20.0, 80.0)
    assert run.curve("loss").envelope(0, 99, 100, scale).first.tolist() == list(STEPS)


# ---------------------------------------------------------------- display


def test_labels_of_time_and_duration_axes():
    run = run_of({"loss": (STEPS, STEPS)})
    time_axis, duration = view(run, "time").x, view(run, "duration").x
    assert (time_axis.kind, time_axis.low, duration.kind, duration.low) == ("time", START, "duration", 0.0)
    assert (time_axis.label, duration.label) == ("2026-11-21", "since its start")
    assert all(label in rows(run, "time")[-1] for label in ("10:00", "11:00"))
    assert "1 h 30 m" in "\n".join(rows(run, "duration"))
    night = run_of({"loss": (STEPS, STEPS)}, seconds=600.0)
    assert view(night, "time").x.label == "", "the tick of midnight has the date"
    days = run_of({"loss": (STEPS, STEPS)}, seconds=3600.0)
    assert view(days, "time").x.label == ""
    assert "11-23" in "\n".join(rows(days, "time"))


def test_a_counter_axis_is_labelled():
    run = run_of({"loss": (STEPS, STEPS), "num_tokens": (STEPS, [s * 20_000 for s in STEPS])})
    drawn = rows(run, "tokens")
    assert "tokens" in drawn[-1]
    assert "1.0M" in drawn[-1]
    assert view(run, "step").x.label == ""


def test_marks_have_the_positions_of_their_steps():
    series = {"loss": (STEPS, [NAN if s == 50 else s for s in STEPS]), "epoch": (STEPS, [s / 10 for s in STEPS])}
    log = Log().add_row(0, series, START + 60.0 * np.arange(100)).start(0, 80)
    log.add(0, range(80, 100), 0.5, START + 86400 + 60.0 * np.arange(80, 100))
    run = log.fact(0, "best_checkpoint", {"step": 60}).run
    for axis, nan, restart, best in (
        ("step", 50, 80, 60),
        ("epoch", 5.0, 8.0, 6.0),
        ("duration", 3000.0, 86400 + 4800.0, 3600.0),
        ("time", START + 3000, START + 86400 + 4800, START + 3600),
    ):
        drawn = view_of(run, "loss", SIZE, axis=axis)
        width = (drawn.x.high - drawn.x.low) / drawn.columns
        places = {mark.kind: mark.x for mark in drawn.marks}
        assert places["restart"] == restart
        assert places["best"] == best
        assert abs(places["nan"] - nan) <= width


def test_a_curve_without_values_on_the_axis_is_noted_and_the_others_are_drawn():
    run = run_of({"epoch": (range(50, 150), [s / 10 for s in range(50, 150)]), "loss": (range(40), STEPS[:40])})
    assert "no point has a value on axis epoch" in view(run, "epoch").note
    assert view(run, "samples").x.kind == "step", "an unavailable axis falls back to step"
    assert len(view(run, "samples").lines) == 1


@pytest.mark.parametrize("axis", ["step", "relative step", "time", "duration", "epoch", "samples", "tokens"])
@pytest.mark.parametrize("size", [Size(0, 0), Size(1, 1), Size(24, 6), Size(80, 20)])
def test_every_panel_supports_every_axis_at_every_size(axis, size):
    names = ("reward", "loss", "memory/cpu/x/end/rss", "epoch", "system/samples", "num_tokens")
    run = run_of({name: (range(900, 1000), [s * (i + 1.0) for s in STEPS]) for i, name in enumerate(names)})
    assert axis in run.axes()
    for panel in (*all_panels(), header_panel()):
        drawn = render(panel.view(run, size, START, Symbols.BRAILLE, ChartOptions(axis)), size, Symbols.BRAILLE)
        assert len(drawn) == size.height
