"""Panels of the phases of a step: their durations in one step, and over the whole run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import isfinite, nan

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.change import change
from tuimon.analysis.printed_units import seconds_of
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.statistics import quantiles
from tuimon.analysis.timers import Timer, step_timer, timer_tree
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import x_limits, y_limits
from tuimon.draw.numbers import format_duration, format_fraction, thousands
from tuimon.model.points import Floats
from tuimon.model.views import (
    SERIES_ROLES,
    Axis,
    Bar,
    BarView,
    ChartView,
    Envelope,
    Line,
    Role,
    Row,
    Size,
    Span,
    Symbols,
)
from tuimon.panels._charts.axes import axis_word, cursor_x, x_label
from tuimon.panels._charts.marks import marks_of
from tuimon.panels._charts.options import DEFAULTS, X_KINDS, ChartOptions
from tuimon.panels._charts.traces import scaled
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.panels._text import plural, signed_percent
from tuimon.store import Curve, Run
from tuimon.store.arrays import median

RECENT = 100
"""Number of points for the median, the 95th percentile and the recent drift of a timer."""
_SAME_PACE = 1.15
"""Ratio up to which the median of a timer and the pace in the header agree."""
SLOWER = 0.2
"""Relative drift at which a phase counts as slower."""
_SPARSE = 1.5
"""A timer is sparse if the distance of its points exceeds the usual distance by this factor."""


def timers_of(metrics: tuple[str, ...]) -> tuple[Timer, ...]:
    """Return the timers among the metrics in the order of the step, each child directly after its parent."""
    return timer_tree(by_concept(metrics).get("time.phase", ()))


def differing_timer(run: Run) -> float:
    """Return the median seconds of a step by its timer if the pace in the header, which is by the wall times of the
    same points, is another; else NaN."""
    pace, timer = progress_inputs(run).pace, step_timer(run)
    if pace is None or timer is None or timer.finite_count < len(timer):
        return nan
    usual = median(timer.values[-RECENT:]) * seconds_of(run, timer.metric)
    return usual if usual > 0 and not 1 / _SAME_PACE <= pace.mean_seconds / usual <= _SAME_PACE else nan


class Drift(Struct, frozen=True):
    """Change of the duration of a phase, from the first to the last tenth of some points."""

    ratio: float
    """Relative change; 0.38 is 38 % longer."""
    sure: bool
    """Whether noise does not explain the change."""
    before: float
    """Level (s) at the beginning."""
    points: int = 0
    """Number of newest points that were compared; 0 for all since the start."""

    @property
    def is_slower(self) -> bool:
        """Whether the phase has become notably slower."""
        return self.sure and self.ratio >= SLOWER

    @property
    def period(self) -> str:
        """Words for what was compared: "since the start"."""
        return f"within the last {self.points} points" if self.points else "since the start"

    @property
    def longer(self) -> float:
        """Seconds by which the phase has become longer."""
        return self.before * self.ratio


class TimerReading(Struct, frozen=True, eq=False):
    """A timer at the displayed step. Statistics are computed when they are asked for."""

    timer: Timer
    run: Run
    curve: Curve
    step: int
    end: int
    """Number of rows of the curve up to the step."""
    every: int
    """Steps between two points of a sparse timer; 0 if not sparse, -1 if it ran once, before the displayed step."""
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
    def drifts(self) -> tuple[Drift | None, Drift | None]:
        """Change since the start of the run and over the last hundred points; None if there are too few points."""
        return self._drift(0), self._drift(RECENT) if self.end > RECENT else None

    def _drift(self, points: int) -> Drift | None:
        """Return the change of the newest points, all with 0; None if it is unknown."""
        moved = change(self.curve.values[self.end - points if points else 0 : self.end], whole=True)
        if moved is None or not isfinite(moved.ratio):
            return None
        return Drift(moved.ratio, moved.direction in ("rising", "falling"), moved.before * self.factor, points)

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
        reading = TimerReading(timer, run, curve, step, end, sparse, seconds_of(run, timer.metric))
        once = usual and gap == 0.0 and not reading.present
        readings.append(replace(reading, every=-1) if once else reading)
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
_NOTABLE = 0.05
"""Part of a step by which a phase must have become longer to be named."""
_FIXED_ROWS = 5
"""Title, bar, table heading, sentence, note."""
_MORE_ROWS = 2
"""Unattributed time, and the second line of a long sentence."""


class PhaseLatency(Struct, frozen=True):
    """The phases of the newest step, or of that at the cursor: a stacked bar, a table, the bottleneck."""

    id: str = "phase_latency"
    title: str = "phase latency"
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
            return BarView(self.title, (), (), 0.0, note=note)
        step, readings = newest
        top = [reading for reading in readings if not reading.timer.parent]
        timed = sum(reading.spent for reading in top)
        step_time = step_seconds(run, step)
        whole = step_time if isfinite(step_time) and step_time > 0 else timed
        hundred = any(reading.end > RECENT for reading in readings)
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
        return BarView(self.title, headline, tuple(bars), max(whole, timed), columns, sentence, note)


def _sentence(readings: Sequence[TimerReading], whole: float, name: str) -> Row:
    """Return "gen takes 29 % of the step; reward +12 s a step since the start".

    The phase that takes most of the step, and the one that has become longer by most seconds, if these are _NOTABLE.
    whole: seconds of the step, which has this name.
    """
    most = max(readings, key=lambda reading: reading.spent, default=None)
    if most is None or not most.spent or whole <= 0:
        return ()
    spans = [(most.name, Role.ACCENT), (f" takes {format_fraction(most.spent / whole)} of {name}", Role.TEXT)]
    drifts = [(reading, drift) for reading in readings for drift in reversed(reading.drifts) if drift]
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
    parts = reading.parts
    onload, offload = parts.get("onload", 0.0), parts.get("offload", 0.0)
    if onload + offload <= 0 or onload + offload > reading.spent:
        return (begin, end)
    return (begin, begin + onload, end - offload, end)


def _detail(reading: TimerReading, whole: float, hundred: bool) -> Row:
    share = format_fraction(reading.now / whole) if reading.present and whole > 0 else ""
    (drift, recent), (p50, p95) = reading.drifts, reading.usual
    return (
        (_seconds(reading.now), Role.VALUE if reading.present else Role.MUTED),
        (share, Role.TEXT),
        _drift_span(drift),
        *((_drift_span(recent),) if hundred else ()),
        (_seconds(p50), Role.MUTED),
        (_seconds(p95), Role.MUTED),
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
    parts = reading.parts if reading.now > 0 else {}
    return " ".join(f"{part} {format_fraction(value / reading.now)}" for part, value in parts.items())


def _note(whole: float, spent: float, timed: bool) -> str:
    if spent > whole * (1 + _OVERLAP):
        return f"the phases add up to {format_fraction(spent / whole)} of the step: some run at the same time"
    return "" if timed else "no timer of the whole step in the log: shares are of the phases' sum"


def _other_pace(run: Run, timer: float) -> str:
    """Return a note about the pace in the header; timer: the usual one by the timers if it differs, else NaN."""
    pace = progress_inputs(run).pace
    if pace is None or not isfinite(timer):
        return ""
    return f"timer: {format_duration(timer)} a step; pace: {format_duration(pace.mean_seconds)}"


_MOST_LAYERS = 7
_LONGEST = 1e12
"""Longest plausible duration (s); larger values are clipped."""


class PhaseHistory(Struct, frozen=True):
    """Duration of the phases over the whole run, as layers of a stacked area."""

    id: str = "phase_history"
    title: str = "phase history"
    order: int = 96
    kind: str = "chart"
    rows: int = 0

    def relevant(self, run: Run) -> bool:
        """Whether the run has timers of several phases of the step."""
        return sum(not timer.parent for timer in timers_of(run.metrics)) > 1

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return the stacked durations; a column has the last value of each phase, and a line marks higher values.

        The layers have the order and colours of the phase latency. If there are more than seven phases, the smallest
        are merged into one layer.
        """
        named = [(timer.phase.name, timer.metric) for timer in timers_of(run.metrics) if not timer.parent]
        curves = [(name, curve) for name, metric in named if (curve := curve_or_none(run, metric)) is not None]
        axis = options.axis_of(run)
        along = run.scale(axis)
        kind = X_KINDS.get(axis, "number")
        spans = [span for _, curve in curves if (span := curve.limits(along)) is not None]
        if not spans:
            return ChartView(self.title, (), Axis(0.0, 1.0, kind=kind), Axis(0.0, 1.0), (), notes=("no points yet",))
        first, last = min(a for a, _ in spans), max(b for _, b in spans)
        low, high = options.window.limits(last, kind) if options.window is not None else x_limits(first, last, kind)
        columns = plot_columns(max(size.width, 1), symbols)
        measured = [
            scaled(curve.envelope(low, high, columns, along), seconds_of(run, curve.metric)) for _, curve in curves
        ]
        clock = max(range(len(curves)), key=lambda i: len(curves[i][1]))
        steps = np.cumsum(np.isfinite(measured[clock].last))
        lasts = [(name, _hold(envelope.last, steps)) for (name, _), envelope in zip(curves, measured, strict=True)]
        layers = _merge_smallest(lasts)
        lines, top = _stack(layers)
        peak = top + np.fmax.reduce([_excess(envelope, steps) for envelope in measured])
        lines.append(Line("", Role.MUTED, _flat(np.where(peak > top * 1.001, peak, np.nan))))
        y_low, y_high = y_limits([_flat(np.append(peak, 0.0))], "linear")
        y_low, y_high = options.fixed_limits(self.id) or (min(y_low, 0.0), y_high)
        densest = curves[clock][1]
        marks = marks_of(run, [densest], along, low, high, columns, ())
        return ChartView(
            self.title,
            _headline(run, options.cursor),
            Axis(low, high, kind=kind, label=x_label(axis, low, high, options.axis_named)),
            Axis(y_low, y_high, label="s"),
            tuple(lines),
            marks,
            _notes(densest, measured[clock]),
            columns,
            cursor=cursor_x(run, along, densest, options),
            extent=(first, last),
        )


def _hold(values: Floats, steps: np.ndarray) -> Floats:
    """Hold the values of columns until the next step; 0 if the phase did not run, NaN outside the run's steps.

    steps: int (columns,), number of columns with a step so far. The last step is as wide as the one before it.
    """
    known = np.flatnonzero(np.isfinite(values))
    by_step = np.zeros(int(steps[-1]) + 1) if len(steps) else np.zeros(1)
    by_step[steps[known]] = np.clip(values[known], 0.0, _LONGEST)
    starts = np.flatnonzero(np.diff(steps, prepend=0))
    end = 2 * starts[-1] - starts[-2] if len(starts) > 1 else len(steps)
    inside = (steps > 0) & (np.arange(len(steps)) < end)
    return np.where(inside, by_step[steps], np.nan)


def _excess(envelope: Envelope, steps: np.ndarray) -> Floats:
    """Return the excess of the highest value of each column over its last value."""
    return np.nan_to_num(_hold(envelope.high, steps) - _hold(envelope.last, steps))


def _merge_smallest(layers: Sequence[tuple[str, Floats]]) -> list[tuple[str, Role, Floats]]:
    """Return (name, role, values) of at most seven layers; the smallest ones are summed up."""
    roles = [SERIES_ROLES[i % len(SERIES_ROLES)] for i in range(len(layers))]
    coloured = [(name, role, values) for (name, values), role in zip(layers, roles, strict=True)]
    if len(layers) <= _MOST_LAYERS:
        return coloured
    by_size = sorted(range(len(layers)), key=lambda i: -float(np.nansum(layers[i][1])))
    kept, rest = sorted(by_size[: _MOST_LAYERS - 1]), by_size[_MOST_LAYERS - 1 :]
    others = np.sum([layers[i][1] for i in rest], axis=0)
    return [*(coloured[i] for i in kept), (f"{len(rest)} others", Role.MUTED, others)]


def _stack(layers: Sequence[tuple[str, Role, Floats]]) -> tuple[list[Line], Floats]:
    """Return a filled line for each layer, and the sum of the layers."""
    lines: list[Line] = []
    base = np.zeros(len(layers[0][2]))
    for name, role, values in layers:
        top = base + values
        lines.append(Line(name, role, Envelope(base, top, base, top, np.zeros(len(base))), filled=True))
        base = top
    return lines, base


def _flat(values: Floats) -> Envelope:
    gaps = np.ones(len(values))
    return Envelope(values, values, values, values, gaps)


def _headline(run: Run, cursor: int | None) -> Row:
    """Return the duration of the newest step, or of that at the cursor, as the phase latency has it."""
    timed = read_timers(run, cursor)
    if timed is None:
        return ()
    step, readings = timed
    whole = step_seconds(run, step)
    seconds = sum(reading.spent for reading in readings if not reading.timer.parent)
    measured = whole > 0
    words = (" a step" if cursor is None else "") if measured else " timed"
    place = f" @ {step}" if cursor is not None else ""
    duration = format_duration(whole if measured else seconds)
    return tuple(span for span in ((duration, Role.VALUE), (words, Role.MUTED), (place, Role.ACCENT)) if span[0])


def _notes(curve: Curve, envelope: Envelope) -> tuple[str, ...]:
    shown = int(np.isfinite(envelope.last).sum())
    if shown >= curve.finite_count:
        return ()
    return f"{thousands(shown)} of {plural(curve.finite_count, 'step')}", "line: maximum"


PANELS = (PhaseLatency(), PhaseHistory())
