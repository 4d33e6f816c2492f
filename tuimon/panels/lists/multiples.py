"""Small multiples: one metric of many runs, a small chart for each, with the same limits if they can be compared."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from tuimon.draw import render
from tuimon.draw.window import Window
from tuimon.model.views import Rows, Size
from tuimon.panels._charts.curve_panel import metric_panel
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels._charts.overlay_lines import OverlayLine, overlay_lines
from tuimon.panels._metrics import reading_drawn, reading_of
from tuimon.panels.lists.run_metrics import Reader, common_metrics, level_cell, main_reader, name_in
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run
from tuimon.text import clean, fit

LEAST = Size(26, 6)
"""Minimum size of a chart."""
_SAMPLE = 50
"""Number of runs whose metrics decide which one is shown first."""
_LEAST_SHARE = 0.05
"""Two of the dots of a chart."""
_CHANGE_FROM = 60
"""Columns of a chart from which it shows the recent change beside the level."""


class Limits(Struct, frozen=True):
    """Limits that all charts share."""

    y: tuple[float, float] | None = None
    """Lowest and highest value in the unit of the charts; None for those of each curve."""
    x: Window | None = None
    """Steps; None for those of each curve."""


def grid(size: Size, count: int) -> tuple[int, int, Size]:
    """Return (columns, rows, size of a chart) of a page for `count` runs."""
    columns = max(1, min(size.width // LEAST.width, count))
    while columns > 1 and columns * columns > 2 * count:  # few runs have larger charts
        columns -= 1
    wanted = -(-max(count, 1) // columns)
    rows = max(1, min(size.height // LEAST.height, wanted))
    return columns, rows, Size(size.width // columns, size.height // rows)


def first_metric(runs: Sequence[Run], selected: Run | None, chosen: str = "") -> str:
    """Return the metric that is shown at first, see `main_reader`: as the selected run names it, or else most runs."""
    reader = main_reader(runs[:_SAMPLE], chosen)
    if selected is not None and (reading := reader(selected)) is not None:
        return reading.metric
    names = [reading.metric for reading in map(reader, runs[:_SAMPLE]) if reading is not None]
    return max(names, key=names.count) if names else next(iter(common_metrics(runs)), "")


def with_metric(runs: Iterable[Run], metric: str) -> tuple[Run, ...]:
    """Return the runs that have a metric."""
    return tuple(run for run in runs if name_in(run, metric))


@lru_cache(maxsize=8)
def reader_of(metric: str) -> Reader:
    """Return the function that looks up a metric as the grid does; the same object for the same name."""
    return lambda run: reading_of(run, (name_in(run, metric),))


def common_limits(runs: Iterable[Run], metric: str) -> Limits:
    """Return the limits that charts of a metric of all these runs share: its lowest and highest finite value in the
    unit of the charts, and its steps from the first to the last one. The end of the steps moves in parts of their
    number, so that the charts of other runs are seldom drawn again."""
    spans = _spans(runs, metric)
    ends = [end for values, _ in spans for end in values]
    first, last = min((steps[0] for _, steps in spans), default=0), max((steps[1] for _, steps in spans), default=0)
    x = None
    if first < last:
        end = Window(float(last - first)).limits(float(last), "step")[1]
        x = Window(end - first, end)
    return Limits((min(ends), max(ends)) if ends else None, x)


def comparable(runs: Sequence[Run], metric: str) -> bool:
    """Return whether half of the curves or more take at least _LEAST_SHARE of the height and width that charts with the
    same limits have; otherwise most of these charts would look empty."""
    limits = common_limits(runs, metric)
    if limits.y is None or limits.x is None:
        return True
    boxes = [(max(values) - min(values), last - first) for values, (first, last) in _spans(runs, metric) if values]
    height = (limits.y[1] - limits.y[0]) * _LEAST_SHARE
    width = max(width for _, width in boxes) * _LEAST_SHARE
    return 2 * sum(own >= height and steps >= width for own, steps in boxes) >= len(boxes)


def _spans(runs: Iterable[Run], metric: str) -> list[tuple[list[float], list[int]]]:
    """Return (lowest and highest value, or [] without a finite one; first and last step) of a metric in the runs that
    have it."""
    readings = filter(None, (reading_drawn(run, name_in(run, metric)) for run in runs))
    spans: list[tuple[list[float], list[int]]] = []
    for reading in readings:
        ends = (reading.curve.min, reading.curve.max)
        values = [point.value * reading.factor for point in ends if point is not None]
        spans.append((values, [int(step) for step in reading.curve.steps[[0, -1]]]))
    return spans


def merged(runs: Sequence[Run], failed: Container[int] = ()) -> dict[int, OverlayLine]:
    """Map the first run of each group of runs that differ only in their seed to the line that all of them share.

    failed: ids of runs that are not healthy.
    """
    lines = overlay_lines(runs, runs, True, {}, failed)
    return {line.runs[0].id: line for line in lines if len(line.runs) > 1}


def chart(
    run: Run,
    metric: str,
    limits: Limits,
    listing: Listing,
    size: Size,
    line: OverlayLine | None = None,
) -> Rows:
    """Return the chart of a run as rows, each exactly as wide as `size`, with the level that the run list shows.

    line: runs that differ only in their seed; the chart then has their mean and range, with name and value as legend.
    """
    own = name_in(run, metric)
    panel = metric_panel(own or metric)
    fixed = () if limits.y is None or limits.y[0] == limits.y[1] else ((panel.id, *limits.y),)
    overlay = () if line is None else (line,)
    options = ChartOptions(y_fixed=fixed, window=limits.x, axis_named=True, overlay=overlay)
    view = panel.view(run, size, listing.now, listing.symbols, options)
    members = (run,) if line is None else line.runs
    sign = " !" if any(member.id in listing.alerts for member in members) else "  "
    if line is not None:
        return render(replace(view, title=sign, notes=()), size, listing.symbols)
    name = sign + fit(clean(run.name[listing.shared :]), max(size.width - 13, 8), "ends").rstrip()
    reader = reader_of(metric)
    level = level_cell(reader(run), size.width, listing.levels.level(run, reader))
    headline = (*level, *view.headline[1:]) if size.width >= _CHANGE_FROM else level
    notes = (clean(own),) if own != metric else ()
    view = replace(view, title=name, notes=notes, headline=headline)
    return render(view, size, listing.symbols)
