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
from tuimon.draw.numbers import distinct_digits, format_exact, nonfinite, thousands
from tuimon.draw.rows import row_width
from tuimon.model.points import Steps
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._charts.marks import restart_steps
from tuimon.panels._metrics import PAIR, is_counterpart
from tuimon.panels._text import change_span, plural, value_text
from tuimon.store import Curve, Run
from tuimon.store.arrays import distinct
from tuimon.store.curve_builder import RANK
from tuimon.text import cell_width, clean
from tuimon.vocabulary import Meaning, unit_text

_SHORT, _SHORTEST = 10, 6
"""Maximum characters of a value beside a small chart, and of a value in a legend that has no room for longer ones. The
full-screen chart shows more digits."""
_BOTH = "logged, smoothed"
"""What the two numbers of each line of a legend are."""
_GAP = 2
"""Cells between legend and headline."""
_CUT_NAME = 20
"""Cells to which a metric's name may be cut in a legend with values at the cursor."""
_MOST_RESTARTS = 3
"""Maximum number of restarts that the note names each, with the points that it supersedes."""
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


def cursor_value(
    curve: Curve, factor: float, step: int, most: int | None = _SHORT, own_step: bool = False
) -> tuple[str, str]:
    """Return (value, step) of the last point at or before the cursor's step; the step is "" if it is the cursor's own.

    most: maximum characters of the value; None for every digit. own_step: return the step also if it is the cursor's.
    """
    sample = curve.sample_at(step)
    if sample is None:
        return "-", ""
    text = format_exact(sample.value * factor, most)
    return text, "" if curve.ordinal or (sample.step == step and not own_step) else f" @ {sample.step}"


def superseded_value(curve: Curve, factor: float, step: int, most: int | None = _SHORT) -> str:
    """Return " (superseded 0.49)" if a superseded attempt has a value at the step of the point that `cursor_value`
    returns; else ""."""
    sample = curve.sample_at(step)
    superseded = curve.superseded_at(sample.step) if sample is not None else None
    return f" (superseded {format_exact(superseded.value * factor, most)})" if superseded is not None else ""


def cursor_headline(
    curve: Curve, meaning: Meaning, factor: float, step: int, fullscreen: bool, smooth: float | None = None
) -> Row:
    """Return the value of the leading curve at the cursor, the average there, if it is drawn, the step, and the value
    of a superseded attempt.

    The value is first, for narrow charts."""
    most = None if fullscreen else _SHORT
    value, logged_at = cursor_value(curve, factor, step, most)
    unit = unit_text(meaning.unit)
    place = (logged_at or f" @ {step}", Role.ACCENT)
    superseded = superseded_value(curve, factor, step, most)
    end = (place, (superseded, Role.MUTED)) if superseded else (place,)
    if smooth is None:
        return ((f"{value} {unit}".rstrip(), Role.VALUE), *end)
    average = (f", {format_exact(smooth, _SHORT)} smoothed", Role.VALUE)
    return ((f"{value} {unit}".rstrip(), Role.VALUE), (" logged", Role.MUTED), average, *end)


def cursor_legend(
    labels: Sequence[str],
    curves: Sequence[Curve],
    factors: Sequence[float],
    step: int,
    room: int,
    fullscreen: bool,
    smooths: Sequence[float | None],
) -> tuple[list[str], Row] | None:
    """Return (labels with the values at the cursor, the cursor's step as a headline if there is room for it).

    room: cells of the title row without the title. smooths: averages at the cursor, as far as they are drawn. If there
    is no room to name each of them, the headline does; they are left out if there is no room for them. So are, before
    them, the values of superseded attempts. None if the labels do not fit even with few digits.
    """
    # A legend that does not fit is drawn with cut names of metrics.
    names = [cell_width(clean(label)) for label, curve in zip(labels, curves, strict=True) if label == curve.metric]
    cuttable = sum(max(width - _CUT_NAME, 0) for width in names)
    digits = (*((None,) if fullscreen else ()), _SHORT, _SHORTEST)
    forms: list[tuple[Sequence[float | None], bool, bool]] = [([None] * len(labels), True, False)]
    if any(smooth is not None for smooth in smooths):
        forms = [(smooths, True, False), (smooths, False, False), *forms]
    if any(superseded_value(curve, 1.0, step) for curve in curves):
        forms.insert(0, (smooths, True, True))
    place = f"@ {step}"
    for averages, are_named, with_superseded in forms:
        for most in digits:
            values = [
                with_average("".join(cursor_value(curve, factor, step, most)), smooth, most, are_named)
                + (superseded_value(curve, factor, step, most) if with_superseded else "")
                for curve, factor, smooth in zip(curves, factors, averages, strict=True)
            ]
            legend = [f"{label} {value}" for label, value in zip(labels, values, strict=True)]
            left = room - sum(cell_width(clean(entry)) + LEGEND_ENTRY for entry in legend)
            words: Row = () if are_named else ((_BOTH, Role.MUTED),)
            with_step: Row = (*words, (place if are_named else f" {place}", Role.ACCENT))
            if left >= row_width(with_step) + _GAP:
                return legend, with_step
            if left + cuttable >= 0 if are_named else left >= row_width(words) + _GAP:
                return legend, words
    return None


def with_average(value: str, smooth: float | None, most: int | None = _SHORT, are_named: bool = True) -> str:
    """Return a value at the cursor with the average there, each named; the value alone without an average.

    most: maximum characters of the value, and of the average if it is less than those of a small chart. are_named:
    False for the numbers alone, see `_BOTH`.
    """
    if smooth is None:
        return value
    average = format_exact(smooth, min(most or _SHORT, _SHORT))
    return f"{value} logged, {average} smoothed" if are_named else f"{value}, {average}"


# ---------------------------------------------------------------------- line labels


def labels_of(lines: Sequence[tuple[str, Meaning]]) -> list[str]:
    """Return a distinct label for each (metric, meaning); "" for a single line.

    The label of a line is the first of these that no other line shares: its split, its concept, its concept with its
    facets, its full name. A facet alone ("mean") does not name a line beside full names, nor does a component that the
    name of another line has, too.

    The split names a line only beside its counterpart, the same quantity of the other split. A line of a part, beside
    one of another quantity, is not named by its concept alone.
    """
    if len(lines) < 2:
        return ["" for _ in lines]
    several = len({meaning.concept for _, meaning in lines}) > 1
    candidates = [_candidates(line, lines, several) for line in lines]
    counts = [Counter(column) for column in zip(*candidates, strict=True)]
    labels = [
        next((label for label, count in zip(own, counts, strict=True) if label and count[label] == 1), own[-1])
        for own in candidates
    ]
    components = [label for label, (_, meaning) in zip(labels, lines, strict=True) if _is_component(label, meaning)]
    if any(sum(component in name for name, _ in lines) > 1 for component in components):
        return [name for name, _ in lines]
    if any(label == name for label, (name, _) in zip(labels, lines, strict=True)):
        labels = [
            name if label in meaning.facets.values() else label
            for label, (name, meaning) in zip(labels, lines, strict=True)
        ]
    return labels if len(set(labels)) == len(labels) else [name for name, _ in lines]


def _is_component(label: str, meaning: Meaning) -> bool:
    return bool(label) and label == meaning.facets.get("component")


def _candidates(line: _Line, lines: Sequence[_Line], several: bool) -> tuple[str, ...]:
    name, meaning = line
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
    return split, label, label and label + validation, with_facets, name


# ---------------------------------------------------------------------- note


def note_of(
    run: Run, curves: Sequence[Curve], factors: Sequence[float], thinning: Sequence[str], left: int, zoomed: bool
) -> str:
    """Return the note below a chart: disagreements, non-finite values, restarts, and what is not drawn.

    factors: by which the values of the curves are multiplied. thinning: the result of `thinned` for a zoomed
    chart, else empty. left: metrics without a line. zoomed: name the steps of non-finite values, and the points of
    other logs at the end: while a run is live, another log is often a step ahead.
    """
    parts = [*_disagreement(run, curves, factors), *nonfinite_counts(curves, step_name(run) if zoomed else "")]
    parts += _restart(run, max(curves, key=lambda curve: curve.superseded))
    if any(run.is_left_behind(curve.metric) for curve in curves):
        parts.append("no point since the restart")
    leading, filled = curves[0], max(curves, key=lambda curve: curve.filled)
    if len(leading.sources) > 1 and RANK.search(leading.sources[0]):  # each process of the job logs to its own file
        parts.append(f"of {_short(leading.sources[0])}")
    if zoomed and filled.filled:
        names = [_short(source) for source in filled.sources[1:]]
        # The name of a directory of logs, such as "logs", names no source that a reader knows.
        other = names[0] if "." in names[0] else "another log"
        parts.append(f"{plural(filled.filled, 'point')} of {other if len(names) == 1 else 'other logs'}")
    parts += thinning
    if left:
        parts.append(f"+{plural(left, 'metric')}")
    return ", ".join(parts)


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


def thinned(shown: int, inside: int) -> list[str]:
    """Return "1 200 of 20 000 points" if not all points are drawn."""
    return [f"{thousands(shown)} of {plural(inside, 'point')}"] if shown < inside else []


def _disagreement(run: Run, curves: Sequence[Curve], factors: Sequence[float]) -> Iterator[str]:
    """Yield the first disagreement: "2 sources disagree from step 40: 0.51 here, 0.53 in metrics.jsonl"."""
    for curve, factor in zip(curves, factors, strict=True):
        disagreement = curve.disagreement
        if disagreement is not None:
            here, there = distinct_digits(disagreement.here * factor, disagreement.there * factor)
            step = f"{'from' if disagreement.steps > 1 else 'at'} {step_name(run)} {disagreement.step}"
            sources = f"{curve.disagreeing_sources} sources disagree"
            yield f"{sources} {step}: {here} here, {there} in {_short(disagreement.source)}"
            return


def _restart(run: Run, curve: Curve) -> Iterator[str]:
    steps = restart_steps(run, curve)
    if curve.superseded:
        superseded = plural(curve.superseded, "point")
        yield _superseding(run, curve, steps, superseded) if len(steps) else f"{superseded} superseded"
    elif len(steps) > _MOST_RESTARTS:
        yield f"{len(steps)} restarts, the last: {restart_name(run, int(steps[-1]), step_name(run))}"
    else:
        yield from (
            restart_name(run, step, "" if index else step_name(run)) for index, step in enumerate(steps.tolist())
        )


def _superseding(run: Run, curve: Curve, steps: Steps, superseded: str) -> str:
    """Return "resumed from 200 (20 superseded), restart at 410 (15)"; of more than three restarts the number and
    the last one.

    steps: result of `restart_steps`."""
    own = distinct(curve.steps[curve.restarts[curve.restarts != curve.gap]])
    counts: Counter[int] = Counter()
    for step, count in curve.superseded_by.items():
        counts[int(steps[max(int(np.searchsorted(own, step, "right")) - 1, 0)])] += count
    if len(counts) > _MOST_RESTARTS:
        return f"{len(counts)} restarts supersede {superseded}, the last: {restart_name(run, max(counts))}"
    (first, count), *others = counts.items()
    named = f"{restart_name(run, first)} ({count} superseded)"
    return ", ".join([named, *(f"{restart_name(run, step)} ({number})" for step, number in others)])


def _short(source: str) -> str:
    return PurePosixPath(source).name or source
