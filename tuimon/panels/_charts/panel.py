"""The base of all panels."""

from __future__ import annotations

from msgspec import Struct

from tuimon.model.views import Size, Symbols, View
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.store import Run


class Panel(Struct, frozen=True):
    """A part of the dashboard: a pure function from a run to a view."""

    id: str
    """Short, stable name: "reward"."""
    title: str
    """Title on the screen."""
    order: int = 0
    """Position in the arrangement, ascending."""
    concepts: tuple[str, ...] = ()
    """Concepts of the vocabulary that it displays."""
    kind: str = "text"
    """Kind of view, which determines the layout: chart | bars | heat | text."""
    rows: int = 0
    """Number of rows it can use; 0 for any number."""
    live: bool = False
    """Whether the view depends on the current time, not only on the run."""
    also: str = ""
    """Other words for it, by which the palette finds it."""

    def relevant(self, run: Run) -> bool:
        """Whether the panel has something to display for this run. Cheap, as it is called for every new metric."""
        return True

    def fitted(self, run: Run) -> Panel:
        """Return the panel with title and rows that it can use for this run."""
        return self

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> View:
        """Return the view, reduced to `size` (any size from 0 × 0).

        now: seconds since the epoch. options: display options of charts; a panel ignores those it does not use.
        """
        raise NotImplementedError
