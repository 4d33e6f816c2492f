"""Where the time of a step goes: the newest step as one stacked bar, its phases as a table, the bottleneck named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan

import numpy as np

from tuimon.draw.numbers import format_duration, format_fraction
from tuimon.model.views import SERIES_ROLES, Bar, BarView, Role, Row, Size, Span, Symbols
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._select import by_concept, curve_or_none
from tuimon.panels._text import signed_percent
from tuimon.panels._timers import Reading, read_timers, timers_of
from tuimon.store import Run

TITLE = "phase latency"
COLUMNS = ("phase", "now", "share", "drift", "p50", "p95", "")
_SLOWER = 0.2
"""A drift from which a phase is said to have become slower."""
_UNATTRIBUTED = 0.005
"""Unattributed time of less than this part of a step is rounding."""
_OVERLAP = 0.01
_FIXED_ROWS = 5
"""Title, bar, head of the table, sentence, note."""


@dataclass(frozen=True, slots=True)
class PhaseLatency:
    id: str = "phase_latency"
    title: str = TITLE
    order: int = 40
    kind: str = "bars"
    rows: int = 14
    concepts: tuple[str, ...] = ("time.phase",)

    def relevant(self, run: Run) -> bool:
        """Whether the run has timers of phases; a single one is a curve like any other."""
        return len(timers_of(run.metrics)) > 1

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> BarView:
        """The newest complete step. The bar holds the parts of the step; what lies inside them is in the table only."""
        found = read_timers(run)
        if found is None:
            return BarView(TITLE, (), (), 0.0, note="no points yet")
        step, readings = found
        top = [reading for reading in readings if not reading.timer.parent]
        spent = sum(_stacked(reading) for reading in top)
        step_time = step_seconds(run, step)
        whole = step_time if isfinite(step_time) and step_time > 0 else spent
        bars = _bars(readings, whole, size, symbols)
        if whole - spent > whole * _UNATTRIBUTED:
            bars.append(Bar("unattributed", whole - spent, Role.MUTED, _plain_detail(whole - spent, whole)))
        headline: Row = ((format_duration(whole), Role.VALUE), (f" at step {step}", Role.MUTED))
        sentence = _bottleneck(top, readings, whole, bool(step_time > 0))
        return BarView(
            TITLE, headline, tuple(bars), max(whole, spent), COLUMNS, sentence, _note(whole, spent, step_time > 0)
        )


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


def _stacked(reading: Reading) -> float:
    return reading.now if reading.present and isfinite(reading.now) and reading.now > 0 else 0.0


def _bars(readings: Sequence[Reading], whole: float, size: Size, symbols: Symbols) -> list[Bar]:
    """A bar a part of the step; one without length for what lies inside a part, where there are rows enough.

    Where there are fewer rows than parts, the smallest parts become one.
    """
    top = [reading for reading in readings if not reading.timer.parent]
    room = max(size.height - _FIXED_ROWS, 2)
    with_children = room > len(readings)
    small = frozenset(r.timer.metric for r in sorted(top, key=_stacked)[: len(top) - room + 1] if len(top) > room)
    roles = {reading.timer.metric: SERIES_ROLES[i % len(SERIES_ROLES)] for i, reading in enumerate(top)}
    bars = []
    for reading in readings:
        parent = reading.timer.parent
        if reading.timer.metric in small:
            continue
        if not parent:
            bars.append(Bar(_name(reading), _stacked(reading), roles[reading.timer.metric], _detail(reading, whole)))
        elif with_children:
            corner = "  - " if symbols is Symbols.ASCII else "  └ "
            bars.append(Bar(corner + _name(reading), 0.0, Role.MUTED, _detail(reading, whole)))
    if small:
        seconds = sum(_stacked(reading) for reading in top if reading.timer.metric in small)
        bars.append(Bar(f"{len(small)} others", seconds, Role.MUTED, _plain_detail(seconds, whole)))
    return bars


def _name(reading: Reading) -> str:
    phase = reading.timer.phase
    return f"{phase.domain}: {phase.name}" if phase.domain else phase.name


def _detail(reading: Reading, whole: float) -> Row:
    share = format_fraction(reading.now / whole) if reading.present and whole > 0 else ""
    drift = "" if isnan(reading.drift) else signed_percent(reading.drift)
    role = Role.WARNING if reading.drift >= _SLOWER else Role.GOOD if reading.drift <= -_SLOWER else Role.MUTED
    return (
        (_seconds(reading.now), Role.VALUE if reading.present else Role.MUTED),
        (share, Role.TEXT),
        (drift, role),
        (_seconds(reading.p50), Role.MUTED),
        (_seconds(reading.p95), Role.MUTED),
        (_made_of(reading), Role.MUTED),
    )


def _plain_detail(seconds: float, whole: float) -> Row:
    share: Span = (format_fraction(seconds / whole) if whole > 0 else "", Role.TEXT)
    return ((format_duration(seconds), Role.VALUE), share, *[("", Role.MUTED)] * 4)


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


def _bottleneck(top: Sequence[Reading], readings: Sequence[Reading], whole: float, timed: bool) -> Row:
    """actor_train.train_step takes 61 % of a 96.6 s step, +38 % since step 200"""
    most = max(top, key=_stacked)
    taken = _stacked(most)
    if not taken or whole <= 0:
        return ()
    step = f"a {format_duration(whole)} step" if timed else f"{format_duration(whole)} of timed phases"
    said: list[Span] = [
        (_name(most), Role.ACCENT),
        (f" takes {format_fraction(taken / whole)} of {step}", Role.TEXT),
    ]
    inner = [reading for reading in readings if reading.timer.parent == most.timer.metric and reading.present]
    biggest = max(inner, key=_stacked, default=None)
    if biggest is not None and taken / 2 <= _stacked(biggest) <= taken:
        said.append((f", {format_fraction(_stacked(biggest) / taken)} of it in {_name(biggest)}", Role.TEXT))
    if abs(most.drift) >= 0.05:
        role = Role.WARNING if most.drift >= _SLOWER else Role.TEXT
        said.append((f", {signed_percent(most.drift)} since step {most.since}", role))
    return tuple(said)


def _note(whole: float, spent: float, timed: bool) -> str:
    if spent > whole * (1 + _OVERLAP):
        return f"the phases add up to {format_fraction(spent / whole)} of the step: some run at the same time"
    return "" if timed else "no timer of the whole step in the log: shares are of the phases' sum"


PANEL = PhaseLatency()
