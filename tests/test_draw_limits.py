"""Limits hold what they must, are round, and stay while a run grows."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.draw.limits import x_limits, y_limits
from tuimon.model.views import Envelope

finite = st.floats(allow_nan=False, allow_infinity=False)


def envelope(*values: float) -> Envelope:
    array = np.array(values, dtype=np.float64)
    return Envelope(array, array, array, array, np.zeros(len(array)))


@given(st.lists(st.floats(), max_size=5))
def test_linear_limits_hold_every_finite_value(values: list[float]) -> None:
    low, high = y_limits([envelope(*values)])
    assert -math.inf < low < high < math.inf
    assert all(low <= value <= high for value in values if math.isfinite(value))


@given(st.lists(st.floats(), max_size=5))
def test_log_limits_hold_every_positive_value(values: list[float]) -> None:
    low, high = y_limits([envelope(*values)], "log")
    assert 0 < low < high < math.inf
    assert all(low <= value <= high for value in values if 0 < value < math.inf)


@pytest.mark.parametrize(
    ("values", "scale", "limits"),
    [
        ((0.12, 0.88), "linear", (0.1, 0.9)),
        ((0.0, 0.97), "linear", (0.0, 1.0)),
        ((), "linear", (0.0, 1.0)),
        ((math.nan, math.inf), "linear", (0.0, 1.0)),
        ((0.0,), "linear", (0.0, 1.0)),
        ((5.0,), "linear", (4.0, 6.0)),
        ((0.003, 40.0), "log", (0.002, 50.0)),
        ((-1.0, 0.0), "log", (0.1, 1.0)),
    ],
)
def test_limits_are_round(values: tuple[float, ...], scale: str, limits: tuple[float, float]) -> None:
    assert y_limits([envelope(*values)], scale) == limits


def test_an_included_value_is_held() -> None:
    assert y_limits([envelope(1.0, 2.0)], include=[0.0]) == (0.0, 2.1)


@given(finite, st.floats(0, 1e300), st.sampled_from(["step", "number", "time", "duration"]))
def test_x_limits_hold_first_and_last(first: float, span: float, kind: str) -> None:
    last = first + span
    if math.isfinite(last):
        low, high = x_limits(first, last, kind)
        slack = (high - low) * 1e-8
        assert low <= first + slack
        assert high >= last - slack
        assert low < high or first == last


@pytest.mark.parametrize("kind", ["step", "time"])
def test_a_growing_run_is_mostly_an_append(kind: str) -> None:
    start = 0.0 if kind == "step" else 1795226051.0
    limits = [x_limits(start, start + n, kind) for n in range(1, 2001)]
    assert sum(a != b for a, b in pairwise(limits)) <= 40
    assert all(high - (start + n) <= 0.5 * n + 1 for n, (_, high) in enumerate(limits, 1))
