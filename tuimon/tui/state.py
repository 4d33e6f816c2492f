"""What a person has chosen to see; all that is needed to show the same again."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuimon.model.views import Symbols
from tuimon.panels import Look, passing
from tuimon.tui.run_choice import RunChoice


@dataclass(slots=True)
class ViewState:
    """Changed by actions alone. What is no `passing` field is kept for the next start, see saved_view."""

    symbols: Symbols
    theme: str
    """dark | light | ansi."""
    look: Look = field(default_factory=Look)
    """How charts are looked at."""
    run: int | None = passing(None)
    """The index of the run that is shown; None: the one that grew last."""
    runs: RunChoice = field(default_factory=RunChoice)
    """Which of many runs are listed, and drawn over each other."""
    query: str | None = None
    """What was typed into the filter; None or "": no filter."""
    chart_size: int = 0
    """How much larger charts are than their page would have them, in columns and rows of charts that are left out."""
    all_metrics: bool = False
    """A chart for every metric, instead of the dashboard."""
    chosen: tuple[str, ...] = passing(())
    """Metrics that have been opened from their list, a chart each; (): none."""
    order: str = "relevance"
    """Of charts of single metrics: relevance | name."""
    folded: bool | None = None
    """Whether the sections of all metrics are folded; None: where there are many metrics."""
    turned: tuple[str, ...] = ()
    """The sections that are the other way round."""
    paused: bool = passing(False)
