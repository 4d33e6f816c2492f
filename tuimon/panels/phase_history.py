"""Duration of the phases over the whole run, as layers of a stacked area."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.analysis.printed_units import seconds_of
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import x_limits, y_limits
from tuimon.draw.numbers import format_duration, thousands
from tuimon.model.points import Floats
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Role, Row, Size, Symbols
from tuimon.panels._charts.axes import cursor_x, x_label
from tuimon.panels._charts.marks import marks_of
from tuimon.panels._charts.options import DEFAULTS, X_KINDS, ChartOptions
from tuimon.panels._charts.traces import scaled
from tuimon.panels._metrics import curve_or_none
from tuimon.panels._text import plural
from tuimon.panels._timers import timed_seconds, timers_of
from tuimon.panels.phase_latency import step_seconds
from tuimon.store import Curve, Run

TITLE = "phase history"
_MOST_LAYERS = 7
_LONGEST = 1e12
"""Longest plausible duration (s); larger values are clipped."""


class PhaseHistory(Struct, frozen=True):
    id: str = "phase_history"
    title: str = TITLE
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
            return ChartView(TITLE, (), Axis(0.0, 1.0, kind=kind), Axis(0.0, 1.0), (), notes=("no points yet",))
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
            TITLE,
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
    timed = timed_seconds(run, cursor)
    if timed is None:
        return ()
    step, seconds = timed
    whole = step_seconds(run, step)
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


PANEL = PhaseHistory()
