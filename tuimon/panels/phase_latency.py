"""Where the time of a step goes: the newest step as one stacked bar, its phases in their order as a table, with the
waterfall of the step beside it where there is room, and the bottleneck named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite, nan

import numpy as np
from msgspec import Struct

from tuimon.draw.numbers import format_duration, format_fraction
from tuimon.model.views import SERIES_ROLES, Bar, BarView, Role, Row, Size, Span, Symbols
from tuimon.panels._bottleneck import SLOWER, bottleneck, phase_name, spent
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._select import by_concept, curve_or_none
from tuimon.panels._text import signed_percent
from tuimon.panels._timers import Drift, Reading, read_timers, timers_of
from tuimon.store import Run

TITLE = "phase latency"
_UNATTRIBUTED = 0.005
"""Unattributed time of less than this part of a step is rounding."""
_OVERLAP = 0.01
_FIXED_ROWS = 5
"""Title, bar, head of the table, sentence, note."""
_MORE_ROWS = 2
"""What nobody timed, and a sentence that is long."""


class PhaseLatency(Struct, frozen=True):
    id: str = "phase_latency"
    title: str = TITLE
    order: int = 40
    kind: str = "bars"
    rows: int = 14
    concepts: tuple[str, ...] = ("time.phase",)

    def relevant(self, run: Run) -> bool:
        """Whether the run has timers of phases; a single one is a curve like any other."""
        return len(timers_of(run.metrics)) > 1

    def fitted(self, run: Run) -> PhaseLatency:
        """With no more rows than the run's phases can use: what is left is for charts."""
        return _of_rows(min(self.rows, _FIXED_ROWS + _MORE_ROWS + len(timers_of(run.metrics))))

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> BarView:
        """The newest complete step. The bar holds the parts of the step; what lies inside them is in the table only."""
        found = read_timers(run)
        if found is None:
            return BarView(TITLE, (), (), 0.0, note="no points yet")
        step, readings = found
        top = [reading for reading in readings if not reading.timer.parent]
        timed = sum(spent(reading) for reading in top)
        step_time = step_seconds(run, step)
        whole = step_time if isfinite(step_time) and step_time > 0 else timed
        hundred = any(reading.lately for reading in readings)
        bars = _bars(readings, whole, size, symbols, hundred)
        if whole - timed > whole * _UNATTRIBUTED:
            rest = _plain_detail(whole - timed, whole, hundred)
            bars.append(Bar("unattributed", whole - timed, Role.MUTED, rest, (timed, whole)))
        headline: Row = ((format_duration(whole), Role.VALUE), (f" at step {step}", Role.MUTED))
        sentence = bottleneck(run, readings, step, whole, step_time > 0)
        columns = ("phase", "now", "share", "drift", *(("last 100",) if hundred else ()), "p50", "p95", "")
        note = _note(whole, timed, step_time > 0)
        return BarView(TITLE, headline, tuple(bars), max(whole, timed), columns, sentence, note)


@lru_cache
def _of_rows(rows: int) -> PhaseLatency:
    return PhaseLatency(rows=rows)


def step_seconds(run: Run, step: int) -> float:
    """What the run's own timer of a whole step says about `step`; NaN when it says nothing.

    ROLL's RLVR pipeline logs the time of the step before, and 0 at the first: it is read one point later, and for the
    newest step it is not known yet.
    """
    for metric in by_concept(run.metrics).get("time.step", ()):
        curve = curve_or_none(run, metric)
        if curve is None:
            continue
        at = int(np.searchsorted(curve.steps, step, "right")) - 1
        if at < 0 or int(curve.steps[at]) != step:
            continue
        if curve.values[0] == 0:
            at += 1
        if at < len(curve) and isfinite(curve.values[at]) and curve.values[at] > 0:
            return float(curve.values[at])
    return nan


def _bars(readings: Sequence[Reading], whole: float, size: Size, symbols: Symbols, hundred: bool) -> list[Bar]:
    """A bar a part of the step; one without length for what lies inside a part, where there are rows enough.

    In the waterfall each part begins where the one before it ends: the logs tell how long a phase took, in what order
    they come is the vocabulary's.
    """
    top = [reading for reading in readings if not reading.timer.parent]
    with_children = size.height - _FIXED_ROWS > len(readings)
    roles = {reading.timer.metric: SERIES_ROLES[i % len(SERIES_ROLES)] for i, reading in enumerate(top)}
    bars = []
    begin = inside = 0.0
    for reading in readings:
        name, detail = phase_name(reading), _detail(reading, whole, hundred)
        if not reading.timer.parent:
            bars.append(Bar(name, spent(reading), roles[reading.timer.metric], detail, _edges(reading, begin)))
            inside, begin = begin, begin + spent(reading)
        elif with_children:
            corner = "  - " if symbols is Symbols.ASCII else "  └ "
            bars.append(Bar(corner + name, 0.0, Role.MUTED, detail, _edges(reading, inside)))
            inside += spent(reading) if reading.timer.parent in roles else 0.0
    return bars


def _edges(reading: Reading, begin: float) -> tuple[float, ...]:
    """Where a phase begins and ends in the step; with the end of its onload and the start of its offload between."""
    end = begin + spent(reading)
    if end == begin:
        return ()
    onload, offload = reading.parts.get("onload", 0.0), reading.parts.get("offload", 0.0)
    if onload + offload <= 0 or onload + offload > spent(reading):
        return (begin, end)
    return (begin, begin + onload, end - offload, end)


def _detail(reading: Reading, whole: float, hundred: bool) -> Row:
    share = format_fraction(reading.now / whole) if reading.present and whole > 0 else ""
    return (
        (_seconds(reading.now), Role.VALUE if reading.present else Role.MUTED),
        (share, Role.TEXT),
        _drifted(reading.drift),
        *((_drifted(reading.lately),) if hundred else ()),
        (_seconds(reading.p50), Role.MUTED),
        (_seconds(reading.p95), Role.MUTED),
        (_made_of(reading), Role.MUTED),
    )


def _drifted(drift: Drift | None) -> Span:
    """Coloured only where it is more than noise."""
    if drift is None:
        return "", Role.MUTED
    bad, good = drift.sure and drift.ratio >= SLOWER, drift.sure and drift.ratio <= -SLOWER
    return signed_percent(drift.ratio), Role.WARNING if bad else Role.GOOD if good else Role.MUTED


def _plain_detail(seconds: float, whole: float, hundred: bool) -> Row:
    share: Span = (format_fraction(seconds / whole) if whole > 0 else "", Role.TEXT)
    return ((format_duration(seconds), Role.VALUE), share, *[("", Role.MUTED)] * (4 + hundred))


def _seconds(seconds: float) -> str:
    return format_duration(seconds) if isfinite(seconds) else "NaN"


def _made_of(reading: Reading) -> str:
    """How often a sparse timer ran, else what the operation is made of."""
    if reading.every > 1:
        return f"every {reading.every} steps"
    if reading.every < 0:
        return "once"
    if not reading.parts or reading.now <= 0:
        return ""
    return " ".join(f"{part} {format_fraction(value / reading.now)}" for part, value in reading.parts.items())


def _note(whole: float, spent: float, timed: bool) -> str:
    if spent > whole * (1 + _OVERLAP):
        return f"the phases add up to {format_fraction(spent / whole)} of the step: some run at the same time"
    return "" if timed else "no timer of the whole step in the log: shares are of the phases' sum"


PANEL = PhaseLatency()
