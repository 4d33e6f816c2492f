"""Every metric of the run as a row, to find one among thousands. Only the rows on the screen are worked out."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Click
from textual.message import Message
from textual.widgets import Input, Static

from tuimon.model.views import Role, Row, Symbols
from tuimon.panels.lists.metric_rows import (
    METRIC_SORTS,
    MetricWidths,
    metric_head,
    metric_layout,
    metric_row,
    metrics_listed,
)
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.actions import Action
from tuimon.tui.bars import Line, key_spans
from tuimon.tui.box import Cells
from tuimon.tui.filtering import matching
from tuimon.tui.sections import ordered
from tuimon.tui.state import ViewState
from tuimon.tui.work_screen import WorkScreen

_WHEEL = 3
"""Rows a turn of the wheel."""


class MetricTable(Cells):
    """The heads of the columns, and as many metrics as there is room for; one is selected."""

    DEFAULT_CSS = "MetricTable { height: 1fr; width: 1fr; }"

    class Clicked(Message):
        """A person has clicked a column's head, or a metric twice."""

        def __init__(self, column: str, open: bool) -> None:
            super().__init__()
            self.column, self.open = column, open

    def __init__(self) -> None:
        super().__init__()
        self.names: tuple[str, ...] = ()
        self._longest = 0
        self.cursor = 0
        self._top = 0
        self._widths: MetricWidths = ()
        self._shown: tuple[Run, str, bool, Symbols, str] | None = None
        self._made: dict[tuple[str, bool], Row] = {}
        """Rows that were drawn of this run as it is, by metric and selection."""
        self._made_of: tuple[Run, MetricWidths, Symbols] | None = None

    @property
    def selected(self) -> str | None:
        """None in an empty list."""
        return self.names[self.cursor] if self.cursor < len(self.names) else None

    @property
    def room(self) -> int:
        """Metrics that can be seen at once."""
        return max(self.size.height - 1, 1)

    def list(self, names: tuple[str, ...], selected: str | None) -> None:
        """The metrics in their order; the selection stays with its metric."""
        if names is not self.names:
            self.names, self._longest = names, max(map(len, names), default=0)
        self.cursor = names.index(selected) if selected in names else 0

    def show(self, run: Run, sort: str, reverse: bool, symbols: Symbols, theme: str) -> None:
        """Draws the rows that differ."""
        self._shown = run, sort, reverse, symbols, theme
        self._draw()

    def move(self, rows: int) -> None:
        """Selects another metric."""
        self.cursor = max(0, min(self.cursor + rows, len(self.names) - 1))
        self._draw()

    def _draw(self) -> None:
        width, height = self.size
        if self._shown is None or width < 1 or height < 1:
            return
        run, sort, reverse, symbols, theme = self._shown
        self._widths = metric_layout(width, self._longest)
        self._top = max(min(self._top, self.cursor, len(self.names) - self.room), self.cursor - self.room + 1, 0)
        seen = range(self._top, min(self._top + self.room, len(self.names)))
        if self._made_of != (run, self._widths, symbols):
            self._made_of = run, self._widths, symbols
            self._made.clear()
        rows = [self._row(self.names[at], at == self.cursor) for at in seen]
        blank: Row = ((" " * width, Role.MUTED),)
        head = metric_head(self._widths, sort, reverse, symbols, width)
        self.paint((head, *rows, *[blank] * (height - 1 - len(rows))), theme)

    def _row(self, name: str, selected: bool) -> Row:
        assert self._made_of is not None
        run, widths, symbols = self._made_of
        found = self._made.get((name, selected))
        if found is None:
            found = metric_row(run, name, widths, selected, symbols, self.size.width)
            self._made[name, selected] = found
        return found

    def on_resize(self) -> None:
        self._rows, self._made_of = (), None
        self._draw()

    def on_click(self, event: Click) -> None:
        if event.y == 0:
            left = 2
            for column, cells in self._widths:
                if event.x < left + cells + 2:
                    self.post_message(self.Clicked(column.id, False))
                    return
                left += cells + 2
        elif self._top + event.y - 1 < len(self.names):
            self.move(self._top + event.y - 1 - self.cursor)
            if event.chain >= 2:
                self.post_message(self.Clicked("", True))

    def on_mouse_scroll_down(self) -> None:
        self.move(_WHEEL)

    def on_mouse_scroll_up(self) -> None:
        self.move(-_WHEEL)


class MetricBrowser(WorkScreen):
    """The metrics of the run that is shown, with a line above that says what is listed, and one below for the keys."""

    WHERE = "metrics"
    AUTO_FOCUS = ""
    CSS = """
    MetricBrowser { background: ansi_default; layout: vertical; }
    #metric-filter-bar { height: 1; }
    #metric-filter-prompt { width: auto; color: ansi_bright_blue; }
    #metric-filter { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """

    def __init__(self, actions: tuple[Action, ...], selected: str = "") -> None:
        super().__init__(actions)
        self.sort, self.reverse, self.query_text = METRIC_SORTS[0], False, ""
        self._first = selected
        self._said = ""
        self._listed: tuple[object, ...] = ()
        self.head, self.table, self.message, self.keys = Line(), MetricTable(), Line(), Line()
        hint = "part of a name; * and ?; re:expression"
        self.filter_line = Input(id="metric-filter", placeholder=hint, compact=True)
        self.filter_bar = Horizontal(
            Static(" metrics / ", id="metric-filter-prompt", markup=False), self.filter_line, id="metric-filter-bar"
        )
        self.message.display = self.filter_bar.display = False

    def compose(self) -> ComposeResult:
        yield from (self.head, self.table, self.filter_bar, self.message, self.keys)

    def on_mount(self) -> None:
        self.tuimon.redraw()

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = self.tuimon.run_shown
        if run is None:
            return
        # Sorted anew when a person asks, or there is a new metric: rows that jump about cannot be read.
        listed = (run.id, run.metrics, self.sort, self.reverse, self.query_text)
        if listed != self._listed:
            self._listed = listed
            names = matching(ordered(run.metrics, "relevance"), self.query_text)
            selected, self._first = self._first or self.table.selected, ""
            self.table.list(metrics_listed(run, names, self.sort, self.reverse), selected)
        self.head.draw(self._head(run), state.theme)
        self.table.show(run, self.sort, self.reverse, state.symbols, state.theme)
        self.message.display = bool(self._said)
        self.message.draw(((f" i {clean(self._said)}", Role.ACCENT),), state.theme)
        self.keys.draw(key_spans(self.actions, self.keys.size.width), state.theme)

    def _head(self, run: Run) -> Row:
        total, count = len(run.metrics), len(self.table.names)
        said = [(f" {clean(run.name)}", Role.TITLE), (f"  {total} metric{'s' if total != 1 else ''}", Role.TEXT)]
        if count != total:
            said.append((f", {count} listed", Role.TEXT))
        if self.query_text:
            said.append((f"  /{clean(self.query_text)}", Role.ACCENT))
        said.append((f"  by {self.sort}{', turned round' if self.reverse else ''}", Role.MUTED))
        return tuple(said)

    def say(self, message: str) -> None:
        self._said = message
        self.tuimon.redraw()

    def on_key(self, event: object) -> None:
        self._said = ""  # what the key before did

    def sort_by(self, column: str) -> None:
        """By a column; by the same one again: turned round."""
        self.reverse = column == self.sort and not self.reverse
        self.sort = column
        self.tuimon.redraw()

    def begin_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.filter_line.value = self.query_text
        self.filter_bar.display = True
        self.filter_line.focus()

    def go_back(self) -> bool:
        if not self.filter_bar.display and not self.query_text:
            return False
        self._end_filter("")
        return True

    def _end_filter(self, query: str) -> None:
        self.filter_bar.display = False
        self.set_focus(None)
        self.query_text = query
        self.tuimon.redraw()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.filter_bar.display:
            self.query_text = event.value
            self.tuimon.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._end_filter(event.value)

    def on_resize(self) -> None:
        self.call_after_refresh(self.tuimon.redraw)

    def on_metric_table_clicked(self, event: MetricTable.Clicked) -> None:
        if event.open:
            self.open()
        else:
            self.sort_by(event.column)

    def open(self) -> None:
        """The chart of the selected metric on the whole screen; the keys for pages go through the others listed."""
        if self.table.selected is None:
            self.say("No metric is listed: Esc ends the filter")
        else:
            self.tuimon.show_metrics(self.table.names, self.table.selected)
