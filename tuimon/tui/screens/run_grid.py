"""One metric of every listed run, as a grid of charts with comparable limits."""

from __future__ import annotations

from collections.abc import Mapping

from textual.events import Click, MouseScrollDown, MouseScrollUp

from tuimon.draw import FrameCache
from tuimon.draw.rows import fit_row
from tuimon.model.views import Role, Row, Rows, Size, Symbols
from tuimon.panels import OverlayLine
from tuimon.panels.lists import multiples
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run
from tuimon.tui.box import CellGrid


class RunGrid(CellGrid):
    """A page of charts, one of which is selected. Only charts of this page are drawn, and only if their run, the
    metric, the limits or the size has changed."""

    DEFAULT_CSS = "RunGrid { height: 1fr; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.runs: tuple[Run, ...] = ()
        self.metric = ""
        self.same_limits: bool | None = None
        """Whether the charts share their limits, as the user has chosen; None: see multiples.comparable."""
        self._comparable: tuple[str, int, bool] = ("", 0, True)
        """Metric, number of runs, and whether their charts can be compared."""
        self.cursor, self._kept = 0, ""
        """Index of the selected run, and its path, which stays selected."""
        self.columns, self.lines = 1, 1
        self._listing: Listing | None = None
        self._theme = ""
        self._lines: Mapping[int, OverlayLine] = {}
        self._drawn: dict[str, tuple[tuple[object, ...], Rows, FrameCache]] = {}
        """Path of a run -> inputs of its chart, the drawn rows, and the cached frames."""

    @property
    def room(self) -> int:
        """Number of charts on a page."""
        return self.columns * self.lines

    @property
    def shares_limits(self) -> bool:
        """Whether all charts have the same limits."""
        if self.same_limits is not None:
            return self.same_limits
        if self._comparable[:2] != (self.metric, len(self.runs)):
            self._comparable = (self.metric, len(self.runs), multiples.comparable(self.runs, self.metric))
        return self._comparable[2]

    @property
    def selected(self) -> Run | None:
        """The selected run, or None if there is none."""
        return self.runs[self.cursor] if self.cursor < len(self.runs) else None

    @property
    def page(self) -> tuple[int, int]:
        """(number of this page from 1, number of pages)."""
        return self.cursor // self.room + 1, max(1, -(-len(self.runs) // self.room))

    def show(
        self, runs: tuple[Run, ...], listing: Listing, theme: str, lines: Mapping[int, OverlayLine] | None = None
    ) -> None:
        """Display these runs in this order; the selected one stays selected.

        lines: id of the first run -> runs that are drawn as one chart; the others of them are not displayed.
        """
        self._lines = lines or {}
        others = {run.id for line in self._lines.values() for run in line.runs[1:]}
        runs = tuple(run for run in runs if run.id not in others)
        self.runs, self._listing, self._theme = runs, listing, theme
        places = (index for index, run in enumerate(runs) if run.path == self._kept)
        self.cursor = next(places, max(0, min(self.cursor, len(runs) - 1)))
        self.draw()

    def select(self, path: str) -> None:
        """Select a run, now or when it is displayed."""
        self._kept = path

    def move(self, charts: int) -> None:
        """Select another chart, or the last one in that direction."""
        self.cursor = max(0, min(self.cursor + charts, len(self.runs) - 1))
        self._kept = self.selected.path if self.selected is not None else ""
        self.draw()

    def draw(self) -> None:
        width, height = self.size
        if self._listing is None or width < 1 or height < 1:
            return
        self.columns, self.lines, size = multiples.grid(Size(width, height), len(self.runs))
        gap = int(self.columns > 1)
        inside, blank = Size(size.width - gap, size.height), (" " * gap, Role.TEXT)
        first = self.cursor // self.room * self.room
        limits = multiples.common_limits(self.runs, self.metric) if self.shares_limits else multiples.Limits()
        rows: list[Row] = []
        for start in range(first, min(first + self.room, len(self.runs)), self.columns):
            charts = [self._chart(run, limits, inside) for run in self.runs[start : start + self.columns]]
            for line in range(size.height):
                spans = [
                    span
                    for chart in charts
                    for span in (*(chart[line] if line < len(chart) else ((" " * inside.width, Role.TEXT),)), blank)
                ]
                rows.append(fit_row(spans, width))
        if not self.runs:
            rows.append(fit_row(((" no run is listed", Role.MUTED),), width))
        self.paint_filled(rows, self._theme)

    def _chart(self, run: Run, limits: multiples.Limits, size: Size) -> Rows:
        assert self._listing is not None
        listing, line = self._listing, self._lines.get(run.id)
        level = listing.levels.level(run, multiples.reader_of(self.metric))
        look = size, listing.symbols, run.id in listing.alerts, listing.shared
        inputs = (run, self.metric, level, limits, *look, line)
        drawn = self._drawn.get(run.path)
        if drawn is None or drawn[0] != inputs:
            frames = FrameCache() if drawn is None else drawn[2]
            drawn = self._drawn[run.path] = (
                inputs,
                multiples.chart(run, self.metric, limits, listing, size, frames, line),
                frames,
            )
        rows = drawn[1]
        if run is not self.selected or not rows:
            return rows
        (title, _), *others = rows[0]
        cursor = ">" if listing.symbols is Symbols.ASCII else "▌"
        return ((cursor + title[1:], Role.ACCENT), *others), *rows[1:]

    def on_resize(self) -> None:
        self._rows = ()
        self._drawn.clear()
        self.draw()

    def on_click(self, event: Click) -> None:
        if self._listing is None:
            return
        _, _, size = multiples.grid(Size(*self.size), len(self.runs))
        place = event.y // size.height * self.columns + min(event.x // size.width, self.columns - 1)
        self.move(self.cursor // self.room * self.room + place - self.cursor)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self.move(self.columns)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.move(-self.columns)
