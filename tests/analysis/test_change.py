"""Changes of the level of a curve: noise of any kind is flat, and what moves is not."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.analysis.change import change
from tuimon.model.points import Floats


def noise(count: int, rho: float, seed: int) -> Floats:
    """Return noise with an autocorrelation."""
    random = np.random.default_rng(seed)
    values = random.normal(size=count + 100)
    for row in range(1, len(values)):
        values[row] += rho * values[row - 1]
    return values[100:]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
@pytest.mark.parametrize("count", [20, 100, 500])
def test_noise_is_flat(count: int, rho: float, whole: bool) -> None:
    found = [change(noise(count, rho, seed), whole) for seed in range(100)]
    assert sum(own is None or own.direction != "flat" for own in found) <= 5


@pytest.mark.parametrize(
    ("values", "whole", "direction"),
    [
        (np.linspace(0, 2, 200) + 0.1 * noise(200, 0, 1), True, "rising"),
        (np.linspace(0, 2, 200) + 0.1 * noise(200, 0, 1), False, "rising"),
        (3 * np.exp(-np.linspace(0, 5, 200)) + 0.1 * noise(200, 0, 2), True, "falling"),
        (3 * np.exp(-np.linspace(0, 5, 12)), True, "falling"),
        (np.repeat([98.0, 0.0], [20, 40]), True, "falling"),
        (-((np.linspace(0, 1, 200) - 0.5) ** 2) + 0.01 * noise(200, 0, 3), True, "flat"),
        (-((np.linspace(0, 1, 200) - 0.5) ** 2) + 0.01 * noise(200, 0, 3), False, "falling"),
        (0.5 ** np.arange(6), True, "falling"),
        (np.array([1.0, 3.0, 2.0, 4.0, 3.0, 5.0]), True, "unknown"),
        (np.full(40, 74.2), True, "flat"),
        (np.repeat([74.2, float(np.float32(74.2))], [90, 10]), True, "flat"),
        (np.repeat([74.2, float(np.float32(74.2))], [90, 10]), False, "flat"),
        (np.repeat([0.0, 1e-300], 20), True, "rising"),
    ],
)
def test_direction(values: Floats, whole: bool, direction: str) -> None:
    found = change(values, whole)
    assert found.direction == direction


def test_levels_are_the_means_of_tenths() -> None:
    values = np.arange(200.0)
    recent, whole = change(values), change(values, whole=True)
    assert (recent.before, recent.after) == pytest.approx((169.5, 189.5)), "of 20 points each"
    assert (whole.before, whole.after, whole.ratio) == pytest.approx((9.5, 189.5, 180 / 9.5))


@pytest.mark.parametrize("values", [np.arange(5.0), np.full(40, np.nan), np.empty(0)])
def test_too_few_points(values: Floats) -> None:
    assert change(values) is None


def test_gaps_and_great_values_are_no_hindrance() -> None:
    values = np.where(np.arange(100) % 7, np.linspace(-8e307, 8e307, 100), np.nan)
    found = change(values, whole=True)
    assert found.direction == "rising"


def test_long_curves_are_sampled() -> None:
    values = np.linspace(0, 1, 100_000)
    found = change(values)
    assert found.change == pytest.approx(0.1, rel=0.01)
