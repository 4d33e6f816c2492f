"""Widgets of the texts view: the list and the text."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tuimon.model.views import Rows
from tuimon.tui.screens.document import Document
from tuimon.tui.screens.text_choice import SCATTER, Choice
from tuimon.tui.screens.text_list import list_columns, scatter_rows
from tuimon.tui.state import ViewState
from tuimon.tui.table import Table


class SampleTable(Table[Any]):
    """The list of samples, groups, ranges of rewards or steps, or a plot of the samples."""

    GAP = 1

    def __init__(self, chosen: Callable[[], object]) -> None:
        """chosen: called when another row has been selected."""
        super().__init__()
        self._chosen = chosen
        self.choice = Choice()
        self._shape = "", -1
        self._made_for: tuple[object, ...] = ()

    def move(self, rows: int) -> None:
        super().move(rows)
        self._chosen()

    def key(self, item: Any) -> int:
        return id(item)

    def show(self, state: ViewState) -> None:
        """Display the current choice; the same row stays selected, whatever is in it."""
        choice = self.choice
        shape = choice.mode, len(choice.items)  # the list of steps grows while they are read
        made_for = choice.items, choice.change, choice.entries
        if shape != self._shape or any(map(operator.is_not, made_for, self._made_for)):
            self._shape, self._made_for = shape, made_for
            self.forget_widths()
            self.columns = list_columns(choice, state.symbols)
        columns = () if choice.mode == SCATTER else self.columns
        self._kept = None
        self.show_items(choice.items, columns, self.order, state.symbols, state.theme)

    def above(self) -> Rows:
        """Return the plot of the samples, which takes the place of their rows."""
        if self.choice.mode != SCATTER:
            return ()
        return scatter_rows(self.choice, self.cursor, self.symbols, self.size)


class TextPane(Document):
    """The text of the selected sample."""

    def __init__(self, on_new_size: Callable[[], object]) -> None:
        """on_new_size: called when the pane has another size."""
        super().__init__()
        self._on_new_size = on_new_size

    def on_resize(self) -> None:
        self._on_new_size()
