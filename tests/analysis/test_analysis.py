"""Statistics, trend, smoothing and texts, compared with closed forms and independent computations."""

from __future__ import annotations

import math
import statistics as standard

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.analysis.smoothing import smooth
from tuimon.analysis.statistics import best, quantiles, statistics
from tuimon.analysis.trend import change, change_noise, trend, turn
from tuimon.analysis.words import duration
from tuimon.store.arrays import median

NAN, INF = float("nan"), float("inf")
FINITE = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@settings(max_examples=100, deadline=None)
@given(FINITE)
def test_statistics_equal_those_of_the_standard_library(values):
    result = statistics(np.array(values))
    assert result.count == len(values)
    assert result.mean == pytest.approx(standard.fmean(values), abs=1e-6)
    assert result.median == pytest.approx(standard.median(values), abs=1e-6)
    if len(values) > 1:
        assert result.deviation == pytest.approx(standard.stdev(values), rel=1e-6, abs=1e-6)
        assert result.variance == pytest.approx(standard.variance(values), rel=1e-6, abs=1e-6)
    middle = standard.median(values)
    assert result.spread == pytest.approx(1.4826 * standard.median(abs(v - middle) for v in values), abs=1e-5)
    assert (result.min, result.max) == (min(values), max(values))


def test_statistics_exclude_and_count_values_that_are_not_finite():
    result = statistics(np.array([1.0, NAN, 3.0, INF, -INF]))
    assert (result.count, result.left_out, result.mean, result.min, result.max) == (2, 3, 2.0, 1.0, 3.0)
    assert statistics(np.array([9.0, 1.0, 3.0]), last=2).mean == 2.0
    logged = [1.88441, 1.83179, 1.87214, 1.84461, 1.84273, 1.86206, 1.85563, 1.86139]
    assert statistics(np.array(logged)).mean == standard.fmean(logged) == 1.856845
    nothing = statistics(np.array([NAN]))
    assert (nothing.count, nothing.left_out) == (0, 1)
    assert math.isnan(nothing.median)


def test_spike_changes_deviation_but_not_spread():
    values = np.tile([1.0, 2.0, 3.0], 30)
    spiked = values.copy()
    spiked[40] = 1e9
    assert statistics(spiked).spread == statistics(values).spread
    assert statistics(spiked).deviation > 1e7


def test_statistics_of_the_largest_floats_are_finite():
    result = statistics(np.array([1e308, -1e308, 1e308]))
    assert math.isfinite(result.mean)
    assert math.isfinite(result.deviation)


def test_best():
    steps, values = np.array([10, 20, 30, 40]), np.array([NAN, 2.0, 1.0, INF])
    assert best(steps, values, "lower") == (30, 1.0)
    assert best(steps, values, "higher") == (20, 2.0)
    assert best(steps[:1], values[:1], "lower") is None
    with pytest.raises(ValueError, match="direction"):
        best(steps, values, "up")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.one_of(st.floats(-100, 100), st.sampled_from([NAN, INF, -INF])), max_size=300),
    st.sampled_from([0.0, 0.3, 0.9, 0.99, 0.9999]),
)
def test_smoothing_equals_its_recursion(values, weight):
    expected, state, seen = [], 0.0, 0
    for value in values:
        if not math.isfinite(value):
            expected.append(NAN)
            continue
        seen += 1
        state = weight * state + (1 - weight) * value
        expected.append(state / (1 - weight**seen))
    np.testing.assert_allclose(smooth(np.array(values), weight), expected, rtol=1e-9, atol=1e-9)


def test_smoothing_keeps_a_constant():
    np.testing.assert_allclose(smooth(np.full(100_000, 3.5), 0.999), 3.5, rtol=1e-12)


@pytest.mark.parametrize("weight", [-0.1, 1.0, NAN])
def test_invalid_smoothing_weight(weight):
    with pytest.raises(ValueError, match="weight"):
        smooth(np.ones(3), weight)


def test_slope_of_a_straight_line():
    steps = np.arange(0, 1000, 10)
    result = trend(steps, 5.0 - 0.25 * steps)
    assert result.direction == "falling"
    assert result.slope == pytest.approx(-0.25)
    assert result.change == pytest.approx(-0.25 * 990)
    assert (result.steps, result.count) == (990, 100)
    assert result.slope_low == pytest.approx(result.slope_high)


def test_slope_is_robust_against_spikes_and_gaps():
    random = np.random.default_rng(0)
    steps = np.arange(5000)
    values = 0.01 * steps + random.normal(size=5000)
    values[::50] = 1e6
    values[7::50] = NAN
    result = trend(steps, values)
    assert result.direction == "rising"
    assert result.slope_low < 0.01 < result.slope_high
    assert result.slope == pytest.approx(0.01, rel=0.02)
    assert result.count == 4900


def test_noise_is_almost_always_flat():
    random = np.random.default_rng(1)
    flat = [trend(np.arange(200), random.normal(size=200)).direction == "flat" for _ in range(100)]
    assert sum(flat) >= 96


def test_kendall_statistic_equals_counted_pairs():
    """S and its variance are computed by the textbook formula for a small series with ties."""
    values = [1.0, 3.0, 2.0, 3.0, 5.0, 4.0, 5.0, 6.0]
    excess = sum((b > a) - (b < a) for index, a in enumerate(values) for b in values[index + 1 :])
    variance = (8 * 7 * 21 - 2 * (2 * 1 * 9)) / 18
    p_value = math.erfc((excess - 1) / math.sqrt(variance) / math.sqrt(2))
    result = trend(np.arange(8), np.array(values))
    slopes = [(values[j] - values[i]) / (j - i) for i in range(8) for j in range(i + 1, 8)]
    assert result.p_value == pytest.approx(p_value)
    assert result.slope == pytest.approx(standard.median(slopes))
    assert result.slope_low <= result.slope <= result.slope_high


def test_trend_is_unknown_without_points_or_steps():
    assert trend(np.arange(4), np.arange(4.0)).direction == "unknown"
    assert trend(np.zeros(9, np.int64), np.arange(9.0)).direction == "unknown"
    assert trend(np.arange(9), np.full(9, NAN)).count == 0
    assert trend(np.arange(9), np.ones(9)).direction == "flat"
    assert trend(np.empty(0, np.int64), np.empty(0)).direction == "unknown"


@pytest.mark.parametrize("count", [8, 20, 400])
def test_curve_with_a_peak_or_a_fall_at_its_beginning_is_not_flat(count: int) -> None:
    x = np.linspace(0, 1, count)
    noise = np.random.default_rng(1).normal(scale=1e-3, size=count)
    assert trend(np.arange(count), (x - 0.5) ** 2 + noise).direction == "varying"
    assert trend(np.arange(count), np.where(x < 0.01, 4.75, 0.0) + noise).direction == "varying"
    assert trend(np.arange(count), noise).direction == "flat"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_turn_is_where_a_curve_began_to_go_against_its_trend(sign: float) -> None:
    steps = 10 * np.arange(60)
    fall = np.maximum(0, 40 - np.arange(60)) / 40 + 1e-3 * np.random.default_rng(1).normal(size=60)
    rise = np.where(np.arange(60) > 40, 0.02 * (np.arange(60) - 40), 0)
    rise[50], fall[3] = NAN, np.inf * sign
    assert turn(steps, sign * (fall + rise), trend(steps, sign * (fall + rise))) == pytest.approx(400, abs=20)
    for small in (fall, fall + rise / 50, rise):
        assert turn(steps, sign * small, trend(steps, sign * small)) is None


def test_trend_is_unknown_if_so_few_points_cannot_be_significant():
    """Of n points in ascending order Kendall's p-value is below 0.01 from n = 6 on."""
    directions = [trend(np.arange(n), np.arange(float(n))).direction for n in (5, 6, 7)]
    assert directions == ["unknown", "rising", "rising"]


def test_window_covers_only_the_last_points():
    steps = np.arange(200)
    values = np.where(steps < 100, steps, 100.0 - steps).astype(float)
    assert trend(steps, values, last=80).direction == "falling"


def test_change():
    result = change(np.array([9.0, 2.0, 2.0, NAN, 2.0, 1.0, 1.0, 1.0]), 3)
    assert (result.before, result.after, result.difference, result.ratio) == (2.0, 1.0, -1.0, -0.5)
    assert change(np.arange(5.0), 3) is None
    assert math.isnan(change(np.array([0.0, 1.0]), 1).ratio)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.3456, "346 ms"),
        (200, "3 m 20 s"),
        (50000, "13 h 53 m"),
        (-90, "-1 m 30 s"),
        (NAN, "unknown"),
        (INF, "unknown"),
    ],
)
def test_durations(seconds, expected):
    assert duration(seconds) == expected


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=300), st.floats(0, 1))
def test_medians_and_quantiles_equal_those_of_numpy(values: list[float], part: float) -> None:
    array = np.array(values)
    assert median(array) == np.median(array)
    near = 1e-12 * float(np.abs(array).max())
    assert quantiles(array, part) == pytest.approx((float(np.quantile(array, part)),), rel=1e-12, abs=near)


def test_noise_of_a_change():
    line = np.arange(40.0)
    assert change_noise(line, 20) == 0.0, "a steady rise is not noise"
    noise = np.random.default_rng(3).normal(0.0, 2.0, 4000)
    expected = 1.349 * 2.0 * math.sqrt(2 / 2000)
    assert change_noise(noise, 2000) == pytest.approx(expected, rel=0.1)
    assert change_noise(noise + np.arange(4000), 2000) == pytest.approx(expected, rel=0.1)
    assert change_noise(noise[:5], 2) == 0.0, "too few points"
    assert not change_noise(np.array([1.7e308, -1.7e308] * 9), 9) < math.inf, "no warning"
    uniform = np.random.default_rng(3).random(4000)
    assert change_noise(uniform, 2000) == pytest.approx(0.5 * math.sqrt(2 / 2000), rel=0.1)
    assert change_noise(np.exp(-np.arange(40) / 20), 20) < 0.05, "nor is a smooth curve"


@pytest.mark.parametrize("noise", ["normal", "uniform", "laplace", "standard_t"])
@pytest.mark.parametrize("count", [30, 60, 150])
def test_noise_seldom_differs_by_three_standard_errors(noise: str, count: int) -> None:
    """Normally distributed differences do so in 0.3 % of all cases. A limit of 1.25 % is exceeded for uniform noise if
    the error of a median is taken as 1.25 times that of a mean."""
    random = np.random.default_rng(count)
    options = {"df": 3} if noise == "standard_t" else {}
    rows = getattr(random, noise)(size=(1600, 2 * count), **options)
    large = [abs(change(row, count).difference) > 3 * change_noise(row, count) for row in rows]
    assert np.mean(large) <= 0.0125
