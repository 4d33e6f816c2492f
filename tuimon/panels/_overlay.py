"""One metric of several runs on one chart, each run in its own colour and with its own sign."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from tuimon.analysis.comparing import common_step, telling_names
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import x_limits
from tuimon.draw.numbers import format_value, thousands
from tuimon.draw.rows import row_width
from tuimon.model.points import Floats
from tuimon.model.views import Axis, ChartView, Envelope, Line, Mark, Role, Row, Rows, Size, Symbols
from tuimon.panels._chart import X_KINDS, averaged, cursor_of, named, x_label
from tuimon.panels._details import Detail, details_of
from tuimon.panels._headline import reading as read_at
from tuimon.panels._look import Look
from tuimon.panels._marks import marks_of, restarts_of
from tuimon.panels._milestones import milestones, told
from tuimon.panels._notes import points_shown
from tuimon.panels._over import Over
from tuimon.panels._ranges import y_axis
from tuimon.panels._reading import Reading, difference
from tuimon.panels._text import plural, signed
from tuimon.panels._traces import filled, scaled, smoothed
from tuimon.store import Run, Scale
from tuimon.text import cell_width, clean, fit

MOST = 32
"""Lines on a chart; of the runs beyond it the note tells."""
_BESIDE_LABEL = 4
"""Cells that a label of the legend takes beside its own: the glyph, and blanks."""
_LEAST_LABEL = 4


class _Drawn(Struct, frozen=True):
    """A line, and what it is made of: a reading and its place on the axis for each of its runs that has one."""

    over: Over
    runs: tuple[Run, ...]
    readings: tuple[Reading, ...]
    scales: tuple[Scale, ...]
    spans: tuple[tuple[float, float], ...]

    def value_at(self, step: int | None) -> float:
        """The mean of those of its runs that have a value at a step; None: the last that all have reached, or else
        their last ones. NaN where none is finite."""
        curves = [one.curve for one in self.readings]
        if step is None and len(curves) == 1:
            return self.readings[0].last
        if step is None:
            step = common_step(curves)
        values = [
            (one.curve.value_at(step) if step is not None else float(one.curve.values[-1])) * one.factor
            for one in self.readings
            if step is None or one.curve.steps[0] <= step <= one.curve.steps[-1]
        ]
        known = [value for value in values if math.isfinite(value)]
        return float(np.mean(known)) if known else math.nan


def overlay_of(
    shown: Run,
    title: str,
    lines: Sequence[tuple[Over, Sequence[tuple[Run, Reading | None]]]],
    size: Size,
    symbols: Symbols,
    scale: str,
    look: Look,
    panel: str,
    base: Reading | None = None,
    concepts: Sequence[str] = (),
) -> ChartView:
    """A chart of one metric over several runs, the first of which is shown; a run without it has no line.

    Runs are laid over each other along the axis of the look: by step, by time since each began, by tokens … There is no
    headline: the legend has a value for each. What happened is marked of the run that is shown, and where the base was
    restarted; the marks of all would say nothing.
    """
    axis = look.axis_of(shown)
    drawn: list[_Drawn] = []
    without = 0
    for over, readings in lines:
        found = [_placed(run, reading, axis) for run, reading in readings]
        known = [one for one in found if one is not None]
        without += len(found) - len(known)
        if known:
            drawn.append(_Drawn(over, *zip(*known, strict=True)))
    kind = X_KINDS.get(axis, "number")
    if not drawn:
        return ChartView(title, (), Axis(0.0, 1.0, kind=kind), Axis(0.0, 1.0), (), note="no points yet")
    left, drawn = max(len(drawn) - MOST, 0), drawn[:MOST]
    first = min(low for one in drawn for low, _ in one.spans)
    last = max(high for one in drawn for _, high in one.spans)
    low, high = x_limits(first, last, kind) if look.window is None else look.window.limits(last, kind)
    columns = plot_columns(max(size.width, 1), symbols)
    behind: list[Line] = []
    front: list[Line] = []
    block, seen, inside = 1, 0, 0
    title = named(title, panel, look, symbols)
    headline: Row = ((f"step {look.cursor}", Role.ACCENT),) if look.cursor is not None else ()
    labels = _labels(drawn, size.width - cell_width(clean(title)) - row_width(headline), look, base)
    for one, label in zip(drawn, labels, strict=True):
        each, blocks = zip(*_envelopes(one, low, high, columns, look), strict=True)
        block = max(block, *blocks)
        seen += sum(points_shown(envelope) for envelope in each)
        inside += sum(
            reading.curve.points_inside(low, high, along)
            for reading, along in zip(one.readings, one.scales, strict=True)
        )
        mean = each[0]
        if len(each) > 1:
            mean, band = together(each)
            behind.append(Line("", Role.FAINT, band, filled=True, behind=True))
        front.append(Line(label, one.over.role, mean, metric=one.readings[0].metric, glyph=one.over.sign))
    lead = drawn[0].readings[0]
    envelopes = [line.envelope for line in (*behind, *front)]
    curves = [reading.curve for one in drawn for reading in one.readings]
    note = _note(drawn, left, without, "" if look.weight else _thinned(seen, inside))
    marks, below = _marks(drawn, shown, look, (low, high, columns), concepts, symbols)
    return ChartView(
        title,
        headline,
        Axis(low, high, kind=kind, label=x_label(axis, low, high)),
        y_axis(panel, scale, curves, envelopes, None, look, ""),
        (*behind, *front),
        marks,
        note=", ".join(filter(None, [averaged(look, block), note])),
        columns=columns,
        cursor=cursor_of(shown, drawn[0].scales[0], lead.curve, look),
        extent=(first, last),
        table=(*details_of(list(_details(drawn)), symbols, look.cursor, size.width), *below) if look.alone else (),
    )


def _marks(
    drawn: Sequence[_Drawn],
    shown: Run,
    look: Look,
    place: tuple[float, float, int],
    concepts: Sequence[str],
    symbols: Symbols,
) -> tuple[tuple[Mark, ...], Rows]:
    """(marks, what those mean that are there only where the chart has the screen to itself). place: the limits of x,
    and the columns between them."""
    marks: list[Mark] = []
    below: Rows = ()
    for one in drawn:
        for run, reading, along in zip(one.runs, one.readings, one.scales, strict=True):
            if run.id == shown.id:
                marks += marks_of(run, [reading.curve], along, *place, concepts)
                if look.alone:
                    marks += milestones(run, [reading.metric], along, *place)
                    meaning = told(run, look.cursor, symbols)
                    below = (((f"{one.over.sign} ", one.over.role), *meaning),) if meaning else ()
            elif look.base is not None and run.id == look.base.id:
                marks += restarts_of(run, [reading.curve], along, *place[:2], whose="base ")
    return tuple(marks), below


def _details(drawn: Sequence[_Drawn]) -> Iterator[Detail]:
    """A row a run, those that are drawn as one below each other."""
    for one in drawn:
        names = telling_names([run.name for run in one.runs]) if len(one.runs) > 1 else (one.over.label,)
        for run, name, reading in zip(one.runs, names, one.readings, strict=True):
            yield Detail(run, name, one.over.role, reading.metric, reading.curve, reading.factor, one.over.sign)


def _placed(run: Run, reading: Reading | None, axis: str) -> tuple[Run, Reading, Scale, tuple[float, float]] | None:
    """None for a run without the metric, or of which no point has a place on the axis."""
    if reading is None or (axis not in ("step", "relative step") and axis not in run.axes()):
        return None
    # A run that begins at its first step counts as relative steps what it counts as steps.
    along = run.scale(axis) if axis in run.axes() else Scale(axis)
    span = reading.curve.limits(along)
    return (run, reading, along, span) if span is not None else None


def _envelopes(one: _Drawn, low: float, high: float, columns: int, look: Look) -> list[tuple[Envelope, int]]:
    found = []
    for reading, along in zip(one.readings, one.scales, strict=True):
        if look.weight:
            found.append(smoothed(reading.curve, look.weight, low, high, columns, along, reading.factor))
        else:
            found.append((scaled(reading.curve.envelope(low, high, columns, along), reading.factor), 1))
    return found


def together(each: Sequence[Envelope]) -> tuple[Envelope, Envelope]:
    """(mean, band) of several runs by column: the mean of the last values of those that have come so far, and from the
    lowest to the highest value of any. Where a run has no point in a column it is taken to lie between its neighbours.
    """
    lasts = _stacked([one.last for one in each])
    lows, highs = _stacked([one.low for one in each]), _stacked([one.high for one in each])
    counts = np.isfinite(lasts).sum(axis=0)
    known = counts > 0
    mean, least, most = (np.full(len(known), np.nan) for _ in range(3))
    scale = np.nanmax(np.abs(lasts)) or 1.0 if known.any() else 1.0  # sums of large values stay finite
    mean[known] = np.nansum(lasts[:, known] / scale, axis=0) / counts[known] * scale
    least[known], most[known] = np.nanmin(lows[:, known], axis=0), np.nanmax(highs[:, known], axis=0)
    none, gaps = np.zeros(len(known)), np.ones(len(known))
    return Envelope(mean, mean, mean, mean, none), Envelope(least, most, least, most, gaps)


def _stacked(columns: Sequence[Floats]) -> Floats:
    rows = [filled(one) for one in columns]
    return np.stack([np.full(len(columns[0]), np.nan) if row is None else row for row in rows])


def _labels(drawn: Sequence[_Drawn], room: int, look: Look, base: Reading | None) -> list[str]:
    """What the legend says of each line: its name, its value at the cursor or the last one, and its distance from the
    base; the last two only where there is room for those of all lines. Names are cut where there is not even that."""
    names = [one.over.label for one in drawn]
    values = [f"{name} {_value(one, look)}" for name, one in zip(names, drawn, strict=True)]
    full = [f"{value}{_away(one, look, base)}" for value, one in zip(values, drawn, strict=True)]
    for labels in (full, values, names):
        if sum(cell_width(clean(label)) + _BESIDE_LABEL for label in labels) <= room:
            return labels
    each = room // len(names) - _BESIDE_LABEL
    if each < _LEAST_LABEL:
        return names  # as many as fit
    return [fit(clean(name), min(cell_width(clean(name)), each), "ends") for name in names]


def _value(one: _Drawn, look: Look) -> str:
    if look.cursor is not None and len(one.readings) == 1:
        return "".join(read_at(one.readings[0].curve, one.readings[0].factor, look.cursor, False))
    return format_value(one.value_at(look.cursor))


def _away(one: _Drawn, look: Look, base: Reading | None) -> str:
    if base is None or len(one.readings) > 1 or look.base in one.over.runs:
        return ""
    away = difference(one.readings[0], base)
    text = signed(away, "")[0] if away is not None else ""
    return f" ({text})" if text else ""


def against(view: ChartView, own: Reading | None, base: Reading) -> Row:
    """A chart's headline with the distance from a base at the last step that both have reached."""
    away = difference(own, base)
    if own is None or away is None:
        return view.headline
    text, role = signed(away, own.meaning.direction)
    return (*view.headline, (f" {text}", role), (" to base", Role.MUTED)) if text else view.headline


def _note(drawn: Sequence[_Drawn], left: int, without: int, thinned: str) -> str:
    parts = []
    curves = [reading.curve for one in drawn for reading in one.readings]
    if any(len(one.readings) > 1 for one in drawn):
        parts.append("seeds: mean, area min to max")
    if nans := sum(curve.nan_count for curve in curves):
        parts.append(f"{thousands(nans)} NaN")
    if infinities := sum(curve.infinity_count for curve in curves):
        parts.append(f"{thousands(infinities)} Inf")
    if thinned:
        parts.append(thinned)
    if without:
        parts.append(f"not in {plural(without, 'run')}")
    if left:
        parts.append(f"+{plural(left, 'line')}")
    return ", ".join(parts)


def _thinned(seen: int, inside: int) -> str:
    return f"{thousands(seen)} of {plural(inside, 'point')}" if seen < inside else ""
