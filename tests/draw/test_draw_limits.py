"""Limits hold what they must, are round, and stay while a run grows."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.draw.limits import robust_limits, x_limits, y_limits
from tuimon.draw.window import Window
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
def test_limits_of_a_growing_run_rarely_change(kind: str) -> None:
    start = 0.0 if kind == "step" else 1795226051.0
    limits = [x_limits(start, start + n, kind) for n in range(1, 2001)]
    assert sum(a != b for a, b in pairwise(limits)) <= 40
    assert all(high - (start + n) <= 0.5 * n + 1 for n, (_, high) in enumerate(limits, 1))


@pytest.mark.parametrize(
    "values",
    [
        [*np.linspace(0, 0.0107, 30), *[0.01] * 9],
        [*[1e-6] * 20, *np.linspace(1e-6, 0.98e-6, 14)],
        [*[1.0] * 30, 1.1, 1.2, 1.3, 1.4, 1.5],
    ],
)
def test_a_slow_change_is_inside_the_robust_limits(values: list[float]) -> None:
    limits = robust_limits([envelope(*values)])
    near = 0.1 * (max(values) - min(values))
    assert limits is None or (limits[0] <= min(values) + near and limits[1] >= max(values) - near)


def test_log_limits_of_a_narrow_range_are_close_to_it() -> None:
    low, high = y_limits([envelope(0.65, 0.81)], "log")
    assert 0.6 <= low <= 0.65
    assert 0.81 <= high <= 0.85


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=40), outlier=st.sampled_from([1e6, -1e9, 1e300]))
def test_robust_limits_leave_a_far_outlier_out_and_every_other_value_in(values: list[float], outlier: float) -> None:
    limits = robust_limits([envelope(*values, outlier)])
    if limits is None:
        lower, upper = np.quantile([*values, outlier], (0.25, 0.75))
        assert lower == upper
        return
    assert limits[0] >= min(values)
    assert limits[1] <= max(values)
    middle = sorted(values)[len(values) // 3 : -len(values) // 3]
    assert all(limits[0] <= value <= limits[1] for value in middle)


@pytest.mark.parametrize("last", [2.0**63, 2.0**63 - 1024, 2.0**53, 1e300, -(2.0**63), 5.0, 0.0])
@pytest.mark.parametrize("span", [2.0, 1e-9, 50.0])
@pytest.mark.parametrize("held", [True, False])
def test_a_window_is_never_empty(last: float, span: float, held: bool) -> None:
    low, high = Window(span, last if held else None).limits(last, "step")
    assert low < high
