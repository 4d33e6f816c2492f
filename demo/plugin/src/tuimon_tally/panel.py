"""The highest value of every metric of a tally log, and its step."""

from __future__ import annotations

from tuimon.model.views import Role, Row, Size, Symbols, TextView
from tuimon.panels import DEFAULTS, ChartOptions, Panel
from tuimon.store import Run


class Best(Panel, frozen=True):
    """A text panel."""

    def relevant(self, run: Run) -> bool:
        """Whether the run has a tally log."""
        return any(stream.info.format == "tally" for stream in run.streams)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> TextView:
        """Return a row for each metric."""
        rows: list[Row] = []
        for metric in run.metrics[: size.height]:
            top = run.curve(metric).max
            if top is not None:
                rows.append(((f"{top.value:g}", Role.VALUE), (f" at step {top.step}  {metric}", Role.TEXT)))
        return TextView(self.title, tuple(rows))


PANEL = Best("tally_best", "best tallies", 145, rows=2)
