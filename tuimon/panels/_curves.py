"""Curve panels: the metrics of some concepts as lines of one chart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels._chart import FEW, chart_of
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._overlay import against, overlay_of
from tuimon.panels._reading import Reading, reading_of
from tuimon.panels._select import by_concept, curve_or_none, lines_of
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify

SINGLE = 1000
"""`order` of the panel of a single metric, behind all others."""
MAX_LINES = 4
"""More lines on one chart cannot be told apart."""
_METRIC = "metric:"
_ROWS_A_LINE = 4
_COLUMNS_A_LINE = 25
"""A chart has a line for each so many of its rows and columns, two at least: more could not be told apart."""


class CurvePanel(Struct, frozen=True):
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

    def reading(self, run: Run) -> Reading | None:
        """The metric whose last value is the headline; None where the run has none."""
        return reading_of(run, self.in_order(run))

    def leading(self, run: Run) -> Curve | None:
        """Its curve."""
        found = self.reading(run)
        return None if found is None else found.curve

    def in_order(self, run: Run) -> tuple[str, ...]:
        """The same without those that count steps otherwise than the main sources, where these have some, too."""
        names = self.names(run)
        main = tuple(name for name in names if name in run.main_metrics)
        return _busiest_first(run, main or names)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> ChartView:
        """The chart; without a point, or without the metric, an empty one."""
        base = self.reading(look.base) if look.base is not None else None
        if look.over:
            lines = [(over, [(one, self.reading(one)) for one in over.runs]) for over in look.over]
            return overlay_of(run, self.title, lines, size, symbols, self.scale, look, self.id, base, self.concepts)
        curves: list[tuple[str, Meaning, Curve]] = []
        names = self.in_order(run)
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
        view = chart_of(
            run, self._title(curves), curves, size, symbols, self.scale, left, self.concepts, look, panel=self.id
        )
        if base is None or look.base is run:
            return view
        return replace(view, headline=against(view, self.reading(run), base))

    def _title(self, curves: Sequence[tuple[str, Meaning, Curve]]) -> str:
        """The panel's, but for a leading line that tells its concept by another name."""
        meaning = curves[0][1] if curves and not self.metrics else None
        return meaning.label if meaning is not None and meaning.renamed else self.title


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
    """Whether a curve cannot stand beside a line of the same concept: it has another unit or name, or is the one
    point that sums the line up at its end (the train_loss of Hugging Face's trainers)."""
    if meaning.concept != other.concept:
        return False
    if meaning.unit != other.unit or meaning.renamed != other.renamed:
        return True
    return len(curve) == 1 and len(line) > FEW and meaning.split == other.split


def _repeats(meaning: Meaning, curve: Curve, other: Meaning, line: Curve) -> bool:
    """Whether a curve is the same thing as a line once more: in another source's words (the reward of a JSON document
    beside that of the event files), or a second choice beside the first (the normalised reward beside the score)."""
    if meaning.concept != other.concept or meaning.split != other.split or meaning.facets != other.facets:
        return False
    return curve.sources[:1] != line.sources[:1] or (not meaning.facets and meaning.preference > other.preference)


@lru_cache(maxsize=4096)
def metric_panel(name: str) -> CurvePanel:
    """A panel for one metric, of whatever meaning, under its own name."""
    return CurvePanel(f"{_METRIC}{name}", name, SINGLE, (), "linear", (name,))


def metric_panel_of(id: str, run: Run) -> CurvePanel | None:
    """The panel of a metric by its id, where the run has the metric."""
    name = id.removeprefix(_METRIC)
    return metric_panel(name) if name != id and name in run.metrics else None
