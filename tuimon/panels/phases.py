"""Panels of the phases of a step: their durations in one step, and over the whole run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite, nan

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.change import LevelChange, change
from tuimon.analysis.printed_units import seconds_of
from tuimon.analysis.statistics import quantiles
from tuimon.draw.numbers import format_duration, format_fraction
from tuimon.model.views import SERIES_ROLES, Bar, BarView, ChartView, Role, Row, Size, Span, Symbols
from tuimon.panels._charts.axes import axis_word
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.panels._charts.traces import Series
from tuimon.panels._metrics import MetricReading, by_concept, curve_or_none, reading_drawn
from tuimon.panels._text import signed_percent
from tuimon.store import Curve, Run
from tuimon.store.arrays import median
from tuimon.vocabulary import Phase, is_nested, phase_of

RECENT = 100
"""Number of points for the median and the 95th percentile of a timer."""
SLOWER = 0.2
"""Relative drift at which a phase counts as slower."""
_SPARSE = 1.5
"""A timer is sparse if the distance of its points exceeds the usual distance by this factor."""


class Timer(Struct, frozen=True):
    """A timer of a whole phase, with its place in the tree."""

    metric: str
    phase: Phase
    parent: str
    """Metric of the enclosing timer; "" for a phase of the step."""
    parts: tuple[tuple[str, str], ...]
    """(part, metric) of its parts: execute, onload, offload."""


@lru_cache(maxsize=64)
def timers_of(metrics: tuple[str, ...]) -> tuple[Timer, ...]:
    """Return the timers among the metrics in the order of the step, each child directly after its parent."""
    phases = [(name, phase) for name in by_concept(metrics).get("time.phase", ()) if (phase := phase_of(name))]
    parts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    totals: dict[tuple[str, str], tuple[str, Phase]] = {}
    for name, phase in phases:
        key = (phase.domain, phase.name)
        if phase.part == "total":
            totals.setdefault(key, (name, phase))
        elif phase.part != "statistic":
            parts.setdefault(key, []).append((phase.part, name))
    enclosing = {
        name: [(other, outer) for other, outer in totals.values() if other != name and is_nested(phase, outer)]
        for name, phase in totals.values()
    }
    tree: dict[str, list[Timer]] = {}
    for key, (name, phase) in totals.items():
        # Of several enclosing timers the parent is the outermost, and of these the first in the step.
        parent = min(
            enclosing[name],
            key=lambda timer: (len(enclosing[timer[0]]), timer[1].order, timer[1].name),
            default=("", None),
        )[0]
        tree.setdefault(parent, []).append(Timer(name, phase, parent, tuple(parts.get(key, ()))))
    ordered: list[Timer] = []

    def add(parent: str) -> None:
        for timer in sorted(tree.pop(parent, ()), key=lambda timer: (timer.phase.order, timer.phase.name)):
            ordered.append(timer)
            add(timer.metric)

    add("")
    return tuple(ordered)


class TimerReading(Struct, frozen=True, eq=False):
    """A timer at the displayed step. Statistics are computed when they are asked for."""

    timer: Timer
    run: Run
    curve: Curve
    step: int
    end: int
    """Number of rows of the curve up to the step."""
    every: int
    """Steps between two points of a sparse timer; 0 if it is not sparse."""
    factor: float
    """Converts the values to seconds."""

    @property
    def name(self) -> str:
        """Name of the phase, with the domain if several are trained at once."""
        phase = self.timer.phase
        return f"{phase.domain}: {phase.name}" if phase.domain else phase.name

    @property
    def present(self) -> bool:
        """Whether the timer has a point at that step."""
        return self.end > 0 and int(self.curve.steps[self.end - 1]) == self.step

    @property
    def now(self) -> float:
        """Seconds at that step; the last known value for a sparse timer without a point there; NaN if unknown."""
        return float(self.curve.values[self.end - 1]) * self.factor if self.end else nan

    @property
    def spent(self) -> float:
        """Seconds that the phase took in the displayed step; 0 if it did not run."""
        return self.now if self.present and 0 < self.now < math.inf else 0.0

    @property
    def usual(self) -> tuple[float, float]:
        """Median and 95th percentile of the newest points (s); NaN if unknown."""
        recent = self.curve.values[max(self.end - RECENT, 0) : self.end]
        finite = recent[np.isfinite(recent)]
        p50, p95 = quantiles(finite, 0.5, 0.95) if len(finite) else (nan, nan)
        return p50 * self.factor, p95 * self.factor

    @property
    def drift(self) -> LevelChange | None:
        """Change since the start of the run, as logged; None if it is unknown."""
        moved = change(self.curve.values[: self.end], whole=True)
        return moved if moved is not None and isfinite(moved.ratio) else None

    @property
    def parts(self) -> dict[str, float]:
        """Part -> seconds at that step."""
        parts = {}
        for part, metric in self.timer.parts:
            inner = curve_or_none(self.run, metric)
            if inner is not None and self.end:
                at = self.curve.steps[self.end - 1]
                row = inner.row_after(int(at)) - 1
                if row >= 0 and inner.steps[row] == at and isfinite(inner.values[row]):
                    parts[part] = float(inner.values[row]) * seconds_of(self.run, metric)
        return parts


def read_timers(run: Run, cursor: int | None = None) -> tuple[int, tuple[TimerReading, ...]] | None:
    """Return (step, readings) for the newest step that all frequent timers have reached; None if there are no points.

    Sparse timers (a checkpoint every tenth step) keep their last value. cursor: step after which points are ignored;
    None for no such step.
    """
    every = [(timer, curve) for timer in timers_of(run.metrics) if (curve := curve_or_none(run, timer.metric))]
    ends = {timer.metric: len(curve) if cursor is None else curve.row_after(cursor) for timer, curve in every}
    curves = [(timer, curve) for timer, curve in every if ends[timer.metric]]
    if not curves:
        return None
    gaps = {timer.metric: _gap(curve) for timer, curve in curves}
    known = [gap for gap in gaps.values() if gap]
    usual = float(np.median(known)) if known else 0.0
    lasts = {timer.metric: int(curve.steps[ends[timer.metric] - 1]) for timer, curve in curves}
    newest = max(lasts.values())
    # the next point of a timer that has one so far may be due; one in the past ran once
    unknown = usual if cursor is None else math.inf
    frequent = [last for metric, last in lasts.items() if (gaps[metric] or unknown) <= usual * _SPARSE]
    step = min((last for last in frequent if last >= newest - 2 * usual), default=newest)
    readings = []
    for timer, curve in curves:
        gap, end = gaps[timer.metric], curve.row_after(step)
        sparse = round(gap / usual) if usual and gap > usual * _SPARSE else 0
        readings.append(TimerReading(timer, run, curve, step, end, sparse, seconds_of(run, timer.metric)))
    return step, tuple(readings)


def _gap(curve: Curve) -> float:
    """Return the median number of steps between two points; 0.0 if it is unknown."""
    gaps = np.diff(curve.steps[-RECENT:])
    gaps = gaps[gaps > 0]
    return median(gaps) if len(gaps) else 0.0


_UNATTRIBUTED = 0.005
"""Unattributed time below this fraction of a step is ignored as rounding."""
_OVERLAP = 0.01
"""Phases overlap if their sum exceeds the step by this fraction."""
_FIXED_ROWS = 5
"""Title, bar, table heading, sentence, note."""
_MORE_ROWS = 2
"""Unattributed time, and the second line of a long sentence."""


class PhaseLatency(Panel, frozen=True):
    """The phases of the newest step, or of that at the cursor: a stacked bar, a table, the bottleneck."""

    def relevant(self, run: Run) -> bool:
        """Whether the run has timers of several phases; a single one is drawn as a curve."""
        return len(timers_of(run.metrics)) > 1

    def fitted(self, run: Run) -> PhaseLatency:
        """Return the panel with only the rows that its phases can use. Charts get the rest."""
        return replace(self, rows=min(self.rows, _FIXED_ROWS + _MORE_ROWS + len(timers_of(run.metrics))))

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> BarView:
        """Return the newest complete step, at the cursor if there is one. Nested timers are in the table only."""
        cursor = options.cursor
        newest = read_timers(run, cursor)
        if newest is None:
            note = "no points yet" if cursor is None else f"no phase up to {axis_word(run, 'step')} {cursor}"
            return BarView(self.title, (), (), 0.0, note=note)
        step, readings = newest
        top = [reading for reading in readings if not reading.timer.parent]
        timed = sum(reading.spent for reading in top)
        step_time = step_seconds(run, step)
        whole = step_time if isfinite(step_time) and step_time > 0 else timed
        bars = _bars(readings, whole, size)
        if whole - timed > whole * _UNATTRIBUTED:
            rest = _detail(format_duration(whole - timed), Role.VALUE, (whole - timed) / whole)
            bars.append(Bar("unattributed", whole - timed, Role.MUTED, rest))
        place = f" at {axis_word(run, 'step')} {step}", Role.MUTED if cursor is None else Role.ACCENT
        headline: Row = ((format_duration(whole), Role.VALUE), place)
        sentence = _sentence(top, whole, "the step" if step_time > 0 else "the timed phases")
        columns = ("phase", "now" if cursor is None else "then", "share", "drift", "p50", "p95", "")
        note = _note(whole, timed, step_time > 0)
        return BarView(self.title, headline, tuple(bars), max(whole, timed), columns, sentence, note)


def _sentence(readings: Sequence[TimerReading], whole: float, name: str) -> Row:
    """Return "gen takes 29 % of the step", the phase that takes most. whole: seconds of what is called `name`."""
    most = max(readings, key=lambda reading: reading.spent, default=None)
    if most is None or not most.spent or whole <= 0:
        return ()
    return (most.name, Role.ACCENT), (f" takes {format_fraction(most.spent / whole)} of {name}", Role.TEXT)


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


def _bars(readings: Sequence[TimerReading], whole: float, size: Size) -> list[Bar]:
    """Return a bar for each phase of the step, and bars without length for nested timers if there are enough rows."""
    with_children = size.height - _FIXED_ROWS > len(readings)
    bars: list[Bar] = []
    phases = 0
    for reading in readings:
        if not reading.timer.parent:
            role = SERIES_ROLES[phases % len(SERIES_ROLES)]
            bars.append(Bar(reading.name, reading.spent, role, _detail_of(reading, whole)))
            phases += 1
        elif with_children:
            bars.append(Bar(f"  └ {reading.name}", 0.0, Role.MUTED, _detail_of(reading, whole)))
    return bars


def _detail_of(reading: TimerReading, whole: float) -> Row:
    share = reading.now / whole if reading.present and whole > 0 else nan
    role = Role.VALUE if reading.present else Role.MUTED
    texts = (*map(_seconds, reading.usual), _parts_text(reading))
    return _detail(_seconds(reading.now), role, share, _drift_span(reading), texts)


def _detail(
    now: str, role: Role, share: float, drift: Span = ("", Role.MUTED), texts: Sequence[str] = ("", "", "")
) -> Row:
    """Return the cells of a row: the duration, its share of the step, its drift, and other texts."""
    part = format_fraction(share) if isfinite(share) else ""
    return ((now, role), (part, Role.TEXT), drift, *((text, Role.MUTED) for text in texts))


def _drift_span(reading: TimerReading) -> Span:
    """Return the drift of a phase, coloured if it is notable and noise does not explain it."""
    drift = reading.drift
    if drift is None:
        return "", Role.MUTED
    if abs(drift.ratio) < SLOWER:
        return signed_percent(drift.ratio), Role.MUTED
    role = {"rising": Role.WARNING, "falling": Role.GOOD}.get(drift.direction, Role.MUTED)
    return signed_percent(drift.ratio), role


def _seconds(seconds: float) -> str:
    return format_duration(seconds) if isfinite(seconds) else "NaN"


def _parts_text(reading: TimerReading) -> str:
    """Return how often a sparse timer ran, else the parts of the operation."""
    if reading.every > 1:
        return f"every {reading.every} steps"
    parts = reading.parts if reading.now > 0 else {}
    return " ".join(f"{part} {format_fraction(value / reading.now)}" for part, value in parts.items())


def _note(whole: float, spent: float, timed: bool) -> str:
    if spent > whole * (1 + _OVERLAP):
        return f"the phases add up to {format_fraction(spent / whole)} of the step: some run at the same time"
    return "" if timed else "no timer of the whole step in the log: shares are of the phases' sum"


class PhaseHistory(Panel, frozen=True):
    """Duration of the phases over the whole run."""

    def relevant(self, run: Run) -> bool:
        """Whether the run has timers of several phases of the step."""
        return sum(not timer.parent for timer in timers_of(run.metrics)) > 1

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return a line for each phase, in the order and colours of the phase latency."""
        timers = [timer for timer in timers_of(run.metrics) if not timer.parent]
        series = [Series(((run, _in_seconds(run, timer.metric)),), timer.phase.name) for timer in timers]
        return chart_of(run, self.title, series, size, symbols, options, panel=self.id)


def _in_seconds(run: Run, metric: str) -> MetricReading | None:
    """Return a timer in seconds, whatever unit its log has; None without points."""
    reading = reading_drawn(run, metric)
    if reading is None:
        return None
    return replace(reading, factor=seconds_of(run, metric), meaning=replace(reading.meaning, unit="s"))


PANELS = (
    PhaseLatency("phase_latency", "phase latency", 40, ("time.phase",), kind="bars", rows=14),
    PhaseHistory("phase_history", "phase history", 96, kind="chart"),
)
