"""Comparison screen: runs side by side, with the settings that differ and the differences of their metrics."""

from __future__ import annotations

from tuimon.model.views import Role
from tuimon.panels import plural
from tuimon.panels.lists.comparison import MOST, Comparison
from tuimon.panels.lists.comparison_tables import screen_rows
from tuimon.store import Snapshot
from tuimon.tui.action import Action
from tuimon.tui.screens.document import Document, DocumentScreen
from tuimon.tui.state import ViewState


class ComparisonScreen(DocumentScreen):
    """Tables of a comparison at the time the screen was opened."""

    WHERE = "comparison"

    def __init__(self, actions: tuple[Action, ...], comparison: Comparison, more: int) -> None:
        """more: number of runs that are not compared, because they are too many."""
        self.pane = Document()
        super().__init__(actions, self.pane)
        self._comparison, self._more = comparison, more

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        rows = screen_rows(self._comparison, now, state.symbols, self.app.size.width)
        if self._more > 0:
            rows += [(), ((f"{self._more} more runs; at most {MOST} are compared", Role.WARNING),)]
        self.pane.show(rows, state.theme)
        head = (
            (f" {plural(len(self._comparison.runs), 'run')} compared", Role.TITLE),
            (f"  {self.pane.position}", Role.MUTED),
        )
        self.draw_lines(head, state.theme)
