"""Rows about the store: cost of drawing long runs compared with short ones."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil

from tests.bench._corpora import tags
from tests.bench._row import Row
from tuimon.draw import FrameCache, render
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import y_limits
from tuimon.model.events import Columns, MetricsFound, RunFound, StreamFound
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Size, Symbols
from tuimon.panels import metric_panel
from tuimon.store import Run, Store

SIZE = Size(100, 16)
_BLOCK = 100_000
_SHORT = 10_000


def rows(folder: Path, full: bool) -> Iterator[Row]:
    many = 10_000_000 if full else 1_000_000
    short, long = Feed(10, _SHORT), Feed(10, _SHORT)
    grown = psutil.Process().memory_info().rss
    long.grow(many - _SHORT)
    long.draw()
    gc.collect()
    grown = psutil.Process().memory_info().rss - grown
    size = f"10 series x {many // 1_000_000}M"
    yield Row(f"{size}: resident a point, pyramids too", grown / (10 * (many - _SHORT)), "B", 24, 12)
    for what, one, other in (
        ("a row of points, frame of 10 charts", long.frame, short.frame),
        ("zoom and pan, frame of 10 charts", long.zoom, short.zoom),
        ("  its envelopes alone", long.query, short.query),
    ):
        ours, base = alternate(one, other)
        against = f"{ours:.2f} ms against {base:.2f} ms at 10k points each"
        least, aim = (math.nan, math.nan) if one == long.query else (1.5, 1.1)
        yield Row(f"{size}: {what}", ours / base, "x", least, aim, against=against)


def alternate(one: Callable[[], object], other: Callable[[], object], rounds: int = 30) -> tuple[float, float]:
    """Median CPU milliseconds of two actions that take turns."""
    times: tuple[list[float], list[float]] = [], []
    for action in (one, other) * 3:
        action()
    for _ in range(rounds):
        for found, action in zip(times, (one, other), strict=True):
            begun = time.thread_time()
            action()
            found.append(time.thread_time() - begun)
    return statistics.median(times[0]) * 1e3, statistics.median(times[1]) * 1e3


class Feed:
    """A store with one run whose metrics all grow."""

    def __init__(self, metrics: int, points: int) -> None:
        self.names = tags(metrics)
        self.store = Store()
        self.store.apply(RunFound(0, "run", "/run"))
        self.store.apply(StreamFound(0, 0, "events", "/run/events", "tensorboard", 40, "", 0))
        self.store.apply(MetricsFound(0, 0, tuple(self.names)))
        self.points = 0
        self._chance = np.random.default_rng(7)
        self._frames = FrameCache()
        self._moved = 0
        self.grow(points)

    def grow(self, points: int) -> None:
        """Append points to each metric."""
        while points:
            count = min(points, _BLOCK)
            metrics = len(self.names)
            steps = np.tile(np.arange(self.points, self.points + count), metrics)
            values = np.cumsum(self._chance.normal(size=metrics * count))
            ids, counts = np.arange(metrics, dtype=np.uint32), np.full(metrics, count, np.uint32)
            self.store.apply(Columns(0, ids, counts, steps, values, 1.7e9 + steps.astype(np.float64)))
            self.points += count
            points -= count

    @property
    def run(self) -> Run:
        return self.store.snapshot().runs[0]

    def draw(self) -> None:
        """Every metric as a chart, from a snapshot taken now."""
        run = self.run
        for name in self.names:
            render(metric_panel(name).view(run, SIZE, 1.7e9, Symbols.BRAILLE), SIZE, Symbols.BRAILLE, self._frames)

    def frame(self) -> None:
        """A point more of each metric, and the charts."""
        self.grow(1)
        self.draw()

    def query(self) -> None:
        """The last percent, the middle and all of each metric, as envelopes."""
        self._windows()

    def zoom(self) -> None:
        """Draw the same windows as charts. No window is repeated, so each chart needs a new frame."""
        columns = plot_columns(SIZE.width)
        for low, high, found in self._windows():
            x, y = Axis(low, high, kind="step"), Axis(*y_limits([found]))
            view = ChartView("metric", (), x, y, (Line("", SERIES_ROLES[0], found),), columns=columns)
            render(view, SIZE, Symbols.BRAILLE, self._frames)

    def _windows(self) -> list[tuple[float, float, Envelope]]:
        run = self.run
        self._moved += 1
        found = []
        for name, (low, high) in zip(self.names, ((0.98, 0.99), (0.3, 0.7), (0.0, 0.99)) * 4, strict=False):
            inside = low * self.points + self._moved, high * self.points + self._moved
            found.append((*inside, run.curve(name).envelope(*inside, plot_columns(SIZE.width))))
        return found
