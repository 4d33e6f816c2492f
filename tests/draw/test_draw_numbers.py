"""Numbers, durations and tick labels as text."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tuimon.draw.numbers import (
    format_value,
)
from tuimon.draw.ticks import axis_ticks, nice_ticks, tick_labels
from tuimon.model.views import Axis
from tuimon.vocabulary.units import BYTES, SECONDS

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("unit", sorted({*BYTES, *SECONDS} - {"B", "s", "min", "h"}))
def test_the_units_of_the_vocabulary_that_have_a_prefix_get_no_other_one(unit: str) -> None:
    assert format_value(23120.4, unit) == f"23120 {unit}"


@given(finite)
def test_a_value_is_short_and_accurate(value: float) -> None:
    text = format_value(value)
    assert len(text) <= 8
    suffixes = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    shown = float(text[:-1]) * suffixes[text[-1]] if text[-1] in suffixes else float(text)
    near = 0.06 if 1e-99 < abs(value) < 1e99 else 0.5
    assert math.isclose(shown, value, rel_tol=near, abs_tol=5e-324) or math.isinf(shown)
    assert (shown == 0) == (value == 0)


@pytest.fixture(params=["IST-5:30", "CET-1CEST,M3.5.0,M10.5.0/3"])
def time_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A zone whose hours are not those of UTC, and one whose clocks are set back within the weeks shown."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("time_zone")
@pytest.mark.parametrize(("span", "form"), [(90, "%H:%M:%S"), (7200, "%H:%M"), (40 * 86400, "%m-%d")])
def test_time_ticks_are_at_full_local_units(span: float, form: str) -> None:
    start = datetime(2026, 10, 1, 11, 59, 47).timestamp()
    ticks = axis_ticks(Axis(start, start + span, kind="time"), 4)
    assert len(ticks) >= 2
    for value, label in ticks:
        moment = datetime.fromtimestamp(value)
        assert label == moment.strftime(form)
        assert moment.second % 10 == 0
        assert form == "%H:%M:%S" or moment.minute % 5 == moment.second == 0
        assert form != "%m-%d" or moment.hour == 0


@pytest.mark.usefixtures("time_zone")
def test_midnight_is_labelled_with_its_date() -> None:
    start = datetime(2026, 10, 1, 9, 30).timestamp()
    labels = [label for _, label in axis_ticks(Axis(start, start + 2 * 86400, kind="time"), 8)]
    assert labels == ["12:00", "18:00", "10-02", "06:00", "12:00", "18:00", "10-03", "06:00"]


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(1, 12))
def test_ticks_are_few_within_the_limits_and_distinct(low: float, span: float, n: int) -> None:
    assume(span > abs(low) * 1e-9)  # finer is taken for a constant by y_limits long before
    ticks = nice_ticks(low, low + span, n)
    labels = tick_labels(ticks)
    assert 1 <= len(ticks) <= max(n + 2, 6)
    slack = max(span, abs(low)) * 1e-6
    assert all(low - slack <= tick <= low + span + slack for tick in ticks)
    assert len(set(labels)) == len(labels)
    assert all(a < b for a, b in pairwise(ticks))
    for tick, label in zip(ticks, labels, strict=True):
        scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(label[-1], 1.0)
        assert math.isclose(float(label.rstrip("kMG")) * scale, tick, rel_tol=1e-6, abs_tol=span * 1e-6)
