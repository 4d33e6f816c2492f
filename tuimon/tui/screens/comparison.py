"""Comparison screen: runs side by side, with the settings that differ and the differences of their metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from tuimon.model.views import Role, Row, Symbols
from tuimon.panels.lists.comparison import comparison_table
from tuimon.store import Run
from tuimon.tui.screens.rows import PADDING, RowsScreen

MOST = 12
"""Maximum number of runs in one table."""


class ComparisonScreen(RowsScreen):
    """Table of runs at the time the screen was opened; the first run is the base of the comparison."""

    TABLE = True
    BINDINGS: ClassVar[list[BindingType]] = [("d", "app.pop_screen")]

    def __init__(self, runs: Sequence[Run], symbols: Symbols, theme: str, width: int) -> None:
        rows = comparison_table(runs[:MOST], time.time(), symbols, width - PADDING)
        more: Row = ((f"{len(runs) - MOST} more runs are marked; at most {MOST} can be compared", Role.WARNING),)
        super().__init__([*rows, *([(), more] if len(runs) > MOST else [])], theme)
