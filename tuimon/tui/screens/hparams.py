"""Hyperparameter table: the settings that differ between runs, with their results, as sortable columns."""

from __future__ import annotations

from typing import Any

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.run_states import failed_runs, state_sign
from tuimon.analysis.setting_effects import SettingEffect
from tuimon.draw.rows import fit_row, row_width, wrap_row
from tuimon.model.views import Role, Row, Symbols
from tuimon.panels import plural
from tuimon.panels.lists.hparam_rows import (
    Correlation,
    HparamTable,
    cell_text,
    column_widths,
    correlation_row,
    effects_in,
    effects_row,
    head_row,
    hparam_table,
    rank_correlations,
    sort_rows,
    table_row,
)
from tuimon.panels.lists.parallel import parallel_rows, quarters_row
from tuimon.panels.lists.run_levels import level_note
from tuimon.panels.lists.runs import METRIC
from tuimon.panels.lists.settings import SETTINGS_SOURCES
from tuimon.store import Run, Snapshot
from tuimon.tui.action import Action
from tuimon.tui.screens.metric_table import MetricTableScreen
from tuimon.tui.screens.table import Table
from tuimon.tui.state import ViewState

_WIDE, _TALL = 160, 30
"""Columns and rows of the screen from which parallel coordinates are shown at first."""


class RunTable(Table):
    """Runs with their settings."""

    DEFAULT_CSS = "RunTable { height: 1fr; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[tuple[Run, tuple[Any, ...]]] = []
        self.source: HparamTable | None = None
        self.failed: frozenset[int] = frozenset()
        """Ids of the runs with a failure, see `failed_runs`."""
        self.sort, self.reverse = 0, False
        self.parallel: bool | None = None
        """Whether parallel coordinates are above the table; None: if the screen is wide."""
        self.shows_parallel = False
        self._correlations: list[Correlation] = []
        self._effects: tuple[SettingEffect, ...] = ()
        self._state: ViewState | None = None

    @property
    def count(self) -> int:
        return len(self.runs)

    def show(
        self,
        source: HparamTable,
        runs: list[tuple[Run, tuple[Any, ...]]],
        failed: frozenset[int],
        state: ViewState,
    ) -> None:
        """Display the runs. failed: ids of those with a failure."""
        if source is not self.source or runs != self.runs or failed != self.failed:
            self._effects = effects_in(source, runs)
            self._correlations = rank_correlations(source, runs)
        self.source, self.runs, self.failed, self._state = source, runs, failed, state
        self.cursor = max(0, min(self.cursor, len(runs) - 1))
        self.draw()

    def draw(self) -> None:
        width, height = self.size
        source, state = self.source, self._state
        if width < 2 or height < 1 or source is None or state is None:
            return
        picture: list[Row] = []
        if self.parallel or (self.parallel is None and width >= _WIDE and height >= _TALL):
            picture = parallel_rows(source, self.runs, self.cursor, width, max(height // 2, 6), state.symbols)
        self.shows_parallel = bool(picture)
        if correlations := correlation_row(source, self._correlations, width):
            picture.append(correlations)
        if effects := effects_row(source, self._effects, width):
            picture.append(effects)
        self.HEADS = 1 + len(picture)
        sign = f"{state_sign('crashed', state.symbols is Symbols.ASCII)} "
        blanks = " " * len(sign) if self.failed else ""
        widths = column_widths(source, width - len(blanks), self.sort)
        rows = [*picture, head_row(source, widths, self.sort, self.reverse, state.symbols, blanks)]
        for index in self.scroll_to_cursor():
            run, values = self.runs[index]
            mark = sign if run.id in self.failed else blanks
            rows.append(table_row(values, widths, index == self.cursor, source, mark))
        if not self.runs:
            rows.append(((" no run matches", Role.MUTED),))
        if not source.has_settings:
            whose = "this run" if len(source.rows) == 1 else "these runs"
            missing = f" no settings in the logs of {whose}; {SETTINGS_SOURCES}"
            rows += [(), *wrap_row(((missing, Role.MUTED),), width, max(height - len(rows) - 1, 1))]
        self.paint_filled([fit_row(row, width) for row in rows], state.theme)


class HparamsScreen(MetricTableScreen):
    """The hyperparameters of all runs."""

    WHERE = "hparams"
    PROMPT = "runs"
    PLACEHOLDER = "words of names and values"

    def __init__(self, actions: tuple[Action, ...]) -> None:
        self.table = RunTable()
        super().__init__(actions, self.table)
        self._shown_runs: tuple[Run, ...] = ()
        self._source = HparamTable((), ())

    @property
    def run_selected(self) -> Run | None:
        """Run that keys apply to, or None if no run is listed."""
        table = self.table
        return table.runs[table.cursor][0] if table.cursor < table.count else None

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        runs, metric, table = tuple(snapshot.runs), state.runs.metric, self.table
        chosen = metric != self._source.metric
        if (
            chosen
            or len(runs) != len(self._shown_runs)
            or any(a is not b for a, b in zip(runs, self._shown_runs, strict=True))
        ):
            self._shown_runs, self._source = runs, hparam_table(runs, self._source, metric)
        if chosen:  # best first, as in the run list
            table.sort = self._source.columns.index(METRIC) if METRIC in self._source.columns else 0
            table.reverse = table.sort > 0 and not self._source.is_falling(table.sort)
        table.sort = min(table.sort, max(len(self._source.columns) - 1, 0))
        words = self.query_text.lower().split()
        rows = sort_rows(self._source, table.sort, table.reverse) if self._source.columns else []
        rows = [row for row in rows if all(word in " ".join(map(cell_text, row[1])).lower() for word in words)]
        table.show(self._source, rows, failed_runs(snapshot.alerts) & {run.id for run in runs}, state)
        self.draw_lines(self._head(), state.theme)

    def _head(self) -> Row:
        source = self._source
        settings = max(len(source.columns) - 1 - source.results, 0)
        what = plural(settings, "setting")
        if len(source.rows) > 1:
            what += (
                f" differ{'s' if settings == 1 else ''}, {source.equal} {'is' if source.equal == 1 else 'are'} equal"
            )
        if not source.has_settings:
            what = "no settings"
        failed = sum(run.id in self.table.failed for run, _ in self.table.runs)
        if failed:
            sign = state_sign("crashed", self.dashboard.state.symbols is Symbols.ASCII)
            what += f"; {sign} {failed} {'is' if failed == 1 else 'are'} not healthy"
        head: Row = ((" Hyperparameters ", Role.TITLE), (f" {plural(self.table.count, 'run')}  {what}", Role.MUTED))
        if source.columns:
            head += (("  by ", Role.MUTED), (source.head(self.table.sort), Role.ACCENT))
        if self.table.shows_parallel:
            head += quarters_row(source, self.dashboard.state.symbols, self.size.width - row_width(head))
        if source.has_levels:
            steps = common_step_name([run for run, _ in source.rows])
            until = "" if source.until is None else f"{steps} {source.until}"
            head += (level_note(self.size.width - row_width(head), until),)
        return head

    # ------------------------------------------------------------------ keys

    def next_sort(self, by: int) -> None:
        """Sort by another column: results with the best first, names and settings in ascending order."""
        table, source = self.table, self._source
        table.sort = (table.sort + by) % max(len(source.columns), 1)
        table.reverse = source.is_result(table.sort) and not source.is_falling(table.sort)
        self.dashboard.redraw()

    def toggle_parallel(self) -> None:
        """Show or hide the parallel coordinates."""
        self.table.parallel = not self.table.shows_parallel
        self.table.draw()
        if self.table.parallel and not self.table.shows_parallel:
            self.dashboard.say("Parallel coordinates need two columns in which the runs differ")

    def reverse(self) -> None:
        """Reverse the order."""
        self.table.reverse = not self.table.reverse
        self.dashboard.redraw()
