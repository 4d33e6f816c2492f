"""Comparison screen: runs side by side, with the settings that differ and the differences of their metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from tuimon.model.views import Role, Row, Symbols
from tuimon.panels.lists.compared_runs import compared_runs
from tuimon.panels.lists.comparison import comparison_table
from tuimon.store import Run
from tuimon.tui.screens.rows import PADDING, RowsScreen

MOST = 12
"""Maximum number of runs in one table."""


class ComparisonScreen(RowsScreen):
    """Table of runs at the time the screen was opened; the first run is the base of the comparison."""

    TABLE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        ("d", "app.pop_screen"),
        ("right_square_bracket", "skip_runs(1)"),
        ("left_square_bracket", "skip_runs(-1)"),
    ]

    def __init__(
        self, runs: Sequence[Run], failures: Sequence[str], symbols: Symbols, theme: str, width: int, x: str = "step"
    ) -> None:
        """x: axis along which the runs are compared."""
        self._runs, self._symbols = runs, symbols
        self._comparison = compared_runs(runs[:MOST], failures[:MOST], x)
        self._skipped, self._now = 0, time.time()
        super().__init__(self._table(width), theme, [("] [", "runs")] if len(runs) > 2 else [])

    def _table(self, width: int) -> list[Row]:
        more = len(self._runs) - MOST
        keys = "] shows the next, [ the one before"
        rows = comparison_table(self._comparison, self._now, self._symbols, width - PADDING, self._skipped, keys)
        text = f"{more} more runs are marked; at most {MOST} can be compared"
        return [*rows, *([(), ((text, Role.WARNING),)] if more > 0 else [])]

    def action_skip_runs(self, count: int) -> None:
        """Leave out more or fewer of the runs after the base, so that others fit."""
        self._skipped = min(max(self._skipped + count, 0), max(len(self._runs[:MOST]) - 2, 0))
        self._pane.replace_rows(self._table(self.app.size.width))
