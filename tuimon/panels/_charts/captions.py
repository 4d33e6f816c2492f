"""Texts of a chart: the headline beside its title, the labels of its lines, the note below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import numpy as np

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.attempts import restart_name
from tuimon.analysis.change import change
from tuimon.analysis.words import steps_text
from tuimon.draw.chart import LEGEND_ENTRY
from tuimon.draw.numbers import format_exact, format_value, nonfinite, thousands
from tuimon.model.views import Role, Row, Rows, Span, Symbols
from tuimon.panels._charts.marks import restart_steps
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels._charts.plot import Plot
from tuimon.panels._charts.traces import Stroke, Trace
from tuimon.panels._metrics import PAIR, MetricReading, difference_error, is_counterpart, level_difference
from tuimon.panels._text import change_span, plural, signed, value_text
from tuimon.store import Curve, Run
from tuimon.store.curve_builder import RANK
from tuimon.text import cell_width, clean, fit, fit_distinct
from tuimon.vocabulary import Meaning, unit_text

_SHORT, _SHORTEST = 10, 6
"""Maximum characters of a value beside a small chart, and of a value in a legend that has no room for longer ones. The
full-screen chart shows more digits."""
SEEDS_NOTE = "seeds: mean, area min to max"
"""What the line and the area of runs that differ only in their seed are."""
_LABEL_FACETS = ("component", "ds", "domain", "role", "kind", "sign", "who", "op", "phase", "tool", "q", "k")
"""Facets that distinguish the labels of lines, in the order of the label."""
_Line = tuple[str, Meaning]
"""Metric of a line and its meaning."""

# ---------------------------------------------------------------------- headline


def headline_of(curve: Curve, meaning: Meaning, factor: float, symbols: Symbols, fullscreen: bool = False) -> Row:
    """Return the last value with its unit, and its recent change, which a full-screen chart names.

    If the metric is not finite now, its last finite value is named as such, without a change.
    """
    last = curve.last
    if last is None:
        return ((nonfinite(curve.values[-1] * factor), Role.CRITICAL),)
    value = value_text(last.value * factor, meaning.unit)
    if not np.isfinite(curve.values[-1]):
        return (f"{nonfinite(curve.values[-1] * factor)} now", Role.CRITICAL), (f", last {value}", Role.VALUE)
    spans: list[Span] = [(value, Role.VALUE)]
    change_row = recent_change_row(curve, meaning, factor, symbols)
    if change_row:
        spans += [("  recent " if fullscreen else " ", Role.MUTED), *change_row]
    return tuple(spans)


def recent_change_row(curve: Curve, meaning: Meaning, factor: float, symbols: Symbols) -> Row:
    """Return the change of the level over the last tenth with an arrow, in the unit of the concept; () if unknown."""
    recent = change(curve.values)
    if recent is None:
        return ()
    is_noise = recent.direction not in ("rising", "falling")
    return (change_span(recent.change * factor, is_noise, meaning.direction, symbols),)


def cursor_value(trace: Trace, most: int | None = _SHORT) -> tuple[str, str]:
    """Return (value, step) of the last point at or before the cursor; the step is "" if it is the cursor's own.

    most: maximum characters of the value; None for every digit.
    """
    sample = None if trace.step is None else trace.curve.sample_at(trace.step)
    if sample is None:
        return "-", ""
    text = format_exact(sample.value * trace.factor, most)
    is_named = not trace.curve.ordinal and (trace.own_step or sample.step != trace.step)
    return text, f" @ {sample.step}" if is_named else ""


def superseded_value(trace: Trace, most: int | None = _SHORT) -> str:
    """Return " (superseded 0.49)" if a superseded attempt has a value at the step of the point at the cursor; else
    ""."""
    sample = None if trace.step is None else trace.curve.sample_at(trace.step)
    superseded = trace.curve.superseded_at(sample.step) if sample is not None else None
    return f" (superseded {format_exact(superseded.value * trace.factor, most)})" if superseded is not None else ""


def cursor_headline(trace: Trace, options: ChartOptions, average: float | None) -> Row:
    """Return the value at the cursor, the average there, if it is drawn, the step, and the value of a superseded
    attempt; the value is first, for narrow charts."""
    most = None if options.fullscreen else _SHORT
    value, logged_at = cursor_value(trace, most)
    spans: list[Span] = [(f"{value} {unit_text(trace.meaning.unit)}".rstrip(), Role.VALUE)]
    if average is not None:
        spans += [(" logged", Role.MUTED), (f", {format_exact(average, _SHORT)} smoothed", Role.VALUE)]
    spans.append((logged_at or f" @ {trace.step}", Role.ACCENT))
    superseded = superseded_value(trace, most)
    return (*spans, (superseded, Role.MUTED)) if superseded else tuple(spans)


def legend_values(plot: Plot, index: int, base: Trace | None) -> tuple[str, ...]:
    """Return the forms of the value of a line in the legend, the most detailed first: "0.51 @ 14 (+0.1)", "0.51".

    - At the cursor: the value and the average there, if it is drawn, with the step of the point, the value of a
      superseded attempt and the difference from the base run.
    - Of a line of an overlay: the level, which tables have as well.
    - Of a line of validation beside another: the last value, which the headline has of the first line.
    """
    stroke, options = plot.strokes[index], plot.options
    trace = stroke.traces[0]
    if trace.step is None:
        if stroke.line is None:
            values = trace.curve.values
            is_named = index > 0 and trace.meaning.split == "val" and len(values)
            return (format_value(values[-1] * trace.factor),) if is_named else ()
        value = format_value(stroke.value)
        if len(stroke.at_end) < len(stroke.traces):
            value = f"{value} ({len(stroke.at_end)} of {len(stroke.traces)})"
        return f"{value}{_difference(stroke, options, base)}", value
    known = [average for average in plot.averages_at_cursor(stroke) if average is not None]
    average = float(np.mean(known)) if known else None
    value, step, superseded = format_value(stroke.value), "", ""
    if len(stroke.traces) == 1:
        (value, step), superseded = cursor_value(trace), superseded_value(trace)
        step = f" ended{step}" if trace.own_step and not trace.is_inside and step else step
    difference = _difference(stroke, options, base)
    short = cursor_value(trace, _SHORTEST)[0] if len(stroke.traces) == 1 else value
    plain, both = f"{value}{step}", with_average(f"{value}{step}", average)
    return f"{both}{superseded}{difference}", both, f"{plain}{difference}", short if stroke.line is None else value


def with_average(value: str, average: float | None) -> str:
    """Return a value at the cursor with the average there, each named; the value alone without an average."""
    return value if average is None else f"{value} logged, {format_exact(average, _SHORT)} smoothed"


def _difference(stroke: Stroke, options: ChartOptions, base: Trace | None) -> str:
    """Return the difference from the base run: at the cursor, or else of the levels that `compare` shows."""
    if base is None or stroke.line is None or len(stroke.traces) > 1 or options.base in stroke.line.runs:
        return ""
    trace = stroke.traces[0]
    delta = level_difference(trace, base) if trace.step is None else None
    if base.is_inside and trace.is_inside:
        delta = trace.value - base.value
    text = signed(delta, "")[0] if delta is not None else ""
    return f" ({text})" if text else ""


def with_difference(headline: Row, own: MetricReading | None, base: MetricReading) -> Row:
    """Return a chart's headline with the difference of the levels from a base run."""
    delta = level_difference(own, base)
    if own is None or delta is None:
        return headline
    error = difference_error(own, base)
    text, role = signed(delta, own.meaning.direction)
    errors = f" ({abs(delta) / error:.1f} SE)" if error > 0 else ""
    return (*headline, (f" {text}", role), (f"{errors} to base", Role.MUTED)) if text else headline


# ---------------------------------------------------------------------- line labels


def labels_of(lines: Sequence[tuple[str, Meaning]]) -> list[str]:
    """Return a distinct label for each (metric, meaning); "" for a single line.

    The label of a line is the first of these that no other line shares: its split, its concept, its concept with its
    facets. If one line has none, all have their full names.

    The split names a line only beside its counterpart, the same quantity of the other split. A line of a part, beside
    one of another quantity, is not named by its concept alone.
    """
    if len(lines) < 2:
        return ["" for _ in lines]
    several = len({meaning.concept for _, meaning in lines}) > 1
    candidates = [_candidates(line, lines, several) for line in lines]
    counts = [Counter(column) for column in zip(*candidates, strict=True)]
    labels = [
        next((label for label, count in zip(own, counts, strict=True) if label and count[label] == 1), "")
        for own in candidates
    ]
    return labels if all(labels) and len(set(labels)) == len(lines) else [name for name, _ in lines]


def _candidates(line: _Line, lines: Sequence[_Line], several: bool) -> tuple[str, ...]:
    _, meaning = line
    others = [other for other in lines if other[1].split != meaning.split]
    pairs = [(line, other) if meaning.split == "train" else (other, line) for other in others]
    paired = not others or any(is_counterpart(train, own) for train, own in pairs)
    if "kind" in meaning.facets and {other.facets.get("kind") for _, other in lines} >= PAIR:
        split = label = ""
    else:
        split = meaning.split if paired else ""
        label = meaning.label if paired or not meaning.facets.get("component") else ""
    validation = " val" if meaning.split == "val" and "val" not in meaning.label else ""
    facets = " ".join(meaning.facets[key] for key in _LABEL_FACETS if key in meaning.facets)
    with_facets = (f"{meaning.label} {facets}" if several else facets) + validation if facets else ""
    return split, label, label and label + validation, with_facets


# ---------------------------------------------------------------------- note


def chart_notes(plot: Plot, left: int) -> Iterator[str]:
    """Yield the notes below a chart: non-finite values, restarts, and the number of metrics `left` without a line."""
    run, strokes = plot.run, plot.strokes
    curves = [trace.curve for trace in plot.traces]
    if plot.overlaid:
        yield from (f"{stroke.label}: {stroke.line.remark}" for stroke in strokes if stroke.line and stroke.line.remark)
        if any(len(stroke.traces) > 1 for stroke in strokes):
            yield SEEDS_NOTE
        yield from nonfinite_counts(curves)
    else:
        yield from nonfinite_counts(curves, step_name(run) if plot.options.fullscreen else "")
        yield from _restarts(run, max(curves, key=lambda curve: curve.superseded))
        if len(curves[0].sources) > 1 and RANK.search(curves[0].sources[0]):  # each process logs to its own file
            yield f"of {_short(curves[0].sources[0])}"
    if left:
        yield f"+{plural(left, 'metric')}"


def nonfinite_counts(curves: Sequence[Curve], word: str = "") -> list[str]:
    """Return "12 NaN" and "3 Inf", as far as the curves have such values; with the `word` of a step, "3 Inf at steps
    30 to 57"."""
    parts = []
    for kind, is_kind in (("NaN", np.isnan), ("Inf", np.isinf)):
        count = sum(curve.nan_count if kind == "NaN" else curve.infinity_count for curve in curves)
        if count and word:
            steps = np.unique(np.concatenate([curve.steps[is_kind(curve.values)] for curve in curves]))
            parts.append(f"{thousands(count)} {kind} at {word}{'s' * (len(steps) > 1)} {steps_text(steps)}")
        elif count:
            parts.append(f"{thousands(count)} {kind}")
    return parts


def _restarts(run: Run, curve: Curve) -> Iterator[str]:
    """Yield "2 restarts, the last: resumed from step 410", and "35 points superseded"."""
    steps = restart_steps(run, curve)
    if len(steps):
        last = restart_name(run, int(steps[-1]), step_name(run))
        yield f"{len(steps)} restarts, the last: {last}" if len(steps) > 1 else last
    if curve.superseded:
        yield f"{plural(curve.superseded, 'point')} superseded"


def _short(source: str) -> str:
    return PurePosixPath(source).name or source


_LEAST = 8
"""Minimum cells to which a name is cut."""
HEIGHT_OF_ROW = 6
"""Rows of a chart for each row of its legend below the title row."""


def legend_rows(names: Sequence[str], signs: Sequence[Span], width: int, height: int) -> Rows:
    """Return the names of lines in columns, in rows below the title of a chart of this size.

    Names that do not fit are cut where they stay distinct, or else left out and counted: "+2 more". signs: marker and
    role of each line.
    """
    rows = height // HEIGHT_OF_ROW
    longest = max(map(cell_width, names))
    cells = min(longest, max(width // -(-len(names) // rows) - LEGEND_ENTRY, _LEAST))
    across = max(width // (cells + LEGEND_ENTRY), 1)
    labels = fit_distinct([clean(name) for name in names], cells)
    entries = [(f"{glyph} {fit(label, cells)}  ", role) for (glyph, role), label in zip(signs, labels, strict=True)]
    if (left := len(entries) - rows * across) > 0:
        entries[rows * across - 1 :] = [(f"+{left + 1} more", Role.MUTED)]
    return tuple(tuple(entries[start : start + across]) for start in range(0, len(entries), across))
