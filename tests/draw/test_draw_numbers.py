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
    format_bytes,
    format_count,
    format_duration,
    format_exact,
    format_fraction,
    format_number,
    format_value,
)
from tuimon.draw.ticks import axis_ticks, nice_ticks, tick_labels
from tuimon.model.views import Axis
from tuimon.vocabulary.units import BYTES, SECONDS

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.4523, "0.4523"), (1e-5, "1.00e-05"), (12345.0, "12.3k"), (0.0, "0"), (-0.0, "0"), (512.0, "512"),
        (math.nan, "NaN"), (math.inf, "Inf"), (-math.inf, "-Inf"), (0.012345, "0.0123"), (-3.14159, "-3.142"),
        (9999.7, "10.0k"), (999960.0, "1.00M"), (1.5e9, "1.50G"), (1e15, "1.00e+15"), (-1e-5, "-1.0e-05"),
        (0.99996, "1.000"), (123456.0, "123k"), (5e-324, "4.9e-324"),
    ],
)  # fmt: skip
def test_values_keep_their_significant_digits(value: float, text: str) -> None:
    assert format_value(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (23120.4, "MB", "23120 MB"), (9999.7, "MiB", "10000 MiB"), (9999.2, "MB", "9999 MB"),
        (-43210.0, "ms", "-43210 ms"), (12345.0, "MB/s", "12345 MB/s"), (23456.0, "TFLOP/s", "23456 TFLOP/s"),
        (64e9, "B", "64.0 GB"), (12345.0, "tokens/s", "12.3k tokens/s"), (12345.0, "min", "12.3k min"),
        (2e9, "us", "2.00G us"), (12345.0, "", "12.3k"), (math.nan, "MB", "NaN MB"),
    ],
)  # fmt: skip
def test_a_unit_with_a_prefix_gets_no_other_one(value: float, unit: str, text: str) -> None:
    assert format_value(value, unit) == text
    if unit != "B":
        assert format_number(value, unit) == text.split()[0]


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4320, "1 h 12 m"), (42, "42 s"), (97, "1 m 37 s"), (3 * 86400 + 4 * 3600, "3 d 4 h"), (0, "0 s"),
        (0.32, "320 ms"),        (3.21, "3.2 s"), (59.7, "1 m"), (3599.8, "1 h"), (86399, "1 d"), (-5, "-5.0 s"),
        (math.nan, "NaN"), (0.0000042, "4.2 µs"),
    ],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_other_quantities() -> None:
    assert [format_count(n) for n in (950, 12345, 1.2e6, 999_960)] == ["950", "12.3 k", "1.2 M", "1.0 M"]
    assert [format_bytes(n) for n in (0, 1023, 1024, 812 * 2**20, 23.4 * 2**30, 1023.9 * 2**20)] == [
        "0 B", "1023 B", "1.0 KiB", "812 MiB", "23.4 GiB", "1.0 GiB",
    ]  # fmt: skip
    assert [format_fraction(f) for f in (0.614, 0.004, 1.03, 0, math.nan)] == ["61 %", "0.4 %", "103 %", "0 %", "NaN"]
    assert format_value(3.2, "tok/s") == "3.200 tok/s"


def test_tick_labels_share_decimals_suffix_and_exponent() -> None:
    assert tick_labels(nice_ticks(0, 1, 4)) == ["0.0", "0.5", "1.0"]
    assert tick_labels(nice_ticks(0, 133.3, 3)) == ["0", "50", "100"]
    assert tick_labels(nice_ticks(0, 1e-5, 4)) == ["0.0", "0.5e-5", "1.0e-5"]
    assert tick_labels(nice_ticks(0, 2.2e5, 5)) == ["0", "50k", "100k", "150k", "200k"]
    assert tick_labels([1795224830.0, 1795224840.0]) == ["1795224830", "1795224840"]  # shorter than 1.79522483G
    assert tick_labels([123456.0, 123457.0]) == ["123456", "123457"]
    assert tick_labels([123400.0, 123500.0]) == ["123.4k", "123.5k"]
    assert tick_labels(nice_ticks(-0.3, 0.1, 4)) == ["-0.3", "-0.2", "-0.1", "0.0", "0.1"]


def test_labels_by_kind() -> None:
    def labels(low: float, high: float, kind: str, scale: str = "linear", n: int = 4) -> list[str]:
        return [label for _, label in axis_ticks(Axis(low, high, scale, kind), n)]

    assert labels(0, 3, "step", n=8) == ["0", "1", "2", "3"]
    assert labels(0, 5400, "duration") == ["0 s", "30 m", "1 h", "1 h 30 m"]
    assert labels(1e-6, 1, "number", "log", 3) == ["1e-6", "1e-4", "0.01", "1"]
    assert labels(2, 30, "number", "log", 6) == ["2", "5", "10", "20"]


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


@pytest.mark.parametrize(
    ("value", "digits"),
    [
        (0.019999999552965164, "0.02"),
        (0.3333333432674408, "0.33333334"),
        (0.6076259990501202, "0.6076259990501202"),
        (0.30000000000000004, "0.3"),
        (1e-05, "1e-05"),
        (1e300 / 3, "3.33333333333333e+299"),
        (1.5, "1.5"),
        (20.0, "20"),
    ],
)
def test_a_value_has_the_digits_that_were_logged(value: float, digits: str) -> None:
    assert format_exact(value) == digits
