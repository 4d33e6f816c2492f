"""The first point at which a curve reaches a value."""

from __future__ import annotations

import math

import numpy as np

from tuimon.analysis.reaching import row_reaching
from tuimon.store import Curve


def curve(values: list[float]) -> Curve:
    return Curve.from_arrays("reward", np.arange(len(values)) * 10, np.array(values))


def test_the_median_of_nine_reaches_the_value_and_a_spike_does_not() -> None:
    rising = [0.1] * 10 + [0.9] + [0.1] * 9 + [0.7] * 10
    assert row_reaching(curve(rising), 0.6) == 24, "the fifth of nine points"
    assert row_reaching(curve(rising), 0.8) is None
    assert row_reaching(curve([-value for value in rising]), -0.6, falls=True) == 24


def test_points_that_are_not_finite_are_passed_over() -> None:
    assert row_reaching(curve([math.nan, *[0.7] * 9]), 0.6) == 9
    assert row_reaching(curve([0.7] * 8), 0.6) is None, "too few points"
    assert row_reaching(curve([]), 0.6) is None
