"""Run list: every run as a row with its state, progress, metrics and settings, or as a chart, or compared."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from textual.events import Key

from tuimon.analysis.metric_filter import matching, no_match
from tuimon.draw.rows import row_width
from tuimon.draw.table import Order
from tuimon.model.views import Role, Row, Size, Symbols
from tuimon.panels import plural
from tuimon.panels.lists import multiples
from tuimon.panels.lists.comparison import MOST, Comparison, compare
from tuimon.panels.lists.comparison_tables import screen_rows
from tuimon.panels.lists.hparam_rows import SETTING
from tuimon.panels.lists.run_groups import MOST_VALUES, RunGroup, groupings
from tuimon.panels.lists.run_metrics import (
    METRIC,
    common_metrics,
    level_note,
    metric_with_words,
)
from tuimon.panels.lists.runs import Listing
from tuimon.run_notes import RunNote, notes
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.action import Action
from tuimon.tui.bars import Question
from tuimon.tui.run_choice import RunChoice, runs_to_compare
from tuimon.tui.run_contents import RunContents, contents_of
from tuimon.tui.run_table import RunTable
from tuimon.tui.screens.document import Document
from tuimon.tui.screens.run_grid import RunGrid
from tuimon.tui.screens.table import TableGrid, TableScreen
from tuimon.tui.screens.work_screen import UNQUEUED, head_of
from tuimon.tui.state import ViewState
from tuimon.tui.table import Movable

_NO_GROUPS = "There are no groups: o groups the runs"
AT_ONCE = 32
"""Number of runs from which the contents of the list are computed in a thread: a key would wait for them otherwise."""
_SHARE = 0.2
"""Maximum fraction of the time in which contents are computed while logs grow; the rest is left for the thread that
stores the points, and for keys."""
_UNCHANGED_FOR, _FEW_UNCHANGED_FOR = 10.0, 0.5
"""Seconds after which contents of many or of few runs are computed again although no log has changed: states depend on
the time."""


class RunListScreen(TableScreen[RunTable]):
    """The runs as a table, as a grid of charts of one metric, or compared side by side. The filter, the order and the
    marks are part of the view state."""

    WHERE = "runs"
    PROMPT = "runs"
    PLACEHOLDER = "name or path  running  alerts  critical  lr>1e-5  algo=ppo  -debug  a | b"

    def __init__(self, actions: tuple[Action, ...], selected: str = "", contents: RunContents | None = None) -> None:
        """selected: path of the run that is selected at first; "": the first row, whichever run it is, until a key.

        contents: those that the screen shows already."""
        self.charts, self.document = RunGrid(), Document()
        self._bodies = TableGrid(self.charts), self.document
        super().__init__(actions, RunTable(), *self._bodies)
        self._first = selected
        self.view = "table"
        """What is displayed: table, grid or comparison; parallel coordinates are above the table."""
        self._comparison: tuple[Comparison, int] | None = None
        """The comparison, and the number of runs that are left out."""
        self._contents = contents
        """Contents that are displayed."""
        self._inputs: tuple[Snapshot, RunChoice, Symbols, Mapping[str, RunNote]] | None = None
        """Inputs of the last computation, which may not be finished."""
        self._computed_at = self._took = 0.0
        """When the last computation was finished (time.monotonic()), and how long it took (s)."""
        self._is_computing = False

    def on_mount(self) -> None:
        self._show_view(self.view)
        self.table.select(self._first)
        self.grid.room = Size(self.app.size.width, self.app.size.height - 2)
        if self._contents is not None:  # drawn before the first layout: else blank rows would cover what is shown
            self._display(self.app.state, time.time())

    def on_key(self, event: Key) -> None:
        """Keep selected what is selected when a key is pressed; the base class handles the key after this."""
        self.table.keep()

    def leave(self) -> None:
        """Close the list. If it has opened by itself, no run was chosen before, so the selected one is shown."""
        run = None if self._first else self.run_selected
        if run is not None:
            self.app.show_run(run)
        else:
            self.app.pop_screen()

    @property
    def run_selected(self) -> Run | None:
        """Run that keys apply to."""
        return self.charts.selected if self.view == "grid" else self.table.run_selected

    @property
    def query_text(self) -> str:
        """Filter over runs."""
        return self.app.state.runs.query

    @query_text.setter
    def query_text(self, text: str) -> None:
        self.app.state.runs = replace(self.app.state.runs, query=text)

    def _choose(self, **changes: Any) -> None:
        """Change the choice of runs and draw."""
        self.app.state.runs = replace(self.app.state.runs, **changes)

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        inputs = snapshot, state.runs, state.symbols, notes()
        if not self._is_computing and self._is_due(inputs):
            self._inputs, self._is_computing = inputs, True
            compute = partial(contents_of, snapshot, state.runs, state.symbols, now)
            show = partial(self._computed, time.monotonic())
            if len(snapshot.runs) < AT_ONCE:
                show(compute())
            else:
                self.in_thread(compute, show, queue=UNQUEUED)
        self._display(state, now)

    def _is_due(self, inputs: tuple[Snapshot, RunChoice, Symbols, Mapping[str, RunNote]]) -> bool:
        """Return whether to compute the contents: at once if the user has changed something."""
        if self._inputs is None or inputs[1:] != self._inputs[1:]:
            return True
        unchanged_for = _UNCHANGED_FOR if len(inputs[0].runs) >= AT_ONCE else _FEW_UNCHANGED_FOR
        pause = unchanged_for if inputs[0] is self._inputs[0] else self._took * (1 / _SHARE - 1)
        return time.monotonic() >= self._computed_at + pause

    def _computed(self, begun: float, contents: RunContents) -> None:
        """Take contents that were computed, and note how long that took."""
        self._contents, self._is_computing, self._computed_at = contents, False, time.monotonic()
        self._took = self._computed_at - begun

    def _display(self, state: ViewState, now: float) -> None:
        """Display the contents that were computed last."""
        contents = self._contents
        if contents is None:
            total = plural(len(self.app.snapshot.runs), "run")
            self.draw_lines(((f" {total}", Role.TITLE), ("  being sorted", Role.MUTED)), state.theme)
        elif self.view == "grid":
            self.draw_lines(self._draw_grid(contents.listing, state), state.theme)
        elif self.view == "comparison" and self._comparison is not None:
            self.draw_lines(self._draw_comparison(*self._comparison, state, now), state.theme)
        else:
            self.table.show(contents, state.theme)
            asks = self.input_line.display and self.input_line.question.prompt == self.PROMPT
            problem = state.runs.filter.problem if asks else ""
            is_reading, links = self.app.snapshot.is_reading, self.app.monitor.links
            head = self.table.head(self.size.width, is_reading, state.paused, links, now)
            self.draw_lines(head, state.theme, problem or contents.problem)

    def _draw_grid(self, listing: Listing, state: ViewState) -> Row:
        """Draw the grid in the order of the list and without the runs that its filter leaves out; return the head."""
        runs, grid = self.app.runs_listed(), self.charts
        if not grid.metric:
            grid.metric = multiples.first_metric(runs, self.table.run_selected, state.runs.metric)
        shown = multiples.with_metric(runs, grid.metric)
        lines = multiples.merged(shown, listing.failed) if state.runs.grouped else {}
        grid.show(shown, listing, state.theme, lines)
        page, pages = grid.page
        head = head_of(
            clean(grid.metric) or "no metric",
            (plural(len(shown), "run"), Role.TEXT),
            (f"not in {len(runs) - len(shown)}" if len(shown) < len(runs) else "", Role.MUTED),
            ("same limits" if grid.shares_limits else "own limits", Role.MUTED),
            ("seeds merged" if lines else "", Role.MUTED),
            (f"page {page}/{pages}" if pages > 1 else "", Role.MUTED),
        )
        return (*head, level_note(self.size.width - row_width(head)))

    def _draw_comparison(self, comparison: Comparison, more: int, state: ViewState, now: float) -> Row:
        rows = screen_rows(comparison, now, self.app.size.width)
        if more > 0:
            rows += [(), ((f"{more} more runs; at most {MOST} are compared", Role.WARNING),)]
        self.document.show(rows, state.theme)
        return head_of(f"{plural(len(comparison.runs), 'run')} compared", (self.document.position, Role.MUTED))

    # ------------------------------------------------------------------ views

    def _show_view(self, view: str) -> None:
        self.view = view
        for name, body in zip(("table", "grid", "comparison"), (self.grid, *self._bodies), strict=True):
            body.display = name == view
        self.call_after_refresh(self.app.redraw)

    def next_view(self) -> None:
        """Show the grid of charts, then parallel coordinates and settings, then progress and curves."""
        if self.view == "grid":
            self.show_settings(True, parallel=True)
        elif self.view == "comparison" or self.table.parallel:
            self.show_settings(False)
        else:
            self.charts.select(self.table.run_selected.path if self.table.run_selected is not None else "")
            self._show_view("grid")

    def compare(self) -> None:
        """Compare the base and the marked runs, or else all runs, at the present time; again: back to the table."""
        state = self.app.state
        if self.view == "comparison":
            self._show_view("table")
            return
        runs = runs_to_compare(self.app.snapshot, state.runs, self.run_selected or self.app.run_shown)
        if len(runs) < 2:
            self.say("Nothing to compare with: there is no other run")
            return
        alerts = self.app.snapshot.alerts
        self._comparison = compare(runs[:MOST], alerts=alerts, x=state.options.axis, is_brief=True), len(runs) - MOST
        self._show_view("comparison")

    def show_settings(self, on: bool, parallel: bool | None = None) -> None:
        """Give each setting that differs a column, or show progress and curves. parallel: see RunTable."""
        state = self.app.state
        self.table.parallel = parallel
        sort = "found" if state.runs.sort.startswith(SETTING) and not on else state.runs.sort
        self.table.forget_widths()
        self._choose(all_settings=on, sort=sort)
        self._show_view("table")

    def toggle_settings(self) -> None:
        """Give each setting that differs a column, or take these columns away."""
        self.show_settings(not self.app.state.runs.all_settings)

    def next_limits(self) -> None:
        """Draw all charts of the grid with the same limits, or each with its own."""
        if self.view != "grid":
            self.say("Limits belong to the grid of charts: v shows it")
            return
        self.charts.same_limits = not self.charts.shares_limits

    # ------------------------------------------------------------------ the input line

    def begin_filter(self) -> None:
        """Open the input line: for the filter of the runs, the metric of the grid, or words of the comparison."""
        if self.view == "grid":
            self.input_line.open(Question("metric", "words of the name", self._choose_of_grid, self._show_in_grid))
        elif self.view == "comparison":
            self.input_line.open(Question("find", "words of a row", self.document.find, self.document.find))
        else:
            super().begin_filter()

    def _show_in_grid(self, text: str) -> list[str]:
        """Show the first metric that matches in the grid; return those that match."""
        names = matching(tuple(common_metrics(self.app.runs_listed())), text) if text.strip() else []
        if names:
            self.charts.metric = names[0]
        return names

    def _choose_of_grid(self, text: str) -> None:
        if not self._show_in_grid(text) and text.strip():
            self.say(no_match(text, common_metrics(self.app.runs_listed())))

    def begin_metric(self) -> None:
        """Open the input line for the metric that becomes a column."""
        before = self.app.state.runs

        def restore() -> None:
            self.app.state.runs = before

        hint = "words of its name: val loss, best(reward), last(reward); nothing: no column"
        self.input_line.open(Question("metric", hint, self._choose_metric, self._show_metric_with, restore))

    def _show_metric_with(self, text: str) -> str:
        metric = metric_with_words(self.app.snapshot.runs, text)
        if metric:
            self.show_metric(metric)
        return metric

    def _choose_metric(self, text: str) -> None:
        if self._show_metric_with(text):
            return
        if text.strip():
            self.say(f"No metric of these runs matches {text}")
        else:
            self.show_metric("")

    def go_back(self) -> bool:
        """Leave a question, another view, the filter, or the list."""
        if not self.input_line.display and self.view != "table":
            self._show_view("table")
        elif not super().go_back():
            self.leave()
        return True

    def show_metric(self, metric: str) -> None:
        """Show a metric as a column and sort by it, best first; "" removes the column."""
        choice = self.app.state.runs
        sort = METRIC if metric else "found" if choice.sort == METRIC else choice.sort
        self._choose(metric=metric, sort=sort, reverse=choice.reverse and not metric)

    # ------------------------------------------------------------------ keys

    @property
    def moved(self) -> Movable:
        parts: dict[str, Movable] = {"grid": self.charts, "comparison": self.document}
        return parts.get(self.view, self.table)

    @property
    def order(self) -> Order:
        """Order of the rows, which is a part of the choice of runs."""
        return Order(self.app.state.runs.sort, self.app.state.runs.reverse)

    @property
    def sorts(self) -> tuple[str, ...]:
        """Orders of the displayed columns, and those without a column."""
        return ("found", *(column.id for column, _ in self.table.fitted), "urgent")

    def sort_by(self, order: Order) -> None:
        self._choose(sort=order.by or "found", reverse=order.reverse)

    def next_sort(self, by: int) -> None:
        """Sort by the next column (by = 1) or the previous one; grid: show the next metric by relevance."""
        names = common_metrics(self.app.runs_listed()) if self.view == "grid" else ()
        if self.view != "grid":
            super().next_sort(by)
        elif names:
            index = names.index(self.charts.metric) if self.charts.metric in names else -by
            self.charts.metric = names[(index + by) % len(names)]

    def open(self) -> None:
        """Show the dashboard of the selected run, or fold the selected group."""
        if (run := self.run_selected) is not None:
            self.app.show_run(run)
        elif self.table.group_selected is not None:
            self.fold()
        else:
            self.say("No run is listed: Esc removes the filter, U lists hidden runs")

    def copied(self) -> tuple[str, str] | None:
        run = self.run_selected
        if self.view == "comparison":
            return self.document.text, "the text"
        return None if run is None else (clean(run.path, len(run.path)), "the path of the run")

    def fold(self) -> None:
        """Fold or unfold the selected group, or the group of the selected run."""
        group, choice = self.table.group_selected, self.app.state.runs
        if group is None:
            self.say(_NO_GROUPS)
            return
        others = tuple(title for title in choice.folded if title != group.title)
        self.table.select(group.title)
        self._choose(folded=others if group.folded else (*others, group.title))

    def fold_all(self) -> None:
        """Fold every group; if any is folded: unfold all."""
        titles = tuple(entry.title for entry in self.table.entries if isinstance(entry, RunGroup))
        if titles:
            self._choose(folded=() if self.app.state.runs.folded else titles)
        else:
            self.say(_NO_GROUPS)

    def next_group(self) -> None:
        """Group the list by the next criterion. A thread searches for it if there are many runs."""
        runs = self.app.runs_listed()
        if len(runs) < AT_ONCE:
            self._group_by_next(groupings(runs))
        else:
            self.in_thread(lambda: groupings(runs), self._group_by_next, queue=UNQUEUED)

    def _group_by_next(self, known: Sequence[str]) -> None:
        choice = self.app.state.runs
        index = known.index(choice.group) + 1 if choice.group in known else 0
        by = known[index % len(known)]
        if not by and not choice.group:
            self.say(
                "No groups: they need directories of several runs or a setting with 2 to"
                f" {MOST_VALUES} values; u merges seeds (ppo_seed1)"
            )
            return
        self._choose(group=by, folded=())
        self.say(f"Grouped by {clean(by)}" if by else "No groups")

    def mark(self) -> None:
        """Mark the selected run, or remove its mark."""
        if (run := self.run_selected) is not None:
            self._choose(marked=self.app.state.runs.toggled("marked", run.path).marked, over=True)

    def mark_all(self) -> None:
        """Mark every listed run; if any is marked: unmark all."""
        listed = self.app.runs_listed()
        if self.app.state.runs.marked:
            self._choose(marked=())
            self.say("No run is marked")
        else:
            self._choose(marked=tuple(run.path for run in listed), over=True)
            self.say(f"Marked {plural(len(listed), 'run')}")

    def pin(self) -> None:
        """Keep the selected run at the top; again: undo."""
        if (run := self.run_selected) is not None:
            self._choose(pinned=self.app.state.runs.toggled("pinned", run.path).pinned)

    def hide(self) -> None:
        """Hide the selected run; again, if hidden runs are listed: show it."""
        choice, run = self.app.state.runs, self.run_selected
        if run is None:
            return
        hidden = choice.toggled("hidden", run.path).hidden
        self._choose(hidden=hidden)
        also = ", also next time" if self.app.views else ""
        state = f"hidden{also}; U lists it, and H on it shows it again" if run.path in hidden else "shown again"
        self.say(f"{clean(run.name)} is {state}")

    def toggle_hidden(self) -> None:
        """Also list hidden runs; again: undo."""
        choice = self.app.state.runs
        if choice.hidden:
            self._choose(show_hidden=not choice.show_hidden)
        else:
            self.say("No run is hidden: H hides the selected one")
