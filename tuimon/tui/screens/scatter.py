"""Scatter view: one metric of the run against another at equal steps, with the list of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tuimon.analysis.aligned_steps import aligned, step_name
from tuimon.analysis.correlation import Pairs, correlation_words, pairs
from tuimon.analysis.metric_filter import matching
from tuimon.draw.numbers import thousands
from tuimon.draw.scatter import Points, render_scatter
from tuimon.draw.table import KEPT, Column
from tuimon.model.views import SERIES_ROLES, Role, Row, Rows, Size, Symbols
from tuimon.panels import ChartOptions, plural, window_limits
from tuimon.store import Curve, Run, Snapshot
from tuimon.text import clean, fit_distinct, fit_side_by_side
from tuimon.tui.action import Action
from tuimon.tui.arrangement import ordered
from tuimon.tui.screens.table import Table, TableScreen
from tuimon.tui.state import ViewState

_AGES = 4
"""Number of parts of the steps that have a colour each."""
_AGAINST = " against "
_LEAST_NAME = 8
"""Minimum cells of a name in the title of the plot."""
_LIST = 8
"""Maximum number of rows of the list."""


class ScatterTable(Table[str]):
    """Names of metrics, and below them the plot."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed, self.is_y = "", True
        """Metric that stays, and whether it is drawn upwards."""
        self.run: Run | None = None
        self.options = ChartOptions()
        self._short: dict[str, str] = {}
        self.named = (Column("metric", "", str.lower, self._shown_name, 8, KEPT, most=200, fills=True, right=False),)
        self.empty = ((" No other metric", Role.MUTED),)

    @property
    def room(self) -> int:
        return max(min(self.count, _LIST, self.size.height // 3), 1)

    def prepare(self, visible: Sequence[str]) -> None:
        short = fit_distinct([clean(name) for name in visible], self.size.width - 1)
        self._short = dict(zip(visible, short, strict=True))

    def _shown_name(self, name: str, width: int) -> Row:
        return ((self._short.get(name) or clean(name), Role.TEXT),)

    def below(self, visible: Sequence[str], taken: int) -> Rows:
        width, height = self.size
        if self.run is None or self.selected is None or height <= taken + 1:
            return ()
        x, y = (self.selected, self.fixed) if self.is_y else (self.fixed, self.selected)
        return tuple(_plot(self.run, x, y, self.options, Size(width, height - taken), self.symbols))


def _plot(run: Run, x: str, y: str, options: ChartOptions, size: Size, symbols: Symbols) -> list[Row]:
    """Return the plot of y against x, coloured by age: the pairs of the steps in the window."""
    across, up = aligned(run, x), aligned(run, y)
    drawn, is_part = _in_window(run, up, pairs(across, up), options)
    y_name, x_name = clean(y), clean(x)
    if not len(drawn.steps):
        ordinal = across.ordinal or up.ordinal
        why = "without steps values cannot be paired" if ordinal else "they have no finite values at equal steps"
        return [((f" {y_name}{_AGAINST}{x_name}: {why}{' in the window' if is_part else ''}", Role.MUTED),)]
    parts = [part for part in np.array_split(np.arange(len(drawn.steps)), _AGES) if len(part)]
    roles = SERIES_ROLES[: len(parts)]
    groups = [
        Points(f"{step_name(run)} {_steps(drawn, part)}", role, drawn.x[part], drawn.y[part])
        for part, role in zip(parts[::-1], roles[::-1], strict=True)
    ]
    words = correlation_words(drawn.x, drawn.y) + ("  in the window" if is_part else "")
    title, headline = plot_head(y_name, x_name, words, size.width)
    return list(render_scatter(title, headline, (x_name, ""), groups, size, symbols))


def plot_head(y: str, x: str, words: str, width: int) -> tuple[str, Row]:
    """Return the title and the headline, with names that are cut so that the correlation (`words`) fits.

    It is the title itself if too little would be left of the names, which the list has, too.
    """
    room = width - len(words) - 2 - len(_AGAINST)
    if room < 2 * _LEAST_NAME:
        return words, ()
    return _AGAINST.join(fit_side_by_side((y, x), room, _LEAST_NAME)), ((words, Role.VALUE),)


def _steps(drawn: Pairs, part: npt.NDArray[np.int64]) -> str:
    first, last = int(drawn.steps[part[0]]), int(drawn.steps[part[-1]])
    return thousands(first) + (f"–{thousands(last)}" if last > first else "")


def _in_window(run: Run, up: Curve, common: Pairs, options: ChartOptions) -> tuple[Pairs, bool]:
    """Return the pairs whose steps are in the window of the charts, and whether there is a window."""
    limits = window_limits(run, up, options)
    if limits is None:
        return common, False
    positions = up.x_of_steps(common.steps, run.scale(options.axis_of(run)))
    inside = (limits[0] <= positions) & (positions <= limits[1])
    return Pairs(common.steps[inside], common.x[inside], common.y[inside]), True


class ScatterScreen(TableScreen[str]):
    """A metric of the run against another one."""

    WHERE, OPENS = "scatter", "take"
    PROMPT = "metrics"
    PLACEHOLDER = "part of a name; * and ?; re:expression"

    def __init__(self, actions: tuple[Action, ...], metric: str, is_y: bool) -> None:
        """metric: metric that stays; is_y: whether it is drawn upwards."""
        self.table = ScatterTable()
        super().__init__(actions, self.table)
        self.table.fixed, self.table.is_y = metric, is_y

    def on_mount(self) -> None:
        self.dashboard.redraw()

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run, table = self.dashboard.run_shown, self.table
        if run is None or table.fixed not in run.metrics:
            self.draw_lines(((" the metric is gone", Role.TITLE),), state.theme)
            return
        names = tuple(name for name in matching(ordered(run, "relevance"), self.query_text) if name != table.fixed)
        table.run, table.options = run, state.options
        table.show_items(names, table.named, self.order, state.symbols, state.theme)
        head = f" {clean(run.name)}", Role.TITLE
        axis = "y" if table.is_y else "x"
        spans = [
            head,
            (f"  {axis}: {clean(table.fixed)}", Role.TEXT),
            (f"  {plural(len(names), 'metric')}", Role.MUTED),
        ]
        if self.query_text:
            spans.append((f"  /{clean(self.query_text)}", Role.ACCENT))
        self.draw_lines(tuple(spans), state.theme)

    def swap(self) -> None:
        """Exchange x and y."""
        self.table.is_y = not self.table.is_y
        self.dashboard.redraw()

    def open(self) -> None:
        """Keep the selected metric and list the others."""
        if self.table.selected:
            self.table.fixed, self.table.is_y = self.table.selected, not self.table.is_y
            self.dashboard.redraw()
