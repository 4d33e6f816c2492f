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
    all_metrics: bool = False
    """A chart for every metric, instead of the dashboard."""
    paused: bool = passing(False)
