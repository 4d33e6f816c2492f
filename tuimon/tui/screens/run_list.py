"""Run list: every run as a row with its state, progress, metrics and settings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from textual.events import Key

from tuimon.draw import FrameCache
from tuimon.draw.rows import blank, row_width, wrap_row
from tuimon.draw.table import Column, Order
from tuimon.model.links import Link
from tuimon.model.views import Role, Row, Rows, Size, Symbols
from tuimon.panels import link_row, plural
from tuimon.panels.lists import run_overview
from tuimon.panels.lists.hparam_rows import SETTING
from tuimon.panels.lists.parallel import parallel_rows, quarters_row, result_of
from tuimon.panels.lists.run_groups import SEEDS, Entry, RunGroup, group_row
from tuimon.panels.lists.run_levels import level_note
from tuimon.panels.lists.run_metrics import METRIC, RESULTS, metric_with_words, repeated_columns, split_statistic
from tuimon.panels.lists.runs import GAP, SIGNS, Listing, headed, run_columns, run_signs
from tuimon.panels.lists.settings import SETTINGS_SOURCES
from tuimon.run_notes import RunNote, notes
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.action import Action
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.screens.run_contents import RunContents, contents_of
from tuimon.tui.screens.table import Table, TableScreen
from tuimon.tui.state import ViewState

_WIDE, _TALL = 160, 30
"""Columns and rows of the table from which parallel coordinates are shown above the settings at first."""
AT_ONCE = 32
"""Number of runs from which the contents of the list are computed in a thread: a key would wait for them otherwise."""
_SHARE = 0.2
"""Maximum fraction of the time in which contents are computed in a thread while logs grow; the rest is left for the
thread that stores the points, and for keys."""
_UNCHANGED_FOR = 10.0
"""Seconds after which contents that were computed in a thread are computed again although no log has changed: states
depend on the time."""


class RunTable(Table[Entry]):
    """Runs and headings of groups, below them a chart, above them what the settings of the runs show."""

    SIGNS, GAP = SIGNS, GAP

    def __init__(self) -> None:
        super().__init__()
        self.contents: RunContents | None = None
        self.parallel: bool | None = None
        """Whether parallel coordinates are above the settings; None: if the screen is wide."""
        self.shows_parallel = False
        self._frames = FrameCache()
        self._chart_inputs: tuple[object, ...] = ()
        """Inputs from which the chart below the list was drawn."""
        self._chart_rows: Rows = ()

    @property
    def entries(self) -> Sequence[Entry]:
        """The runs and the headings of groups."""
        return self.items

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that are listed, without those in folded groups."""
        return tuple(entry for entry in self.items if isinstance(entry, Run))

    @property
    def run_selected(self) -> Run | None:
        """Selected run, or None if the list is empty or a group is selected."""
        return self.selected if isinstance(self.selected, Run) else None

    @property
    def group_selected(self) -> RunGroup | None:
        """Group that is selected, or that the selected run is in; None without groups."""
        above, own = self.items[: self.cursor + 1], self.selected
        groups = (entry for entry in reversed(above) if isinstance(entry, RunGroup))
        return next((group for group in groups if group is own or own in group.runs), None)

    @property
    def has_levels(self) -> bool:
        """Whether a displayed column has the levels of a metric, not only the last or best values of the chosen one."""
        statistic = split_statistic(self._listing.metric)[1] if self.contents is not None else ""
        return any(column.id in RESULTS or (column.id == METRIC and not statistic) for column, _ in self.fitted)

    def show(self, contents: RunContents, theme: str) -> None:
        """Display these runs and groups in this order.

        Contents that are displayed already stay as they are: those of many runs are computed again every ten seconds.
        """
        if self.contents is contents and self.theme_shown == theme:
            return
        self.contents = contents
        if contents.listing.base is None:
            self._seen.pop("base", None)
        order = Order(contents.choice.sort, contents.choice.reverse)
        self.show_items(contents.entries, run_columns(self._listing), order, contents.listing.symbols, theme)

    def move(self, rows: int) -> None:
        if self.contents is None:  # the list is still being sorted: the first row, whichever run it is
            self._kept = ""
        super().move(rows)

    @property
    def _listing(self) -> Listing:
        assert self.contents is not None
        return self.contents.listing

    def key(self, item: Entry) -> str:
        return item.title if isinstance(item, RunGroup) else item.path

    def signs(self, item: Entry, selected: bool) -> Row:
        assert isinstance(item, Run)
        return run_signs(item, self._listing, selected)

    def heading(self, item: Entry, selected: bool) -> Row | None:
        if not isinstance(item, RunGroup):
            return None
        values = self.contents.values.get(item.title, ()) if self.contents is not None else ()
        return group_row(item, self._listing, selected, self.size.width, values)

    def columns_for(self, visible: Sequence[Entry]) -> tuple[Column[Run], ...]:
        runs = [entry for entry in visible if isinstance(entry, Run)]
        repeated = repeated_columns(runs, self._listing.metric)
        return headed((column for column in self.columns if column.id not in repeated), runs)

    def above(self) -> Rows:
        """Return parallel coordinates of the settings, if there is room."""
        axes = self.contents.axes if self.contents is not None else ()
        width, height = self.size
        rows: list[Row] = []
        if axes and (self.parallel or (self.parallel is None and width >= _WIDE and height >= _TALL)):
            selected = self.runs.index(self.run_selected) if self.run_selected is not None else -1
            rows = parallel_rows(axes, selected, width, max(height // 2, 6), self.symbols)
        self.shows_parallel = bool(rows)
        settings = self._listing.settings if self._listing.all_settings else None
        if settings is not None and not (settings.names or settings.equal):
            missing = f" no settings in the logs of these runs; {SETTINGS_SOURCES}"
            rows += wrap_row(((missing, Role.MUTED),), width, max(height - 2, 1))
        return tuple(rows)

    def below(self, visible: Sequence[Entry], taken: int) -> Rows:
        """Return the chart below the list, drawn only after a change, with a blank row above it."""
        assert self.contents is not None
        listing, choice = self._listing, self.contents.choice
        runs = [entry for entry in visible if isinstance(entry, Run)]
        if choice.grouping == SEEDS:  # also the runs below folded headings
            runs = list(dict.fromkeys(run for entry in visible for run in _runs_of(entry)))
        size = Size(self.size.width, self.size.height - taken - 1)
        if len(runs) < 2 or size.height < run_overview.LEAST.height:
            return ()
        sorting = choice.sort, listing.metric
        inputs = (tuple(runs), listing.marked, listing.failed, choice.grouped, size, listing.symbols, sorting)
        if self._chart_inputs != inputs:
            self._chart_inputs = inputs
            chart = run_overview.overview(runs, listing, choice.grouped, size, self._frames, choice.sort)
            self._chart_rows = (blank(size.width), *chart) if chart else ()
        return self._chart_rows


class RunListScreen(TableScreen[Entry]):
    """The run list. Its filter, order and marks are part of the view state."""

    WHERE = "runs"
    PROMPT, OPENS = "runs", "show"
    PLACEHOLDER = "name or path  running  alerts  critical  lr>1e-5  algo=ppo  -debug  a | b"

    def __init__(self, actions: tuple[Action, ...], selected: str = "") -> None:
        """selected: path of the run that is selected at first; "": the first row, whichever run it is, until a key."""
        self.table: RunTable = RunTable()
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
        self._asks_metric = False
        """Whether the input line is for the metric that becomes a column, not for the filter."""
        self._answer: Callable[[str], object] | None = None
        """What is done with the text of the input line if it answers a question, else None."""
        self._before: RunChoice | None = None
        """The choice before the metric was typed."""

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
        self.table.show(contents, state.theme)
        problem = state.runs.filter.problem if self.filter_bar.display and not self._asks_metric else ""
        head = contents.head(self.size.width, self.dashboard.snapshot.is_reading)
        if state.paused:
            head = (*head, ("  paused", Role.WARNING))
        head = _with_live_links(head, self.dashboard.links, now)
        if self.table.shows_parallel:
            result = result_of(contents.axes)
            head = (*head, *quarters_row(result, state.symbols, self.size.width - row_width(head)))
        if self.table.has_levels:
            levels = contents.listing.levels
            steps = (levels.last_step(reader) for reader in RESULTS.values()) if state.runs.all_settings else ()
            until = next((f"step {step}" for step in steps if step is not None), "")
            head = (*head, level_note(self.size.width - row_width(head), until))
        self.draw_lines(head, state.theme, problem or contents.problem)

    # ------------------------------------------------------------------ the input line

    def ask(self, prompt: str, hint: str, on_answer: Callable[[str], object], text: str = "") -> None:
        """Open the input line for the answer to a question."""
        self._asks_metric, self._answer = False, on_answer
        self.filter_bar.open(text, prompt, hint)

    def begin_filter(self) -> None:
        self._asks_metric, self._answer = False, None
        self.filter_bar.open(self.query_text, self.PROMPT, self.PLACEHOLDER)

    def begin_metric(self) -> None:
        """Open the input line for the metric that becomes a column."""
        self._asks_metric, self._answer, self._before = True, None, self.dashboard.state.runs
        self.filter_bar.open(
            "", "metric", "words of its name: val loss, best(reward), last(reward); nothing: no column"
        )

    def go_back(self) -> bool:
        """Leave a question, or the prompt for a metric with the columns as they were, or the filter, or the list."""
        if self.filter_bar.display and (self._answer is not None or (self._asks_metric and self._before is not None)):
            if self._answer is None and self._before is not None:
                self.dashboard.state.runs = self._before
            self._answer, self._asks_metric = None, False
            self.filter_bar.close()
            self.dashboard.redraw()
        elif not super().go_back():
            self.leave()
        return True

    def filter_edited(self, text: str) -> None:
        if self._answer is not None:
            return
        if not self._asks_metric:
            super().filter_edited(text)
        elif metric := metric_with_words(self.dashboard.snapshot.runs, text):
            self.show_metric(metric)

    def filter_submitted(self, text: str) -> None:
        """Apply the filter, or show the metric as a column, or remove that column if no word was typed."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(text)
            return
        if not self._asks_metric:
            super().filter_submitted(text)
            return
        self._asks_metric = False
        metric = metric_with_words(self.dashboard.snapshot.runs, text)
        if text.strip() and not metric:
            self.say(f"No metric of these runs matches {text}")
        else:
            self.show_metric(metric)

    def show_metric(self, metric: str) -> None:
        """Show a metric as a column and sort by it, best first; "" removes the column."""
        choice = self.dashboard.state.runs
        sort = METRIC if metric else "found" if choice.sort == METRIC else choice.sort
        reverse = choice.reverse and not metric
        self.dashboard.state.runs = replace(choice, metric=metric, sort=sort, reverse=reverse)
        self.dashboard.redraw()

    # ------------------------------------------------------------------ keys

    @property
    def order(self) -> Order:
        """Order of the rows, which is a part of the choice of runs."""
        return Order(self.dashboard.state.runs.sort, self.dashboard.state.runs.reverse)

    @property
    def sorts(self) -> tuple[str, ...]:
        """Orders of the displayed columns, and those without a column."""
        return ("found", *(column.id for column, _ in self.table.fitted), "urgent")

    def sort_by(self, order: Order) -> None:
        state = self.dashboard.state
        state.runs = replace(state.runs, sort=order.by or "found", reverse=order.reverse)
        self.dashboard.redraw()

    def open(self) -> None:
        """Show the dashboard of the selected run, or fold the selected group."""
        if (run := self.run_selected) is not None:
            self.dashboard.show_run(run)
        elif self.table.group_selected is not None:
            self.fold()
        else:
            self.say("No run is listed: Esc removes the filter, U lists hidden runs")

    def copied(self) -> tuple[str, str] | None:
        run = self.run_selected
        return None if run is None else (clean(run.path, len(run.path)), "the path of the run")

    def fold(self) -> None:
        """Fold or unfold the selected group, or the group of the selected run."""
        group, choice = self.table.group_selected, self.dashboard.state.runs
        if group is None:
            self.say("There are no groups: o groups the runs")
            return
        others = tuple(title for title in choice.folded if title != group.title)
        self.dashboard.state.runs = replace(choice, folded=others if group.folded else (*others, group.title))
        self.table.select(group.title)
        self.dashboard.redraw()

    def mark(self) -> None:
        """Mark the selected run, or remove its mark."""
        state = self.dashboard.state
        if (run := self.run_selected) is not None:
            state.runs = replace(state.runs.toggled("marked", run.path), over=True)
            self.dashboard.redraw()

    def show_settings(self, on: bool, parallel: bool | None = None) -> None:
        """Give each setting that differs a column, or show progress and curves. parallel: see RunTable."""
        state = self.dashboard.state
        self.table.parallel = parallel
        sort = "found" if state.runs.sort.startswith(SETTING) and not on else state.runs.sort
        state.runs = replace(state.runs, all_settings=on, sort=sort)
        self.table.forget_widths()
        self.dashboard.redraw()


def _with_live_links(head: Row, links: Sequence[Link], now: float) -> Row:
    """Add the links that are up to a head; those that are down are in the head of each screen."""
    up = sum(link.up for link in links)
    if up == 1 == len(links):
        return (*head, ("  ", Role.TEXT), *link_row(links[0], now))
    return (*head, (f"  {plural(up, 'host')} live", Role.MUTED)) if up else head


def _runs_of(entry: Entry) -> tuple[Run, ...]:
    return entry.runs if isinstance(entry, RunGroup) else (entry,)
