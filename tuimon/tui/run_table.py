"""Run list as rows, without widgets: for its screen, and for the screen before Textual is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tuimon.draw.rows import blank, row_width, wrap_row
from tuimon.draw.table import Column, Order
from tuimon.model.links import Link
from tuimon.model.views import Role, Row, Rows, Size
from tuimon.panels import with_live_links
from tuimon.panels.lists import run_overview
from tuimon.panels.lists.parallel import parallel_rows, quarters_row, result_of
from tuimon.panels.lists.run_groups import SEEDS, Entry, RunGroup, group_row
from tuimon.panels.lists.run_metrics import METRIC, RESULTS, level_note, repeated_columns, split_statistic
from tuimon.panels.lists.runs import GAP, SIGNS, Listing, headed, run_columns, run_signs
from tuimon.panels.lists.settings import SETTINGS_SOURCES
from tuimon.store import Run
from tuimon.tui.run_contents import RunContents
from tuimon.tui.table import Table

_WIDE, _TALL = 160, 30
"""Columns and rows of the table from which parallel coordinates are shown above the settings at first."""


class RunTable(Table[Entry]):
    """Runs and headings of groups, below them a chart, above them what the settings of the runs show."""

    SIGNS, GAP = SIGNS, GAP

    def __init__(self) -> None:
        super().__init__()
        self.contents: RunContents | None = None
        self.parallel: bool | None = None
        """Whether parallel coordinates are above the settings; None: if the screen is wide."""
        self.shows_parallel = False
        self._charts: dict[str, tuple[tuple[object, ...], Rows]] = {}
        """The charts above and below the list: the inputs from which each was drawn, and its rows."""

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
            self.draw()
            return
        if self.contents is not None and self.contents.is_reading and not contents.is_reading:
            self.forget_widths()  # "reading" is wider than other states
        self.contents = contents
        if contents.listing.base is None:
            self._seen.pop("base", None)
        order = Order(contents.choice.sort, contents.choice.reverse)
        self.show_items(contents.entries, run_columns(self._listing), order, contents.listing.symbols, theme)

    def go_to(self, index: int) -> None:
        if self.contents is None:  # the list is still being sorted: the first row, whichever run it is
            self._kept = ""
        super().go_to(index)

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
        width, height = self.size.width, self.size.height
        rows: Rows = ()
        if axes and (self.parallel or (self.parallel is None and width >= _WIDE and height >= _TALL)):
            selected = self.runs.index(self.run_selected) if self.run_selected is not None else -1
            inputs = axes, selected, width, max(height // 2, 6), self.symbols
            rows = self._drawn_once("above", inputs, lambda: tuple(parallel_rows(*inputs)))
        self.shows_parallel = bool(rows)
        settings = self._listing.settings if self._listing.all_settings else None
        if settings is not None and not (settings.names or settings.equal):
            missing = f" no settings in the logs of these runs; {SETTINGS_SOURCES}"
            rows += tuple(wrap_row(((missing, Role.MUTED),), width, max(height - 2, 1)))
        return rows

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

        def drawn() -> Rows:
            chart = run_overview.overview(runs, listing, choice.grouped, size, choice.sort)
            return (blank(size.width), *chart) if chart else ()

        return self._drawn_once("below", inputs, drawn)

    def _drawn_once(self, place: str, inputs: tuple[object, ...], draw: Callable[[], Rows]) -> Rows:
        """Return the rows of a chart, drawn only if its inputs have changed."""
        if place not in self._charts or self._charts[place][0] != inputs:
            self._charts[place] = inputs, draw()
        return self._charts[place][1]

    def head(self, width: int, is_reading: bool, paused: bool, links: Sequence[Link], now: float) -> Row:
        """Return the head line of the contents that are displayed, for a screen of `width` columns."""
        contents = self.contents
        assert contents is not None
        head = contents.head(width, is_reading)
        if paused:
            head = (*head, ("  paused", Role.WARNING))
        head = with_live_links(head, links, now)
        if self.shows_parallel:
            head = (*head, *quarters_row(result_of(contents.axes), width - row_width(head)))
        if self.has_levels:
            levels = contents.listing.levels
            readers = RESULTS.values() if contents.choice.all_settings else ()
            steps = (levels.last_step(reader) for reader in readers)
            until = next((f"step {step}" for step in steps if step is not None), "")
            head = (*head, level_note(width - row_width(head), until))
        return head


def _runs_of(entry: Entry) -> tuple[Run, ...]:
    return entry.runs if isinstance(entry, RunGroup) else (entry,)
