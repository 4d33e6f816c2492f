"""Rows about exploring: cost of a key on a chart with ten million points, compared with one with ten thousand."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.bench import _pace
from tests.bench._row import Row
from tests.bench._store_rows import Feed
from tuimon.draw import FrameCache, render
from tuimon.draw.table import Order, fit_columns, sort_items, table_row
from tuimon.draw.window import panned, zoomed
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels import ChartOptions, metric_panel
from tuimon.panels.lists.metric_rows import metric_columns
from tuimon.store import Run

LONG, SHORT = 10_000_000, 10_000
SCREEN = Size(200, 46)
_ROUNDS = 60


class Chart:
    """A zoomed chart of one metric, moved as keys move it."""

    def __init__(self, points: int, options: ChartOptions) -> None:
        self.feed = Feed(1, points)
        self.options = options
        self._frames = FrameCache()
        self._back = -0.25
        self.view = self._drawn()
        for _ in range(2):
            self.options = replace(self.options, window=zoomed(self.view, 0.5))
            self.view = self._drawn()

    def _drawn(self) -> ChartView:
        view = metric_panel(self.feed.names[0]).view(self.feed.run, SCREEN, 1.7e9, Symbols.BRAILLE, self.options)
        assert isinstance(view, ChartView)
        render(view, SCREEN, Symbols.BRAILLE, self._frames)
        return view

    def pan(self) -> None:
        """A quarter of the window to and fro, over the last quarter of the data and the one before."""
        before = self.view.x.low
        self.options = replace(self.options, window=panned(self.view, self._back))
        self.view = self._drawn()
        assert self.view.x.low != before, "nothing was moved, so nothing would be measured"
        assert self.view.extent is not None
        first, last = self.view.extent
        if self.view.x.low <= first + 0.3 * (last - first) or self.view.x.high >= last:
            self._back = -self._back


def side_by_side(long: Callable[[], None], short: Callable[[], None]) -> tuple[float, float]:
    """Median CPU time of each in milliseconds, measured in turn."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(_ROUNDS):
        for action, times in zip((long, short), found, strict=True):
            begun = time.thread_time()
            action()
            if number >= 5:
                times.append(time.thread_time() - begun)
    return statistics.median(found[0]) * 1e3, statistics.median(found[1]) * 1e3


def rows(folder: Path, full: bool) -> Iterator[Row]:
    yield from panning()
    yield from listing()


def listing() -> Iterator[Row]:
    """The list of ten thousand metrics against one of a hundred, as a key redraws it: a screen of rows."""
    runs = [Feed(metrics, 50).run for metrics in (10_000, 100)]
    fitted = {
        len(run.metrics): fit_columns(
            metric_columns(run, Symbols.BRAILLE), run.metrics[: SCREEN.height], SCREEN.width - 2
        )
        for run in runs
    }

    def page(run: Run) -> None:
        for name in run.metrics[: SCREEN.height]:
            table_row(fitted[len(run.metrics)], name)

    long, short = side_by_side(*(partial(page, run) for run in runs))
    against = f"{long:.2f} ms against {short:.2f} ms, {SCREEN.height} rows"
    yield Row("a screen of 10 000 metrics, against 100", long / short, "x", 1.5, 1.1, against=against)
    begun = time.thread_time()
    sort_items(runs[0].metrics, metric_columns(runs[0], Symbols.BRAILLE), Order("last"))
    first = time.thread_time() - begun
    begun = time.thread_time()
    sort_items(runs[0].metrics, metric_columns(runs[0], Symbols.BRAILLE), Order("max"))
    against = f"{(time.thread_time() - begun) * 1e3:.0f} ms by another column"
    pace = _pace.of_python()
    yield Row("10 000 metrics sorted by a value, at first", first * 1e3, "ms", 1000, 500, against=against, pace=pace)


def panning() -> Iterator[Row]:
    """Rows of panning: the methods of Chart."""
    for what, options in (
        ("pan", ChartOptions(fullscreen=True)),
        ("pan, smoothed", ChartOptions(fullscreen=True, smoothing=0.9)),
        ("pan, by time", ChartOptions(fullscreen=True, axis="time")),
    ):
        charts = [Chart(points, options) for points in (LONG, SHORT)]
        long, short = side_by_side(charts[0].pan, charts[1].pan)
        against = f"{long:.2f} ms against {short:.2f} ms, a chart of {SCREEN.width}x{SCREEN.height}"
        yield Row(f"{what} over 10M points, against 10k", long / short, "x", 1.5, 1.1, against=against)
