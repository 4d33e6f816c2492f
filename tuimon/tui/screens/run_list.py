"""Run list: every run as a row with its state, progress and metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as with_fields
from textual.events import Click, Key
from textual.message import Message

from tuimon.draw import FrameCache
from tuimon.draw.rows import blank, row_width
from tuimon.model.links import Link
from tuimon.model.views import Role, Row, Rows, Size, Symbols
from tuimon.panels import link_row, plural
from tuimon.panels.lists import run_overview
from tuimon.panels.lists.run_groups import SEEDS, Entry, RunGroup, group_row
from tuimon.panels.lists.run_levels import level_note
from tuimon.panels.lists.run_metrics import split_statistic
from tuimon.panels.lists.run_rows import SIGNS, Widths, column_at, head_row, layout, run_row
from tuimon.panels.lists.runs import (
    METRIC,
    NOTE_GAP,
    RESULTS,
    Listing,
    columns_of,
    headed,
    repeated_columns,
    useful_columns,
)
from tuimon.run_notes import RunNote, notes
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean
from tuimon.tui.action import Action
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.screens.metric_table import MetricTableScreen
from tuimon.tui.screens.run_contents import RunContents, contents_of
from tuimon.tui.screens.table import Table
from tuimon.tui.state import ViewState

AT_ONCE = 32
"""Number of runs from which the contents of the list are computed in a thread: a key would wait for them otherwise."""
_SHARE = 0.2
"""Maximum fraction of the time in which contents are computed in a thread while logs grow; the rest is left for the
thread that stores the points, and for keys."""
_UNCHANGED_FOR = 10.0
"""Seconds after which contents that were computed in a thread are computed again although no log has changed: states
depend on the time."""


class RunTable(Table):
    """Column heads and runs."""

    DEFAULT_CSS = "RunTable { height: 1fr; width: 1fr; }"

    class Clicked(Message):
        """A click on a column head (`column`), on a run, on a run twice (`open`), or on the signs of a run (`mark`)."""

        def __init__(self, run: Run | None, column: str, open: bool, mark: bool) -> None:
            super().__init__()
            self.run, self.column, self.open, self.mark = run, column, open, mark

    def __init__(self) -> None:
        super().__init__()
        self.entries: tuple[Entry, ...] = ()
        self._selected = ""
        """Path of the selected run, or title of the selected group, which stays selected when the order changes."""
        self._frames = FrameCache()
        self._chart_inputs: tuple[object, ...] = ()
        """Inputs from which the chart below the list was drawn."""
        self._chart_rows: Rows = ()
        self._useful: frozenset[str] = frozenset()
        self._widths: Widths = ()
        self._contents: RunContents | None = None
        self._shown: tuple[Listing, RunChoice, str] | None = None
        self._values: Mapping[str, Row] = {}
        self.cache: dict[tuple[str, bool], Row] = {}
        """Rows of the current listing by (path, selected)."""

    @property
    def count(self) -> int:
        return len(self.entries)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that are listed, without those in folded groups."""
        return tuple(entry for entry in self.entries if isinstance(entry, Run))

    @property
    def run_selected(self) -> Run | None:
        """Selected run, or None if the list is empty or a group is selected."""
        entry = self._entry
        return entry if isinstance(entry, Run) else None

    @property
    def group_selected(self) -> RunGroup | None:
        """Group that is selected, or that the selected run is in; None without groups."""
        above, own = self.entries[: self.cursor + 1], self._entry
        groups = (entry for entry in reversed(above) if isinstance(entry, RunGroup))
        return next((group for group in groups if group is own or own in group.runs), None)

    @property
    def sorts(self) -> tuple[str, ...]:
        """Sort orders of the displayed columns, and those without a column."""
        return ("found", *(column.id for column, _ in self._widths), "urgent")

    @property
    def has_levels(self) -> bool:
        """Whether a displayed column has the levels of a metric, not only the last or best values of the chosen one."""
        statistic = split_statistic(self._shown[0].metric)[1] if self._shown is not None else ""
        return any(column.id in RESULTS or (column.id == METRIC and not statistic) for column, _ in self._widths)

    @property
    def _entry(self) -> Entry | None:
        return self.entries[self.cursor] if self.cursor < len(self.entries) else None

    def show(self, contents: RunContents, now: float, theme: str) -> None:
        """Display these runs and groups in this order. now: wall time (s since epoch).

        Contents that are displayed already stay as they are: those of many runs are computed again every ten seconds.
        """
        if self._contents is contents and self._shown is not None and self._shown[-1] == theme:
            return
        self._contents = contents
        entries, listing, choice = contents.entries, with_fields(contents.listing, now=now), contents.choice
        if entries != self.entries:
            self.entries = entries
            if not self.cursor < len(entries) or _key(entries[self.cursor]) != self._selected:
                last = max(0, min(self.cursor, len(entries) - 1))
                self.cursor = next((i for i, entry in enumerate(entries) if _key(entry) == self._selected), last)
        self._shown, self._values = (listing, choice, theme), contents.values
        self.cache.clear()
        self.draw()

    def select(self, path: str) -> None:
        """Select a run by its path, or a group by its title, if it is listed."""
        self._selected = path
        self.cursor = next((index for index, entry in enumerate(self.entries) if _key(entry) == path), self.cursor)
        self.draw()

    def move(self, rows: int) -> None:
        if self._shown is None:  # the list is still being sorted: the first row, whichever run it is
            self._selected = ""
        super().move(rows)
        self.keep()

    def keep(self) -> None:
        """Keep the selected run or group selected when the order changes; in an empty list the one before."""
        if (entry := self._entry) is not None:
            self._selected = _key(entry)

    def draw(self) -> None:
        width = self.size.width
        if self._shown is None or width < 1 or self.size.height < 1:
            return
        listing, choice, theme = self._shown
        rows = self.scroll_to_cursor()
        visible = [entry for entry in self.entries[rows.start : rows.stop] if isinstance(entry, Run)]
        self._useful |= useful_columns(visible, listing)
        useful = self._useful if listing.base is not None else self._useful - {"base"}
        useful -= repeated_columns(visible, listing.metric)
        longest = max((cell_width(clean(run.name[listing.shared :])) for run in visible), default=0)
        lines = (listing.note(run).line for run in visible) if listing.notes else ()
        note = max((cell_width(NOTE_GAP + line) for line in lines if line), default=0)
        widths = layout(width, useful, longest, headed(columns_of(listing), visible), note)
        if widths != self._widths:
            self._widths = widths
            self.cache.clear()
        head = head_row(self._widths, choice.sort, choice.reverse, listing.symbols, width)
        listed = [head, *(self._row(self.entries[index], listing, width) for index in rows)]
        if choice.grouping == SEEDS:  # the chart also has the runs below folded headings
            shown = self.entries[rows.start : rows.stop]
            visible = list(dict.fromkeys(run for entry in shown for run in _runs_of(entry)))
        self.paint_filled([*listed, *self._chart(visible, listing, choice, len(listed))], theme)

    def _chart(self, visible: list[Run], listing: Listing, choice: RunChoice, taken: int) -> Rows:
        """Return the chart below the list, drawn only after a change, with a blank row above it. taken: rows above."""
        size = Size(self.size.width, self.size.height - taken - 1)
        if len(visible) < 2 or size.height < run_overview.LEAST.height:
            return ()
        sorting = choice.sort, listing.metric
        inputs = (tuple(visible), listing.marked, listing.failed, choice.grouped, size, listing.symbols, sorting)
        if self._chart_inputs != inputs:
            self._chart_inputs = inputs
            chart = run_overview.overview(visible, listing, choice.grouped, size, self._frames, choice.sort)
            self._chart_rows = (blank(size.width), *chart) if chart else ()
        return self._chart_rows

    def _row(self, entry: Entry, listing: Listing, width: int) -> Row:
        selected = entry is self._entry
        if isinstance(entry, RunGroup):
            return group_row(entry, listing, selected, width, self._values.get(entry.title, ()))
        row = self.cache.get((entry.path, selected))
        if row is None:
            row = self.cache[entry.path, selected] = run_row(entry, listing, self._widths, selected, width)
        return row

    def on_resize(self) -> None:
        self._rows = ()
        self.cache.clear()
        self.draw()

    def on_click(self, event: Click) -> None:
        index = self.top + event.y - 1
        if event.y == 0:
            column = column_at(self._widths, event.x)
            self.post_message(self.Clicked(None, column.id if column else "found", False, False))
        elif index < len(self.entries):
            self.move(index - self.cursor)
            if isinstance(entry := self.entries[index], Run):
                self.post_message(self.Clicked(entry, "", event.chain >= 2, event.x < SIGNS))


class RunListScreen(MetricTableScreen):
    """The run list. Its filter, order and marks are part of the view state."""

    WHERE = "runs"
    PROMPT = "runs"
    PLACEHOLDER = "name or path  running  alerts  critical  lr>1e-5  algo=ppo  -debug  a | b"

    def __init__(self, actions: tuple[Action, ...], selected: str = "") -> None:
        """selected: path of the run that is selected at first; "": the first row, whichever run it is, until a key."""
        self.table = RunTable()
        super().__init__(actions, self.table)
        self._first = selected
        self.just_hidden = ""
        """Path of the run that the last key has hidden, or ""."""
        self._contents: RunContents | None = None
        """Contents that are displayed."""
        self._inputs: tuple[Snapshot, RunChoice, Symbols, Mapping[str, RunNote]] | None = None
        """Inputs of the last computation in a thread, which may not be finished."""
        self._computed_at = self._took = 0.0
        """When the last computation was finished (time.monotonic()), and how long it took (s)."""
        self._is_computing = False

    def on_mount(self) -> None:
        self.dashboard.redraw()
        self.table.select(self._first)

    def on_key(self, event: Key) -> None:
        """Keep selected what is selected when a key is pressed; the base class handles the key after this."""
        self.table.keep()
        action = self._by_key.get(event.key)
        if action is None or action.id != "run_hide":
            self.just_hidden = ""

    def leave(self) -> None:
        """Close the list. If it has opened by itself, no run was chosen before, so the selected one is shown."""
        run = None if self._first else self.run_selected
        if run is not None:
            self.dashboard.show_run(run)
        else:
            self.dashboard.pop_screen()
            self.dashboard.redraw()

    def go_back(self) -> bool:
        if not super().go_back():
            self.leave()
        return True

    @property
    def run_selected(self) -> Run | None:
        """Run that keys apply to."""
        return self.table.run_selected

    @property
    def query_text(self) -> str:
        """Filter over runs."""
        return self.dashboard.state.runs.query

    @query_text.setter
    def query_text(self, text: str) -> None:
        self.dashboard.state.runs = replace(self.dashboard.state.runs, query=text)

    def show_metric(self, metric: str) -> None:
        """Show a metric as a column and sort by it, best first; "" removes the column."""
        if metric:
            self.dashboard.state.runs = replace(self.dashboard.state.runs, sort=METRIC, reverse=False)
        super().show_metric(metric)

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        inputs = snapshot, state.runs, state.symbols, notes()
        if len(snapshot.runs) < AT_ONCE:
            self._contents = contents_of(snapshot, state.runs, state.symbols, now)
        elif self._inputs is None or inputs[1:] != self._inputs[1:] or self._is_due(snapshot):
            self._inputs = inputs
            if not self._is_computing:
                self._is_computing = True
                self.run_worker(self._compute())
        self._display(state, now)

    def _is_due(self, snapshot: Snapshot) -> bool:
        """Return whether to compute the contents again although the user has changed nothing."""
        changed = self._inputs is None or snapshot is not self._inputs[0]
        pause = self._took * (1 / _SHARE - 1) if changed else _UNCHANGED_FOR
        return not self._is_computing and time.monotonic() >= self._computed_at + pause

    async def _compute(self) -> None:
        """Compute the contents in a thread, and again if the inputs have changed meanwhile."""
        try:
            computed = None
            while computed is not self._inputs:
                computed = self._inputs
                assert computed is not None
                snapshot, choice, symbols, _ = computed
                begun = time.monotonic()
                self._contents = await asyncio.to_thread(contents_of, snapshot, choice, symbols, time.time())
                self._computed_at = time.monotonic()
                self._took = self._computed_at - begun
                self._display(self.dashboard.state, time.time())
        finally:
            self._is_computing = False

    def _display(self, state: ViewState, now: float) -> None:
        """Display the contents that were computed last."""
        contents = self._contents
        if contents is None:
            total = plural(len(self.dashboard.snapshot.runs), "run")
            self.draw_lines(((f" {total}", Role.TITLE), ("  being sorted", Role.MUTED)), state.theme)
            return
        self.table.show(contents, now, state.theme)
        problem = state.runs.filter.problem if self.filter_bar.display and not self._asks_metric else ""
        head = contents.head(self.size.width, self.dashboard.snapshot.is_reading)
        if state.paused:
            head = (*head, ("  paused", Role.WARNING))
        head = _with_live_links(head, self.dashboard.links, now)
        if self.table.has_levels:
            head = (*head, level_note(self.size.width - row_width(head)))
        self.draw_lines(head, state.theme, problem or contents.problem)

    def on_run_table_clicked(self, event: RunTable.Clicked) -> None:
        state = self.dashboard.state
        if event.run is None:
            again = state.runs.sort == event.column
            state.runs = replace(state.runs, sort=event.column, reverse=again and not state.runs.reverse)
        elif event.open:
            self.dashboard.show_run(event.run)
            return
        elif event.mark:
            state.runs = state.runs.toggled("marked", event.run.path)
        self.dashboard.redraw()


def _with_live_links(head: Row, links: Sequence[Link], now: float) -> Row:
    """Add the links that are up to a head; those that are down are in the head of each screen."""
    up = sum(link.up for link in links)
    if up == 1 == len(links):
        return (*head, ("  ", Role.TEXT), *link_row(links[0], now))
    return (*head, (f"  {plural(up, 'host')} live", Role.MUTED)) if up else head


def _runs_of(entry: Entry) -> tuple[Run, ...]:
    return entry.runs if isinstance(entry, RunGroup) else (entry,)


def _key(entry: Entry) -> str:
    return entry.title if isinstance(entry, RunGroup) else entry.path
