"""Curve panels: the metrics of some concepts as lines of one chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tuimon.analysis.trend import change
from tuimon.analysis.words import day
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import x_limits, y_limits
from tuimon.draw.numbers import format_value
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Role, Row, Size, Span, Symbols
from tuimon.panels._labels import labels_of
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._marks import marks_of
from tuimon.panels._notes import note_of
from tuimon.panels._select import by_concept, curve_or_none, lines_of
from tuimon.panels._text import change_span, unit_text
from tuimon.store import Curve, Run, Scale
from tuimon.vocabulary import Meaning, classify

MAX_LINES = 4
"""More lines on one chart cannot be told apart."""
_FEW = 8
_SPARSE = 6
"""Marked points stand so many columns apart, at least."""
_LOG_FROM = 100.0
"""A ratio of highest to lowest value from which scale="auto" is logarithmic."""
_STILL = 0.005
"""A change of less than this part of all that a curve has covered is none."""
_WINDOW = 512
_ROWS_A_LINE = 4
_COLUMNS_A_LINE = 25
"""A chart has a line for each so many of its rows and columns, two at least: more could not be told apart."""
_X_KINDS = dict.fromkeys(("step", "relative step", "samples", "tokens"), "step")
_X_KINDS |= {"time": "time", "duration": "duration"}
_X_LABELS = {"step": "", "duration": "since its start"}
"""What stands at an axis that does not say its own name."""
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """A chart of the metrics of some concepts."""

    id: str
    title: str
    order: int
    concepts: tuple[str, ...]
    """Ids of the vocabulary, the leading one first: its metric gives the headline."""
    scale: str = "linear"
    """linear | auto: logarithmic where the values are positive and span two decades."""
    metrics: tuple[str, ...] = ()
    """Exactly these metrics, instead of the concepts' ones."""
    kind: str = "chart"
    rows: int = 0

    def relevant(self, run: Run) -> bool:
        """Whether the run has such a metric."""
        if self.metrics:
            return any(name in run.metrics for name in self.metrics)
        known = by_concept(run.metrics)
        return any(concept in known for concept in self.concepts)

    def names(self, run: Run) -> tuple[str, ...]:
        """The metrics of the run that belong here, those that deserve a line first."""
        return self.metrics or lines_of(run.metrics, self.concepts)

    def leading(self, run: Run) -> Curve | None:
        """The curve whose last value is the headline; None where the run has none."""
        return next((curve for name in self._on_one_axis(run) if (curve := curve_or_none(run, name)) is not None), None)

    def _on_one_axis(self, run: Run) -> tuple[str, ...]:
        """Without those that count steps otherwise than the main sources, where these have some, too."""
        names = self.names(run)
        main = tuple(name for name in names if name in run.main_metrics)
        return _busiest_first(run, main or names)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> ChartView:
        """The chart; without a point, or without the metric, an empty one."""
        curves: list[tuple[str, Meaning, Curve]] = []
        names = self._on_one_axis(run)
        left = len(self.names(run)) - len(names)
        most = max(2, min(size.height // _ROWS_A_LINE, size.width // _COLUMNS_A_LINE, MAX_LINES))
        for name in names:
            if len(curves) == most:
                left += 1
                continue
            curve = curve_or_none(run, name)
            if curve is None:
                continue
            meaning = classify(name)
            if any(
                _goes_badly(meaning, curve, other, line) or _repeats(meaning, curve, other, line)
                for _, other, line in curves
            ):
                left += 1
            else:
                curves.append((name, meaning, curve))
        return chart_of(run, self.title, curves, size, symbols, self.scale, left, self.concepts, look)


def _busiest_first(run: Run, names: Sequence[str]) -> tuple[str, ...]:
    """Of metrics that mean the same (the loss of each step, and its mean over each epoch) the one with most points
    first; the others in their order."""
    alike: dict[object, list[str]] = {}
    for name in names:
        meaning = classify(name)
        key = (meaning.concept, meaning.split, meaning.preference, *sorted(meaning.facets.items()))
        alike.setdefault(key if len(alike.get(key, ())) < MAX_LINES else name, []).append(name)
    place: dict[str, str] = {}
    for group in alike.values():
        if len(group) > 1:
            place |= zip(group, sorted(group, key=lambda name: -_points(run, name)), strict=True)
    return tuple(place.get(name, name) for name in names)


def _points(run: Run, name: str) -> int:
    curve = curve_or_none(run, name)
    return len(curve) if curve else 0


def _goes_badly(meaning: Meaning, curve: Curve, other: Meaning, line: Curve) -> bool:
    """Whether a curve cannot stand beside a line of the same concept: it has another unit, or is the one point that
    sums the line up at its end (the train_loss of Hugging Face's trainers)."""
    if meaning.concept != other.concept:
        return False
    return meaning.unit != other.unit or (len(curve) == 1 and len(line) > _FEW and meaning.split == other.split)


def _repeats(meaning: Meaning, curve: Curve, other: Meaning, line: Curve) -> bool:
    """Whether a curve is the same thing as a line once more: in another source's words (the reward of a JSON document
    beside that of the event files), or a second choice beside the first (the normalised reward beside the score)."""
    if meaning.concept != other.concept or meaning.split != other.split or meaning.facets != other.facets:
        return False
    return curve.sources[:1] != line.sources[:1] or (not meaning.facets and meaning.preference > other.preference)


@lru_cache(maxsize=4096)
def metric_panel(name: str) -> CurvePanel:
    """A panel for one metric, of whatever meaning, under its own name."""
    return CurvePanel(f"metric:{name}", name, 1000, (), "linear", (name,))


def chart_of(
    run: Run,
    title: str,
    curves: Sequence[tuple[str, Meaning, Curve]],
    size: Size,
    symbols: Symbols,
    scale: str = "linear",
    left: int = 0,
    concepts: Sequence[str] = (),
    look: Look = PLAIN,
    label: Callable[[str], str] = lambda name: "",
) -> ChartView:
    """A chart of these curves (the first leads), with marks, headline and note. `left`: metrics without a line.

    label: what a metric's line is called, "" as usual.
    """
    axis = look.axis_of(run)
    along = run.scale(axis) if axis != "step" else Scale("step")
    x_kind = _X_KINDS.get(along.name, "number")
    placed = [
        (name, meaning, curve, factor_of(meaning, curve), span)
        for name, meaning, curve in curves
        if len(curve) and (span := curve.limits(along)) is not None
    ]
    if not placed:
        nowhere = f"no point of it has a place on the axis {along.name}" if any(len(c) for *_, c in curves) else ""
        empty = Axis(0.0, 1.0, kind=x_kind)
        return ChartView(title, (), empty, Axis(0.0, 1.0), (), note=nowhere or "no points yet")
    left += sum(len(curve) > 0 for *_, curve in curves) - len(placed)
    drawn, ends = [one[:-1] for one in placed], [one[-1] for one in placed]
    low, high = x_limits(min(a for a, _ in ends), max(b for _, b in ends), x_kind)
    columns = plot_columns(max(size.width, 1), symbols)
    envelopes = [scaled(curve.envelope(low, high, columns, along), factor) for *_, curve, factor in drawn]
    labels = labels_of([(name, meaning) for name, meaning, *_ in drawn])
    longest = max(curve.finite_count for *_, curve, _ in drawn)
    lines = tuple(
        Line(label(name) or usual, role, envelope, _is_sparse(curve, longest, columns))
        for usual, role, envelope, (name, _, curve, _) in zip(labels, SERIES_ROLES, envelopes, drawn, strict=False)
    )
    only_curves = [curve for *_, curve, _ in drawn]
    y_scale = _scale_of(scale, only_curves)
    y_low, y_high = y_limits(envelopes, y_scale)
    name, leading, curve, factor = drawn[0]
    return ChartView(
        title,
        headline_of(curve, _in_context(run, leading), factor, symbols),
        Axis(low, high, kind=x_kind, label=_x_label(along.name, low, high)),
        Axis(y_low, y_high, y_scale, label=name if len(drawn) == 1 and name != title else ""),
        lines,
        marks_of(run, only_curves, along, low, high, columns, concepts),
        note_of(run, only_curves, [factor for *_, factor in drawn], envelopes, left),
        columns,
    )


def _x_label(axis: str, low: float, high: float) -> str:
    """The name of an axis; of a time of day, the day it is of (longer ones have dates for ticks)."""
    if axis == "time":
        return day(low) if high - low < _DAY else ""
    return _X_LABELS.get(axis, axis)


def _is_sparse(curve: Curve, longest: int, columns: int) -> bool:
    """Whether its points are marked: there are a few, or far fewer than the longest line has."""
    count = curve.finite_count
    return count <= _FEW or (count * 2 <= longest and count * _SPARSE <= columns)


def _in_context(run: Run, meaning: Meaning) -> Meaning:
    """The loss of a run that learns from rewards is a surrogate: it need not fall."""
    if meaning.concept == "loss.total" and "reward.train" in by_concept(run.metrics):
        return replace(meaning, direction="neutral")
    return meaning


def factor_of(meaning: Meaning, curve: Curve) -> float:
    """What the logged values are multiplied by to be in the unit and of the sign of the concept."""
    first = curve.first if meaning.sign_auto else None
    return -meaning.scale if first is not None and first.value < 0 else meaning.scale


def scaled(envelope: Envelope, factor: float) -> Envelope:
    """An envelope with its values multiplied."""
    if factor == 1.0:
        return envelope
    low, high = envelope.low * factor, envelope.high * factor
    if factor < 0:
        low, high = high, low
    return Envelope(low, high, envelope.first * factor, envelope.last * factor, envelope.gap_after)


def _scale_of(scale: str, curves: Sequence[Curve]) -> str:
    if scale != "auto":
        return scale
    lows = [curve.min.value for curve in curves if curve.min is not None]
    highs = [curve.max.value for curve in curves if curve.max is not None]
    wide = bool(lows) and min(lows) > 0 and max(highs) / min(lows) >= _LOG_FROM
    return "log" if wide else "linear"


def headline_of(curve: Curve, meaning: Meaning, factor: float, symbols: Symbols) -> Row:
    """Last value with its unit, and how it has moved over the last tenth of the run."""
    last = curve.last
    if last is None:
        return (("NaN" if curve.nan_count else "Inf", Role.CRITICAL),)
    unit = unit_text(meaning.unit)
    spans: list[Span] = [(format_value(last.value * factor, unit), Role.VALUE)]
    moved = recent_change(curve)
    if moved is not None and curve.min is not None and curve.max is not None:
        still = (curve.max.value - curve.min.value) * _STILL * abs(factor)
        spans += [(" ", Role.MUTED), change_span(moved * factor, still, meaning.direction, symbols)]
    if not np.isfinite(curve.values[-1]):
        spans.append((" NaN now" if np.isnan(curve.values[-1]) else " Inf now", Role.CRITICAL))
    return tuple(spans)


def recent_change(curve: Curve) -> float | None:
    """Median of the last tenth of the points less that of the tenth before; long tenths are sampled evenly.

    None with less than two finite points among them.
    """
    tenth = max(len(curve) // 10, 1)
    stride = max(tenth // _WINDOW, 1)
    recent = curve.values[-2 * tenth :: stride]
    finite = int(np.isfinite(recent).sum())
    found = change(recent, min(-(-tenth // stride), finite // 2))
    return found.difference if found else None
