"""Curve panels: the metrics of given concepts as lines of one chart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.printed_units import meaning_of
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels._charts.captions import with_difference
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.panels._charts.traces import Series
from tuimon.panels._metrics import (
    FEW_POINTS,
    MetricReading,
    by_concept,
    is_speed_of_evaluation,
    is_total,
    lines_of,
    reading_drawn,
    reading_of,
)
from tuimon.store import Curve, Run
from tuimon.text import clean
from tuimon.vocabulary import classify, meanings

SINGLE_METRIC = 1000
"""`order` of the panel of a single metric, after all others."""
QUALITY = 67
"""`order` of the panel of a metric that measures the quality of a model: WER, PSNR, perplexity."""
MAX_LINES = 4
"""Maximum number of lines on a chart: more could not be distinguished."""
_METRIC = "metric:"
_MOST_ALIKE = 40
"""Maximum number of other metrics that a title is distinguished from: those next to it in the order of names."""
_WORD_BORDER = re.compile(r"[/_. ]")
_ROWS_PER_LINE = 4
_COLUMNS_PER_LINE = 25
"""Size of a chart per line; two lines are always drawn."""

_MOST_FLATTENED = 8
"""Height of a chart in that of its leading line up to which a line of another concept is drawn beside it."""

_MEASURE = "success.accuracy"
"""Concept of measures of results that have names of their own: accuracy, precision, F1."""


class CurvePanel(Panel, frozen=True):
    """A chart of the metrics of given concepts, of which the first gives the headline."""

    kind: str = "chart"
    scale: str = "linear"
    """linear | auto (logarithmic if all values are positive and most of them span two decades)."""
    metrics: tuple[str, ...] = ()
    """Exactly these metrics instead of those of the concepts."""
    named: bool = False
    """Whether the chart is titled with the label of its metrics if they all have the same."""

    def relevant(self, run: Run) -> bool:
        """Whether the run has one of the metrics."""
        if self.metrics:
            return any(name in run.metrics for name in self.metrics)
        known, meaning_of = by_concept(run.tracked_metrics), meanings(run.metrics)
        names = (name for concept in self.concepts for name in known.get(concept, ()))
        metrics = ((name, meaning_of[name]) for name in names)
        return any(not (is_total(run, *metric) or is_speed_of_evaluation(*metric)) for metric in metrics)

    def names(self, run: Run) -> tuple[str, ...]:
        """Return the panel's metrics in the run, the most relevant first."""
        return self.metrics or lines_of(run.tracked_metrics, self.concepts)

    def reading(self, run: Run) -> MetricReading | None:
        """Return the metric whose last value is the headline, or None if the run has none."""
        return reading_of(run, self.in_order(run))

    def leading(self, run: Run) -> Curve | None:
        """Return the curve of the metric whose last value is the headline, or None."""
        reading = self.reading(run)
        return None if reading is None else reading.curve

    def in_order(self, run: Run) -> tuple[str, ...]:
        """Return the metrics in drawing order: only those with the steps of the main sources, if there are any."""
        names = self.names(run)
        main = tuple(name for name in names if name in run.main_metrics)
        return _busiest_first(run, main or names)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return the chart; an empty one if the run has no points of the metrics."""
        base = self.reading(options.base) if options.base is not None else None
        undrawn: list[str] = []
        if options.overlay:
            title = self.title
            series = [
                Series(tuple((other, self.reading(other)) for other in line.runs), line=line)
                for line in options.overlay
            ]
        else:
            readings, undrawn = self._drawn(run, size)
            title = self._title(readings)
            series = [Series(((run, reading),)) for reading in readings]
        view = chart_of(
            run,
            title,
            series,
            size,
            symbols,
            options,
            panel=self.id,
            scale=self.scale,
            concepts=self.concepts,
            undrawn=undrawn,
            base=base,
            behind=None if options.overlay or run in options.seeds else _seeds_behind(self, options.seeds),
        )
        view = replace(view, alike=self._alike(run))
        if base is None or options.overlay or options.base is run:
            return view
        return replace(view, headline=with_difference(view.headline, self.reading(run), base))

    def _drawn(self, run: Run, size: Size) -> tuple[list[MetricReading], list[str]]:
        """Return (metrics with a line in a chart of this size, names of those without one)."""
        names = self.in_order(run)
        drawn: list[MetricReading] = []
        ordered = frozenset(names)
        undrawn = [name for name in self.names(run) if name not in ordered]
        most = max(2, min(size.height // _ROWS_PER_LINE, size.width // _COLUMNS_PER_LINE, MAX_LINES))
        for name in names:
            if len(drawn) == most:
                undrawn.append(name)
            elif (reading := reading_drawn(run, name)) is not None:
                fits = not any(_incompatible(reading, other) or _repeats(reading, other) for other in drawn)
                if fits and not (drawn and _dwarfs(reading, drawn[0])):
                    drawn.append(reading)
                else:
                    undrawn.append(name)
        return drawn, undrawn

    def _alike(self, run: Run) -> tuple[str, ...]:
        """Return the other metrics of the run whose last word is that of the metric in the title, if there is one."""
        title = clean(self.title)
        alike = _by_last_word(run.metrics).get(_last_word(title), ()) if self.metrics else ()
        place = bisect_left(alike, title)
        return tuple(name for name in alike[max(place - _MOST_ALIKE // 2, 0) :][: _MOST_ALIKE + 1] if name != title)

    def _title(self, readings: Sequence[MetricReading]) -> str:
        """Return the panel's title, or the labels of its metrics; "success (val)" if no line is of the training."""
        if not readings or self.metrics:
            return self.title
        title, labels = self.title, list(dict.fromkeys(reading.meaning.label for reading in readings))
        if readings[0].meaning.renamed or (self.named and len(labels) == 1):
            title = labels[0]
        elif self.named and all(reading.meaning.concept == _MEASURE for reading in readings):
            title = ", ".join(labels)
        is_named = "(val)" in title or any(reading.meaning.split == "train" for reading in readings)
        return title if is_named else f"{title} (val)"


@lru_cache(maxsize=16)  # the charts of a page: 100 seeds take 10 ms each
def _seeds_behind(panel: CurvePanel, seeds: tuple[Run, ...]) -> Series:
    """Return the metric of the base, and of the other seeds of its group."""
    return Series(tuple((run, panel.reading(run)) for run in seeds))


@lru_cache(maxsize=8)
def _by_last_word(metrics: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return the cleaned and sorted metrics by their last word."""
    groups: dict[str, list[str]] = {}
    for name in sorted(map(clean, metrics)):
        groups.setdefault(_last_word(name), []).append(name)
    return {word: tuple(names) for word, names in groups.items()}


def _last_word(name: str) -> str:
    return _WORD_BORDER.split(name)[-1]


def _busiest_first(run: Run, names: Sequence[str]) -> tuple[str, ...]:
    """Sort metrics of equal meaning (the loss of each step, its mean over each epoch) by number of points.

    Other metrics keep their places.
    """
    alike: dict[object, list[str]] = {}
    for name in names:
        meaning = meaning_of(run, name)
        key = (meaning.concept, meaning.split, meaning.preference, *sorted(meaning.facets.items()))
        alike.setdefault(key if len(alike.get(key, ())) < MAX_LINES else name, []).append(name)
    places: dict[str, str] = {}
    for group in alike.values():
        if len(group) > 1:
            places |= zip(group, sorted(group, key=lambda name: -run.point_counts[name]), strict=True)
    return tuple(places.get(name, name) for name in names)


def _incompatible(own: MetricReading, other: MetricReading) -> bool:
    """Whether a series does not belong beside another one of its concept.

    It has another unit or name, or is the single point that summarises the other (`train_loss` of Hugging Face
    trainers).
    """
    meaning, curve, drawn, line = own.meaning, own.curve, other.meaning, other.curve
    if meaning.concept != drawn.concept:
        return False
    if meaning.unit != drawn.unit or meaning.renamed != drawn.renamed:
        return True
    return len(curve) == 1 and len(line) > FEW_POINTS and meaning.split == drawn.split


def _dwarfs(own: MetricReading, leading: MetricReading) -> bool:
    """Whether the leading line would be flat beside a series of another concept: the loss of a policy beside that of a
    supervised step."""
    curve, line = own.curve, leading.curve
    if own.meaning.concept == leading.meaning.concept or not (curve.min and curve.max and line.min and line.max):
        return False
    low, high = sorted((line.min.value * leading.factor, line.max.value * leading.factor))
    values = low, high, curve.min.value * own.factor, curve.max.value * own.factor
    return low < high and max(values) - min(values) > _MOST_FLATTENED * (high - low)


def _repeats(own: MetricReading, other: MetricReading) -> bool:
    """Whether a series repeats another one.

    It comes from another source (the reward of a JSON document beside that of the event files), or is a less preferred
    metric (the normalised reward beside the score).
    """
    meaning, curve, drawn, line = own.meaning, own.curve, other.meaning, other.curve
    if meaning.concept != drawn.concept or meaning.split != drawn.split or meaning.facets != drawn.facets:
        return False
    return curve.sources[:1] != line.sources[:1] or (not meaning.facets and meaning.preference > drawn.preference)


@lru_cache(maxsize=4096)
def metric_panel(name: str, *more: str) -> CurvePanel:
    """Return the panel of a single metric, titled with its name. more: metrics that are drawn with it."""
    order = QUALITY if classify(name).panel == "quality" else SINGLE_METRIC
    return CurvePanel(f"{_METRIC}{name}", name, order, metrics=(name, *more))


def metric_panel_by_id(id: str, run: Run) -> CurvePanel | None:
    """Return the panel of a single metric by its id, or None if the run does not have the metric."""
    name = id.removeprefix(_METRIC)
    return metric_panel(name) if name != id and name in run.metrics else None
