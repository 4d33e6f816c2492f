"""What is shown of a run: each panel is data and a pure function from a run to a view.

A panel is a module of this package with a PANEL (or PANELS). A curve panel is a few lines:

    PANEL = CurvePanel("kl", "KL", 30, ("kl.ref", "kl.old"))

    for panel in arrange(run):                         those that say something about this run, the telling ones first
        view = panel.view(run, Size(66, 14), time.time(), Symbols.BRAILLE)
    metric_panel("any/metric").view(…)                 any metric at all as a chart

Rows of runs, metrics and settings are made by tuimon.panels.lists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, runtime_checkable

from tuimon.model.views import Size, Symbols, View
from tuimon.panels._briefs import seedless_of
from tuimon.panels._chart import chart_of
from tuimon.panels._curves import SINGLE, CurvePanel, metric_panel, metric_panel_of
from tuimon.panels._groups import drawn_over
from tuimon.panels._look import PLAIN, SMOOTHINGS, Y_RANGES, Y_SCALES, Look, passing
from tuimon.panels._marks import alerted
from tuimon.panels._order import ASIDE, telling
from tuimon.panels._over import Over
from tuimon.panels._select import is_side, leftovers
from tuimon.registry import discover
from tuimon.store import Run
from tuimon.vocabulary import classify, memory_of, phase_of

__all__ = [
    "ASIDE",
    "PLAIN",
    "SINGLE",
    "SMOOTHINGS",
    "Y_RANGES",
    "Y_SCALES",
    "CurvePanel",
    "Look",
    "Over",
    "Panel",
    "alerted",
    "all_panels",
    "arrange",
    "chart_of",
    "drawn_over",
    "header_panel",
    "is_side",
    "metric_panel",
    "metric_panel_of",
    "passing",
    "prepare",
    "remaining",
    "seedless_of",
    "telling",
]

HEADER = "header"
MOST_SINGLE = 40
"""Charts of single metrics in an arrangement; the others are reached by name, through `remaining`."""


@runtime_checkable
class Panel(Protocol):
    """One thing that is shown."""

    @property
    def id(self) -> str:
        """Short, stable: "reward"."""
        ...

    @property
    def title(self) -> str:
        """For a person."""
        ...

    @property
    def order(self) -> int:
        """Panels with less come first."""
        ...

    @property
    def kind(self) -> str:
        """chart | bars | heat | text: what room it wants."""
        ...

    @property
    def rows(self) -> int:
        """Rows it can use; 0: as many as there are."""
        ...

    def relevant(self, run: Run) -> bool:
        """Whether it has something to say about this run. Cheap: asked at every new metric."""
        ...

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> View:
        """What it says, reduced to `size`. `now`: seconds since the epoch. Any size >= 0 × 0 will do.

        look: how charts are looked at; what a panel has no use for it does not mind.
        """
        ...


def all_panels() -> tuple[Panel, ...]:
    """Every panel there is, in order."""
    return _sorted_panels()


@lru_cache(maxsize=1)
def _sorted_panels() -> tuple[Panel, ...]:
    return tuple(sorted(discover("tuimon.panels", "PANEL"), key=lambda panel: (panel.order, panel.id)))


def prepare() -> None:
    """Loads the panels and what they know of names, which the first drawing would wait for."""
    all_panels()
    classify(""), phase_of(""), memory_of("")


def arrange(run: Run) -> tuple[Panel, ...]:
    """The panels for this run (but the header), the telling ones first; then charts of metrics that belong to none."""
    relevant = _relevant(run)
    fitted = tuple(_fitted(panel, run) for panel in relevant if panel.id != HEADER)
    return fitted + tuple(metric_panel(name) for name in _beside(run, relevant)[:MOST_SINGLE])


def _fitted(panel: Panel, run: Run) -> Panel:
    """A panel whose use of rows depends on the run has `fitted(run)`: the same panel with the rows that it can use; the
    same object for the same number."""
    fit: Callable[[Run], Panel] | None = getattr(panel, "fitted", None)
    return panel if fit is None else fit(run)


def header_panel() -> Panel:
    """The first thing a person reads: what run this is, how it stands, when it ends."""
    return next(panel for panel in all_panels() if panel.id == HEADER)


def remaining(run: Run) -> tuple[str, ...]:
    """Names of the metrics that no panel shows: unknown ones first."""
    return _beside(run, _relevant(run))


def _relevant(run: Run) -> tuple[Panel, ...]:
    return tuple(panel for panel in all_panels() if panel.relevant(run))


def _beside(run: Run, relevant: tuple[Panel, ...]) -> tuple[str, ...]:
    return leftovers(run.metrics, frozenset(c for panel in relevant for c in getattr(panel, "concepts", ())))
