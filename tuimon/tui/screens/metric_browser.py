"""Metric list: every metric of the run as a row, to find one metric among thousands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tuimon.analysis.metric_filter import expression_error, matching
from tuimon.draw.table import Column, Order, sort_items
from tuimon.model.views import Role, Row, Rows, Size
from tuimon.panels import ChartOptions, plural, why_no_match
from tuimon.panels.lists.metric_rows import metric_columns, metric_signs
from tuimon.store import Run, Snapshot
from tuimon.text import clean, fit_distinct
from tuimon.tui.action import Action
from tuimon.tui.arrangement import ordered
from tuimon.tui.screens.scatter import scatter_plot
from tuimon.tui.screens.table import TableScreen
from tuimon.tui.screens.work_screen import UNQUEUED, head_of
from tuimon.tui.state import ViewState
from tuimon.tui.table import Table

_LIST = 8
"""Maximum number of rows of the list above a plot."""


class MetricTable(Table[str]):
    """Names of metrics with their values."""

    SIGNS = 2

    def __init__(self) -> None:
        super().__init__()
        self.fixed, self.is_y = "", True
        """Metric that the others are plotted against, and whether it is drawn upwards; "": no plot."""
        self.run: Run | None = None
        self.options = ChartOptions()
        self.marked: tuple[str, ...] = ()
        """Marked metrics, in the order in which they were marked."""
        self.short: dict[str, str] = {}
        """Names that are visible -> as they are displayed: those that are cut stay distinct."""

    @property
    def room(self) -> int:
        """Number of rows; at most a third of the height above a plot."""
        rows = super().room
        return max(min(self.count, _LIST, rows // 3), 1) if self.fixed else rows

    def below(self, visible: Sequence[str], taken: int) -> Rows:
        """Return the plot of the selected metric."""
        width, height = self.size.width, self.size.height
        if not self.fixed or self.run is None or self.selected is None or height <= taken + 1:
            return ()
        x, y = (self.selected, self.fixed) if self.is_y else (self.fixed, self.selected)
        return tuple(scatter_plot(self.run, x, y, self.options, Size(width, height - taken), self.symbols))

    def signs(self, item: str, selected: bool) -> Row:
        return metric_signs(selected, item in self.marked)

    def prepare(self, visible: Sequence[str]) -> None:
        cells = next(cells for column, cells in self.fitted if column.id == "metric")
        short = dict(zip(visible, fit_distinct([clean(name) for name in visible], cells), strict=True))
        if short != self.short:
            self.short.clear()
            self.short.update(short)
            self._cache.clear()


def unusual_metrics(run: Run, step: int, stop: Callable[[], bool]) -> dict[str, float]:
    """Return the median before each metric that `--unusual` lists for a step, those that differ most first.

    stop: return early once it returns True.
    """
    from tuimon.exports.around import around

    entries = [entry for entry in around(run, step, stop) if entry.unusual]
    entries.sort(key=lambda entry: -abs(entry.distance or 0.0) if math.isfinite(entry.value) else -math.inf)
    return {entry.name: math.nan if entry.usual is None else entry.usual for entry in entries}


class MetricBrowser(TableScreen[MetricTable]):
    """The metric list of the run that is shown."""

    WHERE = "metrics"
    PROMPT = "metrics"
    PLACEHOLDER = "part of a name; * and ?; re:expression"

    def __init__(self, actions: tuple[Action, ...], selected: str = "", unusual: bool = False) -> None:
        """selected: metric that is selected at first; unusual: list only metrics that are unusual at the cursor."""
        super().__init__(actions, MetricTable())
        self._is_unusual = unusual
        self.table.select(selected or None)
        self._made_for: tuple[object, ...] = ()
        self._columns: tuple[Column[str], ...] = ()
        self._names: list[str] = []
        """Metrics that are listed, in their order."""
        self._listed: tuple[object, ...] = ()
        """Everything that the order of the rows was computed from."""
        self._unusual: dict[str, float] | None = None
        """Metrics that are unusual at the cursor, with the medians before; None while they are computed."""
        self._unusual_for: tuple[object, ...] = ()
        """Identity and metrics of the run, and the step, that `_unusual` is of."""

    def _find_unusual(self, run: Run, step: int) -> None:
        """Compute in a thread which metrics are unusual at a step: of 2,000 metrics it takes 0.3 to 1 s."""
        wanted = run.id, run.metrics, step
        if self._unusual_for == wanted:
            return
        self._unusual, self._unusual_for = None, wanted

        def is_wanted() -> bool:
            return self._unusual_for == wanted

        def show(names: dict[str, float]) -> None:
            self._unusual = names

        self.in_thread(lambda: unusual_metrics(run, step, lambda: not is_wanted()), show, is_wanted, queue=UNQUEUED)

    def on_unmount(self) -> None:
        self._unusual_for = ()

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = self.app.run_shown
        if run is None:
            return
        # Sort only when the user asks for it or a metric is new: rows that keep changing places cannot be read.
        cursor = state.options.cursor
        if cursor is None:
            self._is_unusual = False
        needed = cursor if self.order.by == "at" or self._is_unusual else None
        if self._is_unusual and cursor is not None:
            self._find_unusual(run, cursor)
        unusual = self._unusual if self._is_unusual else None
        listed = (
            run.id,
            run.metrics,
            self.order,
            self.query_text,
            self._is_unusual,
            needed,
            self.table.fixed,
            unusual and tuple(unusual),
        )
        if listed != self._listed:
            self._listed = listed
            known = tuple(name for name in ordered(run, "relevance") if name != self.table.fixed)
            if self._is_unusual:
                known = tuple(unusual or ())
            names = matching(known, self.query_text)
            is_computed = not self._is_unusual or unusual is not None
            self._names = sort_items(names, metric_columns(run, state.symbols, cursor, unusual), self.order)
            query, why = self.query_text, why_no_match(self.query_text, run) if not names else []
            reason = expression_error(query) or f"No metric matches {clean(query)}"
            empty = " ".join([f"{reason}. Esc shows all." if query else "No points yet.", *why])
            if self._is_unusual and not known:
                empty = f"No metric differs clearly at step {cursor} from its points before. w lists all metrics."
            if not is_computed:
                empty = f"Comparing {plural(len(run.metrics), 'metric')} with their points before step {cursor}"
            self.table.empty = ((empty, Role.TEXT),)
        made_for = run, state.symbols, cursor, unusual
        if made_for != self._made_for:
            self._made_for, self._columns = made_for, metric_columns(*made_for, self.table.short)
        if self.table.fixed not in run.metrics:
            self.table.fixed = self.view = ""
        self.table.run, self.table.options = run, state.options
        self.table.show_items(self._names, self._columns, self.order, state.symbols, state.theme)
        self.draw_lines(self._head(run), state.theme)

    def _head(self, run: Run) -> Row:
        total, count = len(run.metrics), self.table.count
        listed = f", {count} listed" if count != total else ""
        marked = f", {len(self.table.marked)} marked" if self.table.marked else ""
        order = self.order.by or ("distance" if self._is_unusual else "relevance")
        cursor, fixed = self.app.state.options.cursor, self.table.fixed
        return head_of(
            clean(run.name),
            (f"{plural(total, 'metric')}{listed}{marked}", Role.TEXT),
            (f"unusual at step {cursor}" if self._is_unusual else "", Role.WARNING),
            (f"{'y' if self.table.is_y else 'x'}: {clean(fixed)}" if fixed else "", Role.ACCENT),
            (f"/{clean(self.query_text)}" if self.query_text else "", Role.ACCENT),
            (f"by {order}{', reversed' if self.order.reverse else ''}", Role.MUTED),
            ("before: median" if self._is_unusual else "", Role.MUTED),
        )

    def toggle_unusual(self) -> None:
        """List only the metrics that are unusual at the cursor, those that differ most first; again: all."""
        if self.app.state.options.cursor is None:
            self.say("No cursor: press c or : on the dashboard to put it on a step")
            return
        self._is_unusual, self._unusual_for = not self._is_unusual, ()
        self.sort_by(Order())

    def plot(self, metric: str, is_y: bool = True) -> None:
        """Plot each other metric against one; "": no plot. is_y: whether that one is drawn upwards."""
        self.table.fixed, self.table.is_y = metric, is_y
        self.view = "scatter" if metric else ""
        if metric:
            self.table.cursor = 0
        self.table.select(None)

    def swap(self) -> bool:
        """Exchange x and y of the plot. Return False if there is none."""
        self.table.is_y = not self.table.is_y
        return bool(self.table.fixed)

    def mark(self) -> None:
        """Mark the selected metric, or remove its mark, and select the next one."""
        table, name = self.table, self.table.selected
        if name is not None:
            others = tuple(other for other in table.marked if other != name)
            table.marked = others if name in table.marked else (*others, name)
            table.forget_rows()
            table.move(1)

    def open(self) -> None:
        """Show the chart of the selected metric zoomed; the page keys then go through the other listed metrics.

        Two or more marked metrics are drawn in one chart.
        """
        run = self.app.run_shown
        marked = [name for name in self.table.marked if run is not None and name in run.metrics]
        if len(marked) > 1:
            self.app.show_together(marked)
        elif self.table.selected is None:
            self.say("No metric is listed: Esc removes the filter")
        else:
            self.app.show_metrics(tuple(self.table.items), self.table.selected)

    def copied(self) -> tuple[str, str] | None:
        """Return the name of the selected metric and its last value, in full."""
        run, name = self.app.run_shown, self.table.selected
        if run is None or name is None:
            return None
        value = repr(float(run.curve(name).values[-1]))
        return f"{clean(name)}\t{value}", f"{clean(name)}: {value}"
