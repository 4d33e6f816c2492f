"""Metric list: every metric of the run as a row, to find one metric among thousands."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping

from textual.events import Click
from textual.message import Message

from tuimon.analysis.metric_filter import expression_error, matching
from tuimon.draw.rows import wrap_row
from tuimon.model.views import Role, Row, Symbols
from tuimon.panels import plural, why_no_match
from tuimon.panels.lists.metric_rows import (
    MetricWidths,
    metric_head,
    metric_layout,
    metric_names,
    metric_row,
    sort_metrics,
)
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.action import Action
from tuimon.tui.arrangement import ordered
from tuimon.tui.screens.table import Table, TableScreen
from tuimon.tui.state import ViewState


class MetricTable(Table):
    """Column heads and metrics."""

    DEFAULT_CSS = "MetricTable { height: 1fr; width: 1fr; }"

    class Clicked(Message):
        """A click on a column head (`column`), or a double click on a metric (`open`)."""

        def __init__(self, column: str, open: bool) -> None:
            super().__init__()
            self.column, self.open = column, open

    def __init__(self) -> None:
        super().__init__()
        self.names: tuple[str, ...] = ()
        self.marked: tuple[str, ...] = ()
        """Marked metrics, in the order in which they were marked."""
        self._empty = ""
        self._longest = 0
        """Length of the longest name."""
        self._widths: MetricWidths = ()
        self._shown: tuple[Run, str, bool, Symbols, str, int | None] | None = None
        self._cache: dict[tuple[str, str, bool, bool], Row] = {}
        """Rows by (metric, its name as displayed, selected, marked), drawn for `_cached_for`."""
        self._cached_for: tuple[object, ...] | None = None
        self._usual: Mapping[str, float] | None = None

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def selected(self) -> str | None:
        """Selected metric, or None if the list is empty."""
        return self.names[self.cursor] if self.cursor < len(self.names) else None

    def list(self, names: tuple[str, ...], selected: str | None, empty: str = "") -> None:
        """Set the metrics and their order, and select one of them. empty: text in place of missing rows."""
        self._empty = empty if not names else ""
        if names is not self.names:
            self.names, self._longest = names, max(map(len, names), default=0)
        self.cursor = names.index(selected) if selected in names else 0

    def show(
        self,
        run: Run,
        sort: str,
        reverse: bool,
        symbols: Symbols,
        theme: str,
        cursor: int | None = None,
        usual: Mapping[str, float] | None = None,
    ) -> None:
        """Display the values of the metrics. cursor: step of the cursor, or None. usual: metric -> median before the
        cursor, for a column of its own; None for no such column."""
        self._shown, self._usual = (run, sort, reverse, symbols, theme, cursor), usual
        self.draw()

    def draw(self) -> None:
        width, height = self.size
        if self._shown is None or width < 1 or height < 1:
            return
        run, sort, reverse, symbols, theme, step = self._shown
        self._widths = metric_layout(width, self._longest, step, self._usual is not None)
        if self._cached_for != (run, self._widths, symbols, step, self._usual):
            self._cached_for = run, self._widths, symbols, step, self._usual
            self._cache.clear()
        visible = self.scroll_to_cursor()
        # Only the visible names are cut so that they stay distinct: for 12,000 names it takes 2.5 s.
        short = metric_names([self.names[index] for index in visible], self._widths)
        rows = [self._row(index, name) for index, name in zip(visible, short, strict=True)]
        rows += wrap_row(((self._empty, Role.TEXT),), width, height) if self._empty else []
        self.paint_filled([metric_head(self._widths, sort, reverse, symbols, width, step), *rows], theme)

    def _row(self, index: int, shown: str) -> Row:
        """Return a row. shown: the name of the metric as it is displayed."""
        name, selected = self.names[index], index == self.cursor
        key = name, shown, selected, name in self.marked
        row = self._cache.get(key)
        if row is None and self._shown is not None:
            run, _, _, symbols, _, step = self._shown
            usual = None if self._usual is None else self._usual.get(name)
            row = metric_row(run, name, self._widths, selected, symbols, self.size.width, key[-1], step, shown, usual)
            self._cache[key] = row
        return row or ()

    def on_resize(self) -> None:
        self._rows, self._cached_for = (), None
        self.draw()

    def on_click(self, event: Click) -> None:
        if event.y == 0:
            left = 2
            for column, cells in self._widths:
                if event.x < left + cells + 2:
                    self.post_message(self.Clicked(column.id, False))
                    return
                left += cells + 2
        elif self.top + event.y - 1 < len(self.names):
            self.move(self.top + event.y - 1 - self.cursor)
            if event.chain >= 2:
                self.post_message(self.Clicked("", True))


def unusual_metrics(run: Run, step: int, stop: Callable[[], bool]) -> dict[str, float]:
    """Return the median before each metric that `--unusual` lists for a step, those that differ most first.

    stop: return early once it returns True.
    """
    from tuimon.exports.around import around

    entries = [entry for entry in around(run, step, stop) if entry.unusual]
    entries.sort(key=lambda entry: -abs(entry.deviations or 0.0) if math.isfinite(entry.value) else -math.inf)
    return {entry.name: math.nan if entry.usual is None else entry.usual for entry in entries}


class MetricBrowser(TableScreen):
    """The metric list of the run that is shown."""

    WHERE = "metrics"
    PROMPT = "metrics"
    PLACEHOLDER = "part of a name; * and ?; re:expression"

    def __init__(self, actions: tuple[Action, ...], selected: str = "", unusual: bool = False) -> None:
        """selected: metric that is selected at first; unusual: list only metrics that are unusual at the cursor."""
        self.table = MetricTable()
        super().__init__(actions, self.table)
        self.sort, self.reverse = "relevance", False
        self._is_unusual = unusual
        self._first = selected
        self._listed: tuple[object, ...] = ()
        """Everything that the order of the rows was computed from."""
        self._unusual: dict[str, float] | None = None
        """Metrics that are unusual at the cursor, with the medians before; None while they are computed."""
        self._unusual_for: tuple[object, ...] = ()
        """Identity and metrics of the run, and the step, that `_unusual` is of."""

    def on_mount(self) -> None:
        self.dashboard.redraw()

    def _find_unusual(self, run: Run, step: int) -> None:
        """Compute in a thread which metrics are unusual at a step: of 2,000 metrics it takes 0.3 to 1 s."""
        wanted = run.id, run.metrics, step
        if self._unusual_for == wanted:
            return
        self._unusual, self._unusual_for = None, wanted

        def is_outdated() -> bool:
            return self._unusual_for != wanted

        async def work() -> None:
            names = await asyncio.to_thread(unusual_metrics, run, step, is_outdated)
            if not is_outdated():
                self._unusual = names
                self.dashboard.redraw()

        self.run_worker(work())

    def on_unmount(self) -> None:
        self._unusual_for = ()

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = self.dashboard.run_shown
        if run is None:
            return
        # Sort only when the user asks for it or a metric is new: rows that keep changing places cannot be read.
        cursor = state.options.cursor
        if cursor is None:
            self._is_unusual = False
            self.sort = "relevance" if self.sort == "at" else self.sort
        if not self._is_unusual and self.sort == "before":
            self.sort = "relevance"
        needed = cursor if self.sort == "at" or self._is_unusual else None
        if self._is_unusual and cursor is not None:
            self._find_unusual(run, cursor)
        unusual = self._unusual if self._is_unusual else None
        listed = (
            run.id,
            run.metrics,
            self.sort,
            self.reverse,
            self.query_text,
            self._is_unusual,
            needed,
            unusual and tuple(unusual),
        )
        if listed != self._listed:
            self._listed = listed
            known = ordered(run, "relevance")
            if self._is_unusual:
                known = tuple(unusual or ())
            names = matching(known, self.query_text)
            selected = self._first or self.table.selected
            is_computed = not self._is_unusual or unusual is not None
            self._first = "" if is_computed else selected or ""
            query, why = self.query_text, why_no_match(self.query_text, run) if not names else []
            reason = expression_error(query) or f"No metric matches {clean(query)}"
            empty = " ".join([f"{reason}. Esc shows all." if query else "No points yet.", *why])
            if self._is_unusual and not known:
                empty = f"No metric differs clearly at step {cursor} from its points before. u lists all metrics."
            if not is_computed:
                empty = f"Comparing {plural(len(run.metrics), 'metric')} with their points before step {cursor}"
            self.table.list(sort_metrics(run, names, self.sort, self.reverse, cursor, unusual or {}), selected, empty)
        self.table.show(run, self.sort, self.reverse, state.symbols, state.theme, cursor, unusual)
        self.draw_lines(self._head(run), state.theme)

    def _head(self, run: Run) -> Row:
        total, count = len(run.metrics), len(self.table.names)
        spans = [(f" {clean(run.name)}", Role.TITLE), (f"  {total} metric{'s' if total != 1 else ''}", Role.TEXT)]
        if count != total:
            spans.append((f", {count} listed", Role.TEXT))
        if self.table.marked:
            spans.append((f", {len(self.table.marked)} marked", Role.TEXT))
        if self._is_unusual:
            spans.append((f", unusual at step {self.dashboard.state.options.cursor}", Role.WARNING))
        if self.query_text:
            spans.append((f"  /{clean(self.query_text)}", Role.ACCENT))
        order = "distance" if self._is_unusual and self.sort == "relevance" else self.sort
        spans.append((f"  by {order}{', reversed' if self.reverse else ''}", Role.MUTED))
        if self._is_unusual:
            spans.append(("  before: median", Role.MUTED))
        return tuple(spans)

    def toggle_unusual(self) -> None:
        """List only the metrics that are unusual at the cursor, those that differ most first; again: all."""
        if self.dashboard.state.options.cursor is None:
            self.say("No cursor: press c or : on the dashboard to put it on a step")
            return
        self._is_unusual, self._unusual_for = not self._is_unusual, ()
        self.sort, self.reverse = "relevance", False
        self.dashboard.redraw()

    def sort_by(self, column: str) -> None:
        """Sort by a column; reverse the order if the list is sorted by it already."""
        self.reverse = column == self.sort and not self.reverse
        self.sort = column
        self.dashboard.redraw()

    def on_metric_table_clicked(self, event: MetricTable.Clicked) -> None:
        if event.open:
            self.open()
        else:
            self.sort_by(event.column)

    def mark(self) -> None:
        """Mark the selected metric, or remove its mark, and select the next one."""
        table, name = self.table, self.table.selected
        if name is not None:
            others = tuple(other for other in table.marked if other != name)
            table.marked = others if name in table.marked else (*others, name)
            table.move(1)
            self.dashboard.redraw()

    def open(self) -> None:
        """Show the chart of the selected metric zoomed; the page keys then go through the other listed metrics.

        Two or more marked metrics are drawn in one chart.
        """
        run = self.dashboard.run_shown
        marked = [name for name in self.table.marked if run is not None and name in run.metrics]
        if len(marked) > 1:
            self.dashboard.show_together(marked)
        elif self.table.selected is None:
            self.say("No metric is listed: Esc removes the filter")
        else:
            self.dashboard.show_metrics(self.table.names, self.table.selected)
