"""What stands beside the title of a chart: its last value and how it has moved, or what the cursor reads off."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from tuimon.analysis.trend import change
from tuimon.draw.numbers import nonfinite
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._select import by_concept
from tuimon.panels._text import change_span, unit_text, value_text
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning

_STILL = 0.005
"""A change of less than this part of all that a curve has covered is none."""
_WINDOW = 128
"""Points of a tenth that its median is taken of."""
_SHORT = 10
"""Characters of a value beside a small chart; more digits are left to the zoomed one."""


def headline_of(curve: Curve, meaning: Meaning, factor: float, symbols: Symbols) -> Row:
    """Last value with its unit, and how it has moved over the last tenth of the run."""
    last = curve.last
    if last is None:
        return ((nonfinite(curve.values[-1] * factor), Role.CRITICAL),)
    spans: list[Span] = [(value_text(last.value * factor, meaning.unit), Role.VALUE)]
    moved = recent_change(curve)
    if moved is not None and curve.min is not None and curve.max is not None:
        still = (curve.max.value - curve.min.value) * _STILL * abs(factor)
        spans += [(" ", Role.MUTED), change_span(moved * factor, still, meaning.direction, symbols)]
    if not np.isfinite(curve.values[-1]):
        spans.append((f" {nonfinite(curve.values[-1] * factor)} now", Role.CRITICAL))
    return tuple(spans)


def recent_change(curve: Curve) -> float | None:
    """Median of the last tenth of the points less that of the tenth before; long tenths are sampled evenly.

    None with less than two finite points among them.
    """
    tenth = max(len(curve) // 10, 1)
    stride = max(tenth // _WINDOW, 1)
    recent = curve.values[-2 * tenth :: stride]
    recent = recent[np.isfinite(recent)]
    found = change(recent, min(-(-tenth // stride), len(recent) // 2))
    return found.difference if found else None


def in_context(run: Run, meaning: Meaning) -> Meaning:
    """The loss of a run that learns from rewards is a surrogate: it need not fall."""
    if meaning.concept == "loss.total" and "reward.train" in by_concept(run.metrics):
        return replace(meaning, direction="neutral")
    return meaning


def exact(value: float, most: int | None = None) -> str:
    """A value as it was logged, every digit of it; with `most`, rounded to fit into so many characters."""
    if not math.isfinite(value):
        return nonfinite(value)
    text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if most is None or len(text) <= most:
        return text
    return next((short for digits in range(most, 1, -1) if len(short := f"{value:.{digits}g}") <= most), text)


def reading(curve: Curve, factor: float, step: int, alone: bool) -> tuple[str, str]:
    """(value at a step, where it comes from): that of the last point at or before it, and the step of that point where
    it is another one. A chart with the screen to itself says every digit."""
    found = curve.sample_at(step)
    if found is None:
        return "-", ""
    text = exact(found.value * factor, None if alone else _SHORT)
    return text, "" if curve.ordinal or found.step == step else f" @ {found.step}"


def cursor_headline(curve: Curve, meaning: Meaning, factor: float, step: int, alone: bool) -> Row:
    """The value of the leading curve under the cursor, and the step that it was logged at: the value first, which is
    what a narrow chart has room for."""
    value, of = reading(curve, factor, step, alone)
    unit = unit_text(meaning.unit)
    return ((f"{value} {unit}".rstrip(), Role.VALUE), (of or f" @ {step}", Role.ACCENT))
