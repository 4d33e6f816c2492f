"""Levels, their errors and differences, and correlations, against numpy and simulated curves whose truth is known."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.analysis.correlation import (
    correlation_words,
    pairs,
    pearson,
    spearman,
)
from tuimon.analysis.level import chance_of, difference, difference_of_groups, level, level_value, points_of_level
from tuimon.store import Curve

_VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 6)), min_size=1, max_size=300)


def correlated(rows: int, count: int, rho: float, seed: int) -> np.ndarray:
    """Return noise of deviation 1 in which each point shares the part rho with the one before."""
    noise = np.random.default_rng(seed).normal(0.0, 1.0, (rows, count))
    for step in range(1, count):
        noise[:, step] = rho * noise[:, step - 1] + math.sqrt(1 - rho**2) * noise[:, step]
    return noise


def called_different(curves: np.ndarray, others: np.ndarray) -> float:
    x = np.arange(curves.shape[1], dtype=float)
    pairs = zip(curves, others, strict=True)
    return float(np.mean([difference(x, one, x, other).is_beyond_noise() for one, other in pairs]))


@pytest.mark.parametrize("count", [20, 60, 200])
@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9, 0.95])
def test_equal_curves_are_seldom_called_different(count: int, rho: float) -> None:
    falling = 1 + 1.5 * np.exp(-3 * np.linspace(0, 1, count))
    curves = falling + 0.01 * correlated(1200, count, rho, seed=count)
    assert called_different(curves[:600], curves[600:]) <= 0.06


@pytest.mark.parametrize(("count", "rho"), [(30, 0.0), (60, 0.3), (100, 0.6), (400, 0.9), (40, 0.95)])
def test_different_curves_are_called_so(count: int, rho: float) -> None:
    noise = correlated(200, count, rho, seed=1)
    lags = np.arange(points_of_level(count))
    error = math.sqrt(2 * float((rho ** np.abs(lags[:, None] - lags)).sum())) / len(lags)
    ramp = np.clip(np.arange(1, count + 1) / (0.3 * count), 0, 1)
    assert called_different(noise[:100] + 10 * error * ramp, noise[100:]) >= 0.95


def test_a_trend_that_curves_share_is_no_noise() -> None:
    noise, trend = correlated(200, 40, 0.0, seed=2), np.linspace(0, 50, 40) ** 2
    assert called_different(noise[:100] + trend + 8, noise[100:] + trend) >= 0.95


def test_a_level_is_the_mean_of_the_last_tenth() -> None:
    assert level(np.arange(1000.0)).value == level_value(np.arange(1000.0)) == np.arange(900, 1000).mean()
    assert [points_of_level(count) for count in (1, 4, 8, 20, 49, 100, 1000)] == [1, 1, 2, 5, 5, 10, 100]
    single = level(np.array([0.5]))
    assert (single.value, single.count) == (0.5, 1)
    assert math.isnan(single.error)


@pytest.mark.parametrize(
    ("values", "last"),
    [
        ([np.nan], np.nan),
        ([np.inf, -np.inf], -np.inf),
        ([1e9, np.inf], np.inf),
        ([*range(18), *[np.inf] * 5], np.inf),
        ([*range(18), 4.0, *[np.inf] * 4], 4.0),
    ],
)
def test_the_level_of_a_curve_that_ends_in_values_that_are_not_finite(values: list[float], last: float) -> None:
    own = level(np.array(values))
    assert own.value == pytest.approx(last, nan_ok=True)
    assert own.count == int(np.isfinite(last))
    x = np.arange(len(values), dtype=float)
    assert not difference(x, np.array(values), x, np.ones(len(values))).is_beyond_noise()


@pytest.mark.parametrize(("rho", "low", "high"), [(0.0, 0.8, 1.7), (0.8, 0.6, 2.5)])
def test_the_error_of_a_single_curve_is_about_that_of_its_mean(rho: float, low: float, high: float) -> None:
    curves = correlated(200, 300, rho, seed=5) + np.linspace(0, 3, 300) ** 2
    lags = np.arange(30)
    truth = math.sqrt(float((rho ** np.abs(lags[:, None] - lags)).sum())) / 30
    assert low < np.median([level(own).error for own in curves]) / truth < high


def test_equal_curves_and_constant_differences() -> None:
    x, values = np.arange(50.0), np.linspace(0, 1, 50)
    assert not difference(x, values, x, values).is_beyond_noise()
    assert difference(x, values + 0.5, x, values).is_beyond_noise()
    apart = difference(x, values + 0.5, x, values)
    assert (apart.value, apart.error) == (pytest.approx(0.5), 0.0)
    assert not difference(x, values, x + 1000, values + 9).is_known, "no positions in common"
    assert not difference(x[:3], values[:3], x[:3], values[:3] + 1).is_known, "too few points"


@given(_VALUES, st.sampled_from([1e-300, 1e-3, 1e301]))
def test_the_error_scales_with_the_unit(values: list[float], factor: float) -> None:
    own, scaled = level(np.array(values)), level(np.array(values) * factor)
    if own.count > 1 and own.error > 1e-6 * float(np.abs(values).max()):
        assert scaled.error == pytest.approx(own.error * factor, rel=1e-3)


@pytest.mark.parametrize(
    ("ratio", "freedom", "chance"),
    [(12.706, 1, 0.05), (4.303, 2, 0.05), (3.182, 3, 0.05), (2.228, 10, 0.05), (1.984, 100, 0.05), (3.169, 10, 0.01)],
)
def test_chances_are_those_of_students_distribution(ratio: float, freedom: int, chance: float) -> None:
    assert chance_of(ratio, freedom) == chance_of(-ratio, freedom) == pytest.approx(chance, rel=2e-3)


def test_groups_of_equal_runs_are_seldom_called_different() -> None:
    random = np.random.default_rng(7)
    for sizes in ((2, 2), (3, 3), (1, 4)):
        found = [difference_of_groups(*(random.normal(0, 1, size) for size in sizes)) for _ in range(1000)]
        assert 0.01 < np.mean([own.is_beyond_noise() for own in found]) < 0.035
        assert np.mean([own.is_beyond_noise(5) for own in found]) < 0.01, "of several the difference must be larger"
    assert not difference_of_groups(np.array([1.0]), np.array([2.0])).is_known


def curve(steps: list[int], values: list[float]) -> Curve:
    return Curve.from_arrays("m", np.array(steps, np.int64), np.array(values), np.full(len(steps), np.nan))


@pytest.mark.parametrize("seed", range(5))
def test_correlation_equals_that_of_the_standard_library(seed: int) -> None:
    chance = np.random.default_rng(seed)
    x = chance.normal(size=50).round(1)  # equal values have their mean rank
    y = (x + chance.normal(size=50)).round(1)
    assert pearson(x, y) == pytest.approx(statistics.correlation(x.tolist(), y.tolist()), abs=1e-12)
    one, other = (
        [sum(b < a for b in part) + (sum(b == a for b in part) + 1) / 2 for a in part]
        for part in (x.tolist(), y.tolist())
    )
    assert spearman(x, y) == pytest.approx(statistics.correlation(one, other), abs=1e-12)


def test_correlation_of_extreme_and_of_few_values() -> None:
    x = np.array([1e300, 2e300, 3e300])
    assert pearson(x, -x) == pytest.approx(-1)
    assert spearman(x, np.exp(x / 1e300)) == pytest.approx(1)
    assert math.isnan(pearson(x, np.ones(3)))
    assert math.isnan(spearman(x[:2], x[:2]))
    assert correlation_words(x[:2], x[:2]) == "r -  rho -  n 2"
    tiny = np.array([0.0, 5e-324, 1e-323])
    assert pearson(tiny, tiny) == pytest.approx(1)


def test_pairs_are_of_equal_steps_the_last_value_at_a_step_and_finite() -> None:
    found = pairs(curve([1, 2, 2, 3, 5, 6], [1, 2, 20, 3, 5, math.inf]), curve([2, 3, 4, 5, 6], [7, math.nan, 8, 9, 1]))
    assert found.steps.tolist() == [2, 5]
    assert found.x.tolist() == [20, 5]
    assert found.y.tolist() == [7, 9]


def test_values_without_steps_are_not_paired() -> None:
    assert not len(pairs(curve([0, 0, 0], [1, 2, 3]), curve([0, 1, 2], [1, 2, 3])).steps)
