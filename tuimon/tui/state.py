"""View state: what the user has chosen to see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tuimon.model.views import Symbols
from tuimon.panels import ChartOptions, OwnDashboard, transient
from tuimon.tui.run_choice import RunChoice

_WITHOUT = OwnDashboard()


@dataclass(slots=True)
class ViewState:
    """Everything needed to show the same view again. Actions change it; saved_view stores all fields that are not
    marked `transient`."""

    symbols: Symbols
    theme: str
    """Name of a theme, see themes.names."""
    options: ChartOptions = field(default_factory=ChartOptions)
    """Display options of the charts."""
    run: int | None = transient(None)
    """Id of the run that is shown; None: the run that grew last."""
    runs: RunChoice = field(default_factory=RunChoice)
    """Runs that are listed and overlaid."""
    query: str = transient("")
    """Filter of the dashboard; "": no filter. Not saved: a later start would hide charts without a reason to see."""
    frames: bool = transient(False)
    """Whether panels have borders on a wide screen."""
    chart_size: int = 0
    """Number of chart columns and rows left out of a page to make charts larger; negative: added."""
    all_metrics: bool = False
    """Whether to show a chart for every metric instead of the dashboard."""
    chosen: tuple[str, ...] = transient(())
    """Metrics opened from the metric list, one chart each."""
    together: tuple[str, ...] = transient(())
    """Metrics that are drawn in one chart; (): none."""
    own: OwnDashboard = field(default=_WITHOUT, metadata={"transient": True})
    """Panels, values and thresholds of the user's files."""
    kept: OwnDashboard | None = None
    """Panels that are kept for this path, in place of those of `own`."""
    order: str = "relevance"
    """Order of the charts of single metrics: relevance or name."""
    folded: bool | None = None
    """Whether sections are folded; None: they are if there are many metrics."""
    turned: tuple[str, ...] = ()
    """Titles of the sections whose state is the opposite of `folded`."""
    marked_text: Any = field(default=None, metadata={"transient": True})
    """Generated text (rollouts.Sample) that others are compared with, also those of other runs; None: no text."""
    paused: bool = transient(False)
    """Whether the screen is held while reading continues."""

    def leave_choice(self) -> None:
        """End the innermost choice of metrics: a filter, a list of metrics, all metrics."""
        if self.together:
            self.together = ()
        elif self.query:
            self.query = ""
        elif self.chosen:
            self.chosen = ()
        else:
            self.all_metrics = False
