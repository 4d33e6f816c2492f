"""One metric of every listed run, as a grid of charts with comparable limits."""

from __future__ import annotations

from collections.abc import Mapping

from tuimon.draw.rows import fit_row
from tuimon.model.views import Role, Row, Rows, Size
from tuimon.panels import OverlayLine
from tuimon.panels.lists import multiples
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run
from tuimon.tui.table import Click, Table


class RunGrid(Table[Run]):
    """A page of charts, one of which is selected. Only charts of this page are drawn, and only if their run, the
    metric, the limits or the size has changed."""

    TURN = 1

    def __init__(self) -> None:
        super().__init__()
        self.metric = ""
        self.same_limits: bool | None = None
        """Whether the charts share their limits, as the user has chosen; None: see multiples.comparable."""
        self._comparable: tuple[str, int, bool] = ("", 0, True)
        """Metric, number of runs, and whether their charts can be compared."""
        self.across, self.lines = 1, 1
        """Charts beside each other, and below each other."""
        self._listing: Listing | None = None
        self._lines: Mapping[int, OverlayLine] = {}
        self._drawn: dict[str, tuple[tuple[object, ...], Rows]] = {}
        """Path of a run -> inputs of its chart, and the drawn rows."""

    @property
    def room(self) -> int:
        return self.across * self.lines

    @property
    def shares_limits(self) -> bool:
        """Whether all charts have the same limits."""
        if self.same_limits is not None:
            return self.same_limits
        if self._comparable[:2] != (self.metric, self.count):
            self._comparable = (self.metric, self.count, multiples.comparable(self.items, self.metric))
        return self._comparable[2]

    @property
    def page(self) -> tuple[int, int]:
        """(number of this page from 1, number of pages)."""
        return self.cursor // self.room + 1, max(1, -(-self.count // self.room))

    def key(self, item: Run) -> str:
        return item.path

    def show(
        self, runs: tuple[Run, ...], listing: Listing, theme: str, lines: Mapping[int, OverlayLine] | None = None
    ) -> None:
        """Display these runs in this order; the selected one stays selected.

        lines: id of the first run -> runs that are drawn as one chart; the others of them are not displayed.
        """
        self._lines = lines or {}
        others = {run.id for line in self._lines.values() for run in line.runs[1:]}
        self._listing = listing
        self.show_items([run for run in runs if run.id not in others], (), self.order, listing.symbols, theme)

    def draw(self) -> None:
        width, height = self.size.width, self.size.height
        if self._listing is None or width < 1 or height < 1:
            return
        self.across, self.lines, size = multiples.grid(self.size, self.count)
        gap = int(self.across > 1)
        inside, blank = Size(size.width - gap, size.height), (" " * gap, Role.TEXT)
        first = self.cursor // self.room * self.room
        limits = multiples.common_limits(self.items, self.metric) if self.shares_limits else multiples.Limits()
        rows: list[Row] = []
        for start in range(first, min(first + self.room, self.count), self.across):
            charts = [self._chart(run, limits, inside) for run in self.items[start : start + self.across]]
            for line in range(size.height):
                spans = [
                    span
                    for chart in charts
                    for span in (*(chart[line] if line < len(chart) else ((" " * inside.width, Role.TEXT),)), blank)
                ]
                rows.append(fit_row(spans, width))
        if not self.items:
            rows.append(fit_row(((" no run is listed", Role.MUTED),), width))
        self.surface.paint_filled(rows, self.theme_shown)

    def _chart(self, run: Run, limits: multiples.Limits, size: Size) -> Rows:
        assert self._listing is not None
        listing, line = self._listing, self._lines.get(run.id)
        level = listing.levels.level(run, multiples.reader_of(self.metric))
        look = size, listing.symbols, run.id in listing.alerts, listing.shared
        inputs = (run, self.metric, level, limits, *look, line)
        drawn = self._drawn.get(run.path)
        if drawn is None or drawn[0] != inputs:
            drawn = self._drawn[run.path] = inputs, multiples.chart(run, self.metric, limits, listing, size, line)
        rows = drawn[1]
        if run is not self.selected or not rows:
            return rows
        (title, _), *others = rows[0]
        return (("▌" + title[1:], Role.ACCENT), *others), *rows[1:]

    def forget_widths(self) -> None:
        self._drawn.clear()

    def move(self, rows: int = 0, pages: int = 0) -> None:
        self.go_to(self.cursor + rows * self.across + pages * self.room)

    def aside(self, by: int) -> None:
        self.go_to(self.cursor + by)

    def click(self, x: int, y: int, twice: bool) -> Click:
        if self._listing is None:
            return Click()
        _, _, size = multiples.grid(self.size, self.count)
        place = y // size.height * self.across + min(x // size.width, self.across - 1)
        self.go_to(self.cursor // self.room * self.room + place)
        return Click(None, twice)
