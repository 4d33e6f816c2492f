"""Levels and their standard errors, against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.analysis.level import level, level_value

_VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 6)), min_size=1, max_size=300)


def _least_error(window: np.ndarray) -> float:
    """Return the standard error of the mean of independent points about a line, or about their mean if they are few."""
    steps, count = np.arange(len(window)), len(window)
    degree = 1 if count > 3 else 0
    rest = window - np.polyval(np.polyfit(steps, window, degree), steps)
    return math.sqrt(float(rest @ rest) / (count - 1 - degree) / count)


def test_a_level_without_points_or_noise_differs_from_nothing() -> None:
    empty, single = level(np.array([np.nan])), level(np.array([0.5]))
    assert empty.count == 0
    assert math.isnan(empty.value)
    assert (single.value, single.count) == (0.5, 1)
    assert math.isnan(single.error)
    other = level(np.array([0.25]))
    assert not single.is_known
    assert not single.differs_from(other)
    assert not single.is_within_noise_of(other)
    assert level(np.arange(7.0)).count == 1
    assert not level(np.arange(7.0)).is_known, "one point has no deviation"


@pytest.mark.parametrize(
    ("values", "last"),
    [
        ([np.inf, -np.inf], -np.inf),
        ([np.nan, np.inf], np.inf),
        ([1e9, np.inf], np.inf),
        ([*range(18), *[np.inf] * 5], np.inf),
        ([*range(18), 4.0, *[np.inf] * 4], 4.0),
    ],
)
def test_the_level_of_a_curve_that_ends_in_values_that_are_not_finite(values: list[float], last: float) -> None:
    own = level(np.array(values))
    assert own.value == level_value(np.array(values)) == last
    assert own.count == int(np.isfinite(last))
    assert not own.is_known, "an infinite level is neither ranked nor compared"


@pytest.mark.parametrize("last", [[2.416, 2.444, 0.023, 0.022, 0.018], [0.0, 0.0, 3.99, 3.99, 3.99]])
def test_a_jump_in_the_window_is_in_its_error(last: list[float]) -> None:
    values = np.array([1.0, 1.001, 1.002, 1.001] * 8 + last)
    assert _least_error(np.array(last)) <= level(values[4:]).error <= np.ptp(last)


def test_the_noise_of_an_earlier_part_is_not_that_of_a_quiet_end() -> None:
    last = np.array([0.00635, 0.0, 0.0, 0.0, 0.0])
    values = np.append(np.random.default_rng(1).normal(1.0, 0.1, 31), last)
    assert _least_error(last) <= level(values).error < 3 * _least_error(last), "0.04 with the noise of the curve"
    assert level(np.append(values, [3.0] * 5)).error == 0


def test_a_few_points_that_are_close_by_chance_have_the_noise_of_the_curve() -> None:
    random = np.random.default_rng(2)
    levels = [level(random.normal(0.0, 1.0, 40)) for _ in range(500)]
    assert {own.count for own in levels} == {5}
    within = sum(abs(own.value) < 2 * own.error for own in levels)
    assert within >= 465, "438 with sd / sqrt(5) alone"


def test_correlated_points_are_fewer_than_they_seem() -> None:
    steps = np.random.default_rng(3).normal(0.0, 1.0, 20_100)
    values = np.convolve(steps, np.ones(20) / 20, "valid")  # a mean of the last 20 episodes
    window = values[-round(len(values) / 10) :]
    truth = 1 / math.sqrt(len(window))
    assert _least_error(window) < 0.3 * truth
    assert level(values).error == pytest.approx(truth, rel=0.5)


@pytest.mark.parametrize(("rho", "count", "most"), [(0.5, 60, 16), (0.7, 100, 16), (0.9, 100, 24), (0.9, 400, 12)])
def test_correlated_noise_of_curves_with_equal_levels_is_seldom_called_a_difference(
    rho: float, count: int, most: int
) -> None:
    random = np.random.default_rng(6)
    noise = random.normal(0.0, 1.0, (400, count))
    for step in range(1, count):
        noise[:, step] = rho * noise[:, step - 1] + math.sqrt(1 - rho**2) * noise[:, step]
    losses = 1 + 1.5 * np.exp(-3 * np.linspace(0, 1, count))
    levels = [level(losses + 0.01 * own) for own in noise]
    assert sum(first.differs_from(second) for first, second in zip(levels[::2], levels[1::2], strict=True)) <= most
    higher = [level(losses + 0.05 + 0.01 * own) for own in noise[1::2]]
    assert sum(first.differs_from(second) for first, second in zip(levels[::2], higher, strict=True)) >= 180


@pytest.mark.parametrize("count", [20, 30, 60, 100])
def test_a_plain_difference_of_falling_curves_with_independent_noise_is_called_one(count: int) -> None:
    random, losses = np.random.default_rng(7), 1 + 1.5 * np.exp(-3 * np.linspace(0, 1, count))
    levels = [[level(losses + own + random.normal(0.0, 0.005, count)) for own in (0.0, 0.025)] for _ in range(100)]
    assert sum(first.differs_from(second) for first, second in levels) >= 90


def test_a_trend_is_not_noise() -> None:
    assert level(np.arange(1000.0)).error == 0
    of_other_steps = level(np.arange(1000.0), with_trend=True)
    assert of_other_steps.error == pytest.approx(np.std(np.arange(100.0), ddof=1) / 10)
    scatter = np.random.default_rng(4).normal(0.0, 0.005, 20)
    flat, falling = level(scatter), level(scatter - 0.01 * np.arange(20))
    assert flat.count == 5
    assert falling.error == pytest.approx(flat.error), "0.01 with the trend"


def test_the_noise_of_falling_losses_is_seldom_called_a_difference() -> None:
    random, losses = np.random.default_rng(5), 1 + 1.5 * np.exp(-3 * np.linspace(0, 1, 40))
    pairs = [[level(losses + random.normal(0.0, 0.01, 40)) for _ in range(2)] for _ in range(500)]
    assert sum(first.differs_from(second) for first, second in pairs) <= 40


@given(_VALUES)
def test_the_error_is_never_below_that_of_independent_points(values: list[float]) -> None:
    own = level(np.array(values))
    window = np.array(values[-own.count :])
    scale = float(np.abs(values).max())
    assert own.value == pytest.approx(float(window.mean()), abs=1e-12 * scale)
    if own.count > 1:
        assert own.error >= _least_error(window) * (1 - 1e-9) - 1e-12 * scale
        assert own.noise >= own.error or own.count >= 16
    if own.error == 0:
        assert own.count > 3 or float(window.max() - window.min()) <= 1e-12 * scale


@given(_VALUES, st.sampled_from([1e-300, 1e-3, 1e301]))
def test_the_error_scales_with_the_unit(values: list[float], factor: float) -> None:
    own, scaled = level(np.array(values)), level(np.array(values) * factor)
    if own.count > 1 and own.error > 1e-9 * float(np.abs(values).max()):
        assert scaled.error == pytest.approx(own.error * factor, rel=1e-3)
