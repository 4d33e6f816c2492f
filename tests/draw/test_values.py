"""Numbers, axes, limits and titles as text: see support.value_cases for the words of the table."""

from __future__ import annotations

import math

import numpy as np
from support.value_cases import values_of

from tuimon.draw.limits import y_limits
from tuimon.draw.rows import title_row
from tuimon.draw.ticks import axis_ticks, nice_ticks, tick_labels
from tuimon.draw.window import Window
from tuimon.model.views import Axis, Envelope

test_values = values_of(globals())


def nice_labels(low: float, high: float, count: int) -> list[str]:
    return tick_labels(nice_ticks(low, high, count))


def axis_labels(low: float, high: float, kind: str, scale: str, count: int) -> list[str]:
    return [label for _, label in axis_ticks(Axis(low, high, scale, kind), count)]


def limits_of(values: list[float], scale: str) -> tuple[float, float]:
    array = np.array(values, dtype=np.float64)
    return y_limits([Envelope(array, array, array, array, np.zeros(len(array)))], scale)


def window_word(span: float, end: float, kind: str) -> str:
    return Window(span, None if math.isnan(end) else end).word(kind)


def title_of(title: str, width: int) -> str:
    row = title_row(title, (), width)
    assert sum(len(text) for text, _ in row) == width
    return "".join(text for text, _ in row).rstrip()
