"""The pyramid and the envelope, compared with a loop over the raw points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.store import Curve, curve_index
from tuimon.store import envelope as reduction
from tuimon.store.aggregates import Tally
from tuimon.store.curve_index import CurveIndex
from tuimon.store.pyramid import Pyramid

VALUES = st.one_of(
    st.floats(-1e6, 1e6), st.just(float("nan")), st.just(float("inf")), st.just(float("-inf")), st.just(1.7e308)
)


def make(seed, count, bad):
    """Return `count` values, on average every `bad`-th of them not finite, some in long stretches."""
    random = np.random.default_rng(seed)
    values = random.normal(size=count)
    if bad and count:
        values[random.random(count) < 1 / bad] = np.nan
        values[random.random(count) < 1 / bad] = np.inf
        start = int(random.integers(count))
        values[start : start + 40] = -np.inf
    return values


@given(
    st.integers(0, 2**32),
    st.integers(0, 9000),
    st.sampled_from([0, 2, 50]),
    st.lists(st.integers(0, 4000), max_size=6),
    st.integers(1, 40),
)
def test_extremes_of_any_range(seed, count, bad, cuts, ranges):
    values = make(seed, count, bad)
    pyramid = Pyramid()
    for end in [*sorted(min(cut, count) for cut in cuts), count]:
        pyramid.extend(values[:end])
    random = np.random.default_rng(seed + 1)
    starts = random.integers(0, count + 1, ranges)
    ends = np.minimum(count, starts + random.integers(0, max(2, count), ranges))
    low, high = pyramid.extremes(values, starts, ends)
    for start, end, lowest, highest in zip(starts, ends, low, high, strict=True):
        inside = values[start:end]
        inside = inside[np.isfinite(inside)]
        assert lowest == (inside.min() if len(inside) else np.inf)
        assert highest == (inside.max() if len(inside) else -np.inf)


def test_a_pyramid_is_small_and_grows_by_whole_blocks():
    values = make(1, 100_000, 0)
    pyramid = Pyramid()
    for end in range(0, 100_001, 1000):
        pyramid.extend(values[:end])
    assert pyramid.nbytes < 2 * len(values)
    low, high = pyramid.extremes(values, np.array([0]), np.array([100_000]))
    assert (low[0], high[0]) == (values.min(), values.max())


@given(st.lists(st.lists(VALUES, max_size=30), max_size=8))
def test_a_tally_does_not_depend_on_the_pieces(pieces):
    values = np.array([value for piece in pieces for value in piece], np.float64)
    tally, length = Tally(), 0
    for piece in pieces:
        length += len(piece)
        tally = tally.extended(values[:length])
    finite = np.isfinite(values)
    assert tally.nan_count == np.isnan(values).sum()
    assert tally.infinity_count == np.isinf(values).sum()
    assert tally.lowest == (np.flatnonzero(values == values[finite].min())[0] if finite.any() else -1)
    assert tally.highest == (np.flatnonzero(values == values[finite].max())[0] if finite.any() else -1)
    bad = np.zeros(len(values), bool)
    for start, end in zip(tally.bad_starts, tally.bad_ends, strict=True):
        assert start < end
        bad[start:end] = True
    assert (bad == ~finite).all()
    assert (tally.bad_starts[1:] > tally.bad_ends[:-1]).all()
    for row in range(len(values)):
        after, before = np.flatnonzero(finite[row:]), np.flatnonzero(finite[: row + 1])
        assert tally.finite_from(np.array([row]))[0] == (after[0] + row if len(after) else len(values))
        assert tally.finite_until(np.array([row]))[0] == (before[-1] if len(before) else -1)


def test_an_older_snapshot_has_the_aggregates_of_its_own_points():
    """The index of a column may have grown beyond the points that an earlier snapshot has."""
    index, values = CurveIndex(), make(2, 300, 9)
    index.tally(values)
    for length in (0, 1, 120):
        first = values[:length]
        assert index.tally(first).nan_count == np.isnan(first).sum()
    assert index.tally(values).length == 300


def plain(x, values, restarts, low, high, columns):
    """Return the envelope by definition, from one point after the other."""
    borders = reduction.borders(low, high, columns)
    rows = [[] for _ in range(columns)]
    inside = []
    for row, position in enumerate(x):
        if low <= position <= high:
            column = columns - 1 if position == high else int(np.searchsorted(borders, position, "right")) - 1
            rows[min(column, columns - 1)].append(row)
            inside.append(row)
    result = np.full((5, columns), np.nan)
    result[4] = 0
    finite = [row for row in inside if np.isfinite(values[row])]
    for column, members in enumerate(rows):
        good = [row for row in members if np.isfinite(values[row])]
        if good:
            numbers = [values[row] for row in good]
            result[:4, column] = min(numbers), max(numbers), numbers[0], numbers[-1]
            following = next((row for row in finite if row > good[-1]), inside[-1] + 1)
            between = range(good[-1] + 1, following)
            result[4, column] = any(not np.isfinite(values[row]) for row in between) or any(
                good[-1] < restart <= following for restart in restarts
            )
    return result


def as_array(envelope):
    return np.array([envelope.low, envelope.high, envelope.first, envelope.last, envelope.gap_after])


@given(st.integers(0, 2**32), st.integers(0, 1500), st.sampled_from([0, 3, 60]), st.integers(1, 60), st.booleans())
def test_envelope_equals_the_raw_points(seed, count, bad, columns, whole):
    random = np.random.default_rng(seed)
    steps = np.cumsum(random.choice([0, 1, 1, 7, 300], count)).astype(np.int64) - 50
    values = make(seed, count, bad)
    low, high = sorted(random.uniform(-100, float(steps[-1]) + 100 if count else 1.0, 2))
    if whole and count and steps[0] < steps[-1]:
        low, high = float(steps[0]), float(steps[-1])  # the last point is on the last border
    restarts = np.unique(random.integers(1, max(count, 2), 3))
    curve = Curve.from_arrays("loss", steps, values, steps * 2.0, restarts=restarts, origin=-100.0)
    x = np.arange(count) if curve.ordinal else steps
    expected = plain(x, values, restarts, low, high, columns)
    np.testing.assert_array_equal(as_array(curve.envelope(low, high, columns)), expected)
    assert curve.count_within(low, high) == ((x >= low) & (x <= high)).sum()

    pyramid = Pyramid()
    pyramid.extend(values)
    edges = curve._edges(low, high, columns, "step")
    built = reduction.reduce(values, edges, restarts, Tally().extended(values), pyramid)
    np.testing.assert_array_equal(as_array(built), expected)

    if not curve.ordinal:  # wall times are steps * 2.0, so the envelope over twice the range is the same
        np.testing.assert_array_equal(as_array(curve.envelope(low * 2, high * 2, columns, "time")), expected)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 40), min_size=2, max_size=8), st.integers(1, 60))
def test_envelopes_of_a_growing_run_equal_the_raw_points(seed, growth, columns):
    """The aggregates that grow with the column give what a loop over all points gives."""
    random = np.random.default_rng(seed)
    count = 200 + sum(growth)
    steps, values = np.cumsum(random.choice([0, 1, 7], count)), make(seed, count, 12)
    all_restarts, index, shown = np.unique(random.integers(1, count, 4)), CurveIndex(), 200
    low, high = float(steps[0]), float(steps[-1]) + 10
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(curve_index, "_DIRECT", -1)  # always use the pyramid
        for more in growth:
            shown += more
            restarts = all_restarts[all_restarts < shown]
            curve = Curve.from_arrays("loss", steps[:shown], values[:shown], index=index, restarts=restarts)
            actual = as_array(curve.envelope(low, high, columns))
            expected = plain(steps[:shown], values[:shown], restarts, low, high, columns)
            np.testing.assert_array_equal(actual, expected)
            move = random.random()
            if move < 0.2:
                high += 5
            elif move < 0.4:  # by whole bins, as keys do
                by = (high - low) / columns * random.integers(-columns, columns)
                low, high = low + by, high + by


def test_duration_counts_from_the_origin():
    steps = np.arange(8)
    curve = Curve.from_arrays("loss", steps, steps * 1.0, 1000.0 + steps * 2.0, origin=996.0)
    actual = curve.envelope(4.0, 20.0, 4, "duration")
    np.testing.assert_array_equal(actual.first, [0.0, 2.0, 4.0, 6.0])
    np.testing.assert_array_equal(actual.last, [1.0, 3.0, 5.0, 7.0])
    assert curve.limits("duration") == (4.0, 18.0)
    assert [curve.row_near(x, "duration") for x in (0.0, 4.0, 9.0, 99.0)] == [0, 0, 2, 7]


def test_the_envelope_of_a_long_series_is_exact():
    count = 300_000
    steps = np.cumsum(np.random.default_rng(3).integers(0, 3, count))
    values = make(4, count, 500)
    curve = Curve.from_arrays("loss", steps, values)
    borders = reduction.borders(float(steps[0]), float(steps[-1]), 300)
    actual = curve.envelope(float(steps[0]), float(steps[-1]), 300)
    column = np.clip(np.searchsorted(borders, steps, "right") - 1, 0, 299)
    for number in range(300):
        inside = values[column == number]
        inside = inside[np.isfinite(inside)]
        expected = (inside.min(), inside.max(), inside[0], inside[-1])
        assert (actual.low[number], actual.high[number], actual.first[number], actual.last[number]) == expected


def test_points_are_sorted_by_wall_time():
    steps = np.arange(6)
    wall_times = np.array([10.0, 12.0, np.nan, 11.0, 14.0, 13.0])
    values = np.array([1.0, 2.0, 99.0, 3.0, np.nan, 5.0])
    curve = Curve.from_arrays("loss", steps, values, wall_times)
    actual = curve.envelope(10.0, 15.0, 5, "time")
    np.testing.assert_array_equal(actual.low, [1.0, 3.0, 2.0, 5.0, np.nan])
    np.testing.assert_array_equal(actual.gap_after, [0, 0, 0, 1, 0])
    assert curve.limits("time") == (10.0, 14.0)
    assert curve.limits("duration") == (0.0, 4.0)
    assert curve.count_within(10, 15, "time") == 5
    assert [curve.row_near(x, "time") for x in (0.0, 11.2, 13.1)] == [0, 3, 5], "the nearest"
    assert curve.row_near(1.2, "duration") == 3


def test_steps_beyond_float_precision():
    steps = np.array([-(2**63), 2**53, 2**53 + 1, 2**63 - 1])
    curve = Curve.from_arrays("loss", steps, np.arange(4.0))
    assert curve.count_within(float(2**53), float(2**53 + 2)) == 2
    assert curve.count_within(-(2.0**63), 2.0**63) == 4
    assert curve.count_within(-5e300, 5e300) == 4
    assert curve.count_within(2.0**54, 2.0**55) == 0
    assert curve.limits() == (-(2.0**63), 2.0**63)


def test_no_bin_begins_after_the_window_if_bins_are_narrower_than_float_distances():
    first = -(2**62)
    curve = Curve.from_arrays("loss", np.arange(first, first + 19_000, 1000), np.arange(19.0))
    low, high = float(first + 7680), float(first + 14848)
    actual = curve.envelope(low, high, 40)
    inside = curve.values[(curve.steps >= int(low)) & (curve.steps <= int(high))]
    assert actual.high[~np.isnan(actual.high)].tolist() == inside.tolist()


def test_an_invalid_window_raises_value_error():
    curve = Curve.from_arrays("loss", np.arange(3), np.arange(3.0))
    for low, high, columns in ((1, 1, 5), (2, 1, 5), (float("nan"), 1, 5), (0, float("inf"), 5), (0, 1, 0)):
        with pytest.raises(ValueError, match="bins"):
            curve.envelope(low, high, columns)
    with pytest.raises(ValueError, match="axis"):
        curve.envelope(0, 1, 5, "epoch")


def test_a_curve_without_points():
    curve = Curve.from_arrays("loss", np.empty(0, np.int64), np.empty(0))
    for axis in ("step", "time", "duration"):
        assert np.isnan(curve.envelope(0, 1, 4, axis).low).all()
        assert curve.limits(axis) is None
    assert (curve.first, curve.last, curve.min, curve.max) == (None, None, None, None)
    assert np.isnan(curve.value_at(3))
