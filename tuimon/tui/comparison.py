"""Runs side by side: the settings that differ, and how far their metrics lie apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from tuimon.model.views import Role, Row, Symbols
from tuimon.panels.lists.side_by_side import side_by_side
from tuimon.store import Run
from tuimon.tui.screens import RowsScreen

MOST = 12
"""Runs in one table; more are not looked at one by one."""


_PADDING = 2
"""Cells beside the rows."""


class ComparisonScreen(RowsScreen):
    """A table as it stands when it is opened; the first run is what the others are held against."""

    TABLE = True
    BINDINGS: ClassVar[list[BindingType]] = [("d", "app.pop_screen")]

    def __init__(self, runs: Sequence[Run], symbols: Symbols, theme: str, width: int) -> None:
        rows = side_by_side(runs[:MOST], time.time(), symbols, width - _PADDING)
        more: Row = ((f"{len(runs) - MOST} more runs are marked; {MOST} are compared at once", Role.WARNING),)
        super().__init__([*rows, *([(), more] if len(runs) > MOST else [])], theme)
