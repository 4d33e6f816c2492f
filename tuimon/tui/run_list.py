"""Every run as a row: how it stands, how far it is, what it has reached. Only the rows on the screen are worked out."""

from __future__ import annotations

from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.message import Message
from textual.widgets import Input, Static

from tuimon.model.views import Role, Row, Span
from tuimon.panels.lists.run_rows import SIGNS, Widths, column_at, head_row, layout, run_row
from tuimon.panels.lists.runs import Listing, useful_columns
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean
from tuimon.tui.actions import Action
from tuimon.tui.bars import Line, key_spans
from tuimon.tui.box import Cells
from tuimon.tui.run_choice import RunChoice, listing_of, runs_of
from tuimon.tui.state import ViewState
from tuimon.tui.work_screen import WorkScreen

_WHEEL = 3
"""Rows a turn of the wheel."""
_EXAMPLES = "name  lr>1e-5  state:running  algo=ppo  -debug  a | b"


class RunTable(Cells):
    """The heads of the columns, and as many runs as there is room for; one is selected."""

    DEFAULT_CSS = "RunTable { height: 1fr; width: 1fr; }"

    class Clicked(Message):
        """A person has clicked a head (column), a run, or a run twice (open), or the signs before it (mark)."""

        def __init__(self, run: Run | None, column: str, open: bool, mark: bool) -> None:
            super().__init__()
            self.run, self.column, self.open, self.mark = run, column, open, mark

    def __init__(self) -> None:
        super().__init__()
        self.runs: tuple[Run, ...] = ()
        self.cursor = 0
        self._top = 0
        self._selected = ""
        """Path of the run that is selected: it stays so when the order changes."""
        self._useful: frozenset[str] = frozenset()
        self._widths: Widths = ()
        self._shown: tuple[Listing, RunChoice, str] | None = None
        self.made: dict[tuple[str, bool], Row] = {}
        """Rows that were worked out for the listing that is shown, by path and selection."""

    @property
    def run_selected(self) -> Run | None:
        """None in an empty list."""
        return self.runs[self.cursor] if self.cursor < len(self.runs) else None

    def show(self, runs: tuple[Run, ...], listing: Listing, choice: RunChoice, theme: str) -> None:
        """The runs in their order; draws the rows that differ."""
        if runs is not self.runs:
            self.runs = runs
            if not self.cursor < len(runs) or runs[self.cursor].path != self._selected:
                found = next((at for at, run in enumerate(runs) if run.path == self._selected), None)
                self.cursor = found if found is not None else max(0, min(self.cursor, len(runs) - 1))
        self._shown = listing, choice, theme
        self.made.clear()
        self._draw()

    def select(self, path: str) -> None:
        """Selects a run, if it is listed."""
        self._selected = path
        self.cursor = next((at for at, run in enumerate(self.runs) if run.path == path), self.cursor)
        self._draw()

    def move(self, rows: int) -> None:
        """Selects another run."""
        self.cursor = max(0, min(self.cursor + rows, len(self.runs) - 1))
        run = self.run_selected
        self._selected = run.path if run is not None else ""
        self._draw()

    @property
    def room(self) -> int:
        """Runs that can be seen at once."""
        return max(self.size.height - 1, 1)

    def _draw(self) -> None:
        width = self.size.width
        if self._shown is None or width < 1 or self.size.height < 1:
            return
        listing, choice, theme = self._shown
        self._top = max(min(self._top, self.cursor, len(self.runs) - self.room), self.cursor - self.room + 1, 0)
        seen = self.runs[self._top : self._top + self.room]
        self._useful |= useful_columns(seen, listing)
        useful = self._useful if listing.base is not None else self._useful - {"base"}
        longest = max((cell_width(clean(run.name[listing.shared :])) for run in seen), default=0)
        widths = layout(width, useful, longest)
        if widths != self._widths:
            self._widths = widths
            self.made.clear()
        head = head_row(self._widths, choice.sort, choice.reverse, listing.symbols, width)
        rows = [self._row(run, listing, width) for run in seen]
        blank: Row = ((" " * width, Role.MUTED),)
        self.paint((head, *rows, *[blank] * (self.size.height - 1 - len(seen))), theme)

    def _row(self, run: Run, listing: Listing, width: int) -> Row:
        selected = run is self.run_selected
        found = self.made.get((run.path, selected))
        if found is None:
            found = self.made[run.path, selected] = run_row(run, listing, self._widths, selected, width)
        return found

    def on_resize(self) -> None:
        self._rows = ()
        self.made.clear()
        self._draw()

    def on_click(self, event: Click) -> None:
        at = self._top + event.y - 1
        if event.y == 0:
            column = column_at(self._widths, event.x)
            self.post_message(self.Clicked(None, column.id if column else "found", False, False))
        elif at < len(self.runs):
            self.move(at - self.cursor)
            self.post_message(self.Clicked(self.runs[at], "", event.chain >= 2, event.x < SIGNS))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self.move(_WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.move(-_WHEEL)


class RunListScreen(WorkScreen):
    """The list of runs, with a line above it that says what is listed, and one below for its keys."""

    WHERE = "runs"
    AUTO_FOCUS = ""
    CSS = """
    RunListScreen { background: ansi_default; layout: vertical; }
    #run-filter-bar { height: 1; }
    #run-filter-prompt { width: auto; color: ansi_bright_blue; }
    #run-filter { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """

    def __init__(self, actions: tuple[Action, ...], selected: str = "") -> None:
        super().__init__(actions)
        self._first = selected
        self._said = ""
        self.head, self.message, self.keys = Line(), Line(), Line()
        self.table = RunTable()
        self.filter_line = Input(id="run-filter", placeholder=_EXAMPLES, compact=True)
        prompt = Static(" runs / ", id="run-filter-prompt", markup=False)
        self.filter_bar = Horizontal(prompt, self.filter_line, id="run-filter-bar")
        self.message.display = self.filter_bar.display = False

    def compose(self) -> ComposeResult:
        yield from (self.head, self.table, self.filter_bar, self.message, self.keys)

    def on_mount(self) -> None:
        self.tuimon.redraw()
        self.table.select(self._first)

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        choice = state.runs
        runs = runs_of(snapshot, choice, now, state.symbols)
        listing = listing_of(snapshot, choice, now, state.symbols)
        self.head.draw((*_head(snapshot, choice, len(runs)), *_paused(state)), state.theme)
        self.table.show(runs, listing, choice, state.theme)
        problem = choice.filter.problem if self.filter_bar.display else ""
        said = clean(problem or self._said)
        self.message.display = bool(said)
        self.message.draw(((f" i {said}", Role.ACCENT),), state.theme)
        self.keys.draw(key_spans(self.actions, self.keys.size.width), state.theme)

    def say(self, message: str) -> None:
        self._said = message
        self.tuimon.redraw()

    def on_key(self, event: object) -> None:
        self._said = ""  # what the key before did

    @property
    def run_selected(self) -> Run | None:
        """The run that keys act upon."""
        return self.table.run_selected

    def begin_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.filter_line.value = self.tuimon.state.runs.query
        self.filter_bar.display = True
        self.filter_line.focus()

    def end_filter(self) -> None:
        """Closes it; the filter stays."""
        self.filter_bar.display = False
        self.set_focus(None)
        self.tuimon.redraw()

    def go_back(self) -> bool:
        choice = self.tuimon.state.runs
        if not self.filter_bar.display and not choice.query:
            return False
        self.filter_bar.display = False
        self.set_focus(None)
        self.tuimon.state.runs = replace(choice, query="")
        return True

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.filter_bar.display:
            self.tuimon.state.runs = replace(self.tuimon.state.runs, query=event.value)
            self.tuimon.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.end_filter()

    def on_resize(self) -> None:
        self.call_after_refresh(self.tuimon.redraw)

    def on_run_table_clicked(self, event: RunTable.Clicked) -> None:
        state = self.tuimon.state
        if event.run is None:
            again = state.runs.sort == event.column
            state.runs = replace(state.runs, sort=event.column, reverse=again and not state.runs.reverse)
        elif event.open:
            self.tuimon.show_run(event.run)
            return
        elif event.mark:
            state.runs = state.runs.toggled("marked", event.run.path)
        self.tuimon.redraw()


def _head(snapshot: Snapshot, choice: RunChoice, count: int) -> Row:
    """How many of the runs are listed, and why."""
    total = len(snapshot.runs)
    said: list[Span] = [(f" {total} run{'s' if total != 1 else ''}", Role.TITLE)]
    if count != total:
        said.append((f", {count} listed", Role.TEXT))
    if choice.query:
        said.append((f"  /{clean(choice.query)}", Role.ACCENT))
    if choice.sort != "found":
        said.append((f"  by {choice.sort}{', turned round' if choice.reverse else ''}", Role.MUTED))
    hidden = sum(run.path in choice.hidden for run in snapshot.runs) if choice.hidden else 0
    if hidden:
        said.append((f"  {hidden} hidden{', shown' if choice.show_hidden else ''}", Role.MUTED))
    marked = sum(run.path in choice.marked for run in snapshot.runs) if choice.marked else 0
    if marked:
        said.append((f"  {marked} marked{'' if choice.over else ', not drawn over'}", Role.ACCENT))
    if choice.grouped:
        said.append(("  seeds as one", Role.MUTED))
    return tuple(said)


def _paused(state: ViewState) -> Row:
    return (("  paused", Role.WARNING),) if state.paused else ()
