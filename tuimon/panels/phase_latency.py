"""Duration of the phases of the newest step, or of that at the cursor: a stacked bar, a table, the bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.printed_units import seconds_of
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.draw.numbers import format_duration, format_fraction
from tuimon.model.views import SERIES_ROLES, Bar, BarView, Role, Row, Size, Span, Symbols
from tuimon.panels._charts.axes import axis_word
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.panels._text import signed_percent
from tuimon.panels._timers import SLOWER, Drift, TimerReading, differing_timer, read_timers, timers_of
from tuimon.store import Run

TITLE = "phase latency"
_UNATTRIBUTED = 0.005
"""Unattributed time below this fraction of a step is ignored as rounding."""
_OVERLAP = 0.01
"""Phases overlap if their sum exceeds the step by this fraction."""
_NOTABLE = 0.05
"""Part of a step by which a phase must have become longer to be named."""
_FIXED_ROWS = 5
"""Title, bar, table heading, sentence, note."""
_MORE_ROWS = 2
"""Unattributed time, and the second line of a long sentence."""


class PhaseLatency(Struct, frozen=True):
    id: str = "phase_latency"
    title: str = TITLE
    order: int = 40
    kind: str = "bars"
    rows: int = 14
    concepts: tuple[str, ...] = ("time.phase",)

    def relevant(self, run: Run) -> bool:
        """Whether the run has timers of several phases; a single one is drawn as a curve."""
        return len(timers_of(run.metrics)) > 1

    def fitted(self, run: Run) -> PhaseLatency:
        """Return the panel with only the rows that the run's phases can use; charts get the rest."""
        return replace(self, rows=min(self.rows, _FIXED_ROWS + _MORE_ROWS + len(timers_of(run.metrics))))

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> BarView:
        """Return the newest complete step, at the cursor if there is one. Nested timers are in the table only."""
        cursor = options.cursor
        newest = read_timers(run, cursor)
        if newest is None:
            note = "no points yet" if cursor is None else f"no phase up to {axis_word(run, 'step')} {cursor}"
            return BarView(TITLE, (), (), 0.0, note=note)
        step, readings = newest
        top = [reading for reading in readings if not reading.timer.parent]
        timed = sum(reading.spent for reading in top)
        step_time = step_seconds(run, step)
        whole = step_time if isfinite(step_time) and step_time > 0 else timed
        hundred = any(reading.recent_drift for reading in readings)
        bars = _bars(readings, whole, size, symbols, hundred)
        if whole - timed > whole * _UNATTRIBUTED:
            rest = _plain_detail(whole - timed, whole, hundred)
            bars.append(Bar("unattributed", whole - timed, Role.MUTED, rest, (timed, whole)))
        place = f" at {axis_word(run, 'step')} {step}", Role.MUTED if cursor is None else Role.ACCENT
        headline: Row = ((format_duration(whole), Role.VALUE), place)
        timer = differing_timer(run) if step_time > 0 and cursor is None else nan  # compares the newest steps
        sentence = _sentence(top, whole, "the step" if step_time > 0 else "the timed phases")
        columns = (
            "phase",
            "now" if cursor is None else "then",
            "share",
            "drift",
            *(("last 100",) if hundred else ()),
            "p50",
            "p95",
            "",
        )
        note = "; ".join(filter(None, (_note(whole, timed, step_time > 0), _other_pace(run, timer))))
        return BarView(TITLE, headline, tuple(bars), max(whole, timed), columns, sentence, note)


def _sentence(readings: Sequence[TimerReading], whole: float, name: str) -> Row:
    """Return "gen takes 29 % of the step; reward +12 s a step since the start".

    The phase that takes most of the step, and the one that has become longer by most seconds, if these are _NOTABLE.
    whole: seconds of the step, which has this name.
    """
    most = max(readings, key=lambda reading: reading.spent, default=None)
    if most is None or not most.spent or whole <= 0:
        return ()
    spans = [(most.name, Role.ACCENT), (f" takes {format_fraction(most.spent / whole)} of {name}", Role.TEXT)]
    drifts = [(reading, drift) for reading in readings for drift in (reading.recent_drift, reading.drift) if drift]
    longer = [(reading, drift) for reading, drift in drifts if drift.is_slower and drift.longer >= _NOTABLE * whole]
    if longer:
        reading, drift = max(longer, key=lambda change: change[1].longer)
        spans += [(", ", Role.TEXT)] if reading is most else [("; ", Role.TEXT), (f"{reading.name} ", Role.ACCENT)]
        spans.append((f"+{format_duration(drift.longer)} a step {drift.period}", Role.WARNING))
    return tuple(spans)


def step_seconds(run: Run, step: int) -> float:
    """Return the duration of a step in seconds by the run's own timer of whole steps; NaN if it is unknown.

    ROLL's RLVR pipeline logs the time of the previous step, and 0 at the first: it is read one point later, and is
    unknown for the newest step.
    """
    for metric in by_concept(run.tracked_metrics).get("time.step", ()):
        curve = curve_or_none(run, metric)
        if curve is None:
            continue
        index = int(np.searchsorted(curve.steps, step, "right")) - 1
        if index < 0 or int(curve.steps[index]) != step:
            continue
        if curve.values[0] == 0:
            index += 1
        if index < len(curve) and isfinite(curve.values[index]) and curve.values[index] > 0:
            return float(curve.values[index]) * seconds_of(run, metric)
    return nan


def _bars(readings: Sequence[TimerReading], whole: float, size: Size, symbols: Symbols, hundred: bool) -> list[Bar]:
    """Return a bar for each phase of the step, and bars without length for nested timers if there are enough rows.

    In the waterfall each phase begins at the end of the previous one: logs have only durations, the order is the
    vocabulary's.
    """
    top = [reading for reading in readings if not reading.timer.parent]
    with_children = size.height - _FIXED_ROWS > len(readings)
    roles = {reading.timer.metric: SERIES_ROLES[i % len(SERIES_ROLES)] for i, reading in enumerate(top)}
    bars = []
    begin = inside = 0.0
    for reading in readings:
        name, detail = reading.name, _detail(reading, whole, hundred)
        if not reading.timer.parent:
            bars.append(Bar(name, reading.spent, roles[reading.timer.metric], detail, _edges(reading, begin)))
            inside, begin = begin, begin + reading.spent
        elif with_children:
            corner = "  - " if symbols is Symbols.ASCII else "  └ "
            bars.append(Bar(corner + name, 0.0, Role.MUTED, detail, _edges(reading, inside)))
            inside += reading.spent if reading.timer.parent in roles else 0.0
    return bars


def _edges(reading: TimerReading, begin: float) -> tuple[float, ...]:
    """Return (start, end) of a phase in the step; (start, end of onload, start of offload, end) if these are timed."""
    end = begin + reading.spent
    if end == begin:
        return ()
    onload, offload = reading.parts.get("onload", 0.0), reading.parts.get("offload", 0.0)
    if onload + offload <= 0 or onload + offload > reading.spent:
        return (begin, end)
    return (begin, begin + onload, end - offload, end)


def _detail(reading: TimerReading, whole: float, hundred: bool) -> Row:
    share = format_fraction(reading.now / whole) if reading.present and whole > 0 else ""
    return (
        (_seconds(reading.now), Role.VALUE if reading.present else Role.MUTED),
        (share, Role.TEXT),
        _drift_span(reading.drift),
        *((_drift_span(reading.recent_drift),) if hundred else ()),
        (_seconds(reading.p50), Role.MUTED),
        (_seconds(reading.p95), Role.MUTED),
        (_parts_text(reading), Role.MUTED),
    )


def _drift_span(drift: Drift | None) -> Span:
    """Return a drift, coloured if it is significant."""
    if drift is None:
        return "", Role.MUTED
    good = drift.sure and drift.ratio <= -SLOWER
    return signed_percent(drift.ratio), Role.WARNING if drift.is_slower else Role.GOOD if good else Role.MUTED


def _plain_detail(seconds: float, whole: float, hundred: bool) -> Row:
    share: Span = (format_fraction(seconds / whole) if whole > 0 else "", Role.TEXT)
    return ((format_duration(seconds), Role.VALUE), share, *[("", Role.MUTED)] * (4 + hundred))


def _seconds(seconds: float) -> str:
    return format_duration(seconds) if isfinite(seconds) else "NaN"


def _parts_text(reading: TimerReading) -> str:
    """Return how often a sparse timer ran, else the parts of the operation."""
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


def _other_pace(run: Run, timer: float) -> str:
    """Return a note about the pace in the header; timer: the usual one by the timers if it differs, else NaN."""
    cadence = progress_inputs(run).cadence
    if cadence is None or not isfinite(timer):
        return ""
    return f"timer: {format_duration(timer)} a step; pace: {format_duration(cadence.mean_seconds)}"


PANEL = PhaseLatency()
