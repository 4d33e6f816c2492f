"""A dashboard of the user: the `[dashboard]` table of the settings or of a project file.

    panels = ["reward", "kl", {title = "losses", metrics = ["actor/*loss", "critic/*loss"]}, "val/*", "phase_latency"]
    others = true             # the panels that are not named follow
    values = ["lr", "grad"]   # metrics whose last value the header shows
    [dashboard.thresholds]    # panel, metric, concept or pattern = a value or several, drawn as lines
    kl = 0.1

An entry is the id of a panel (docs/screens.md), the name of a metric, or a pattern of metrics, see
analysis/metric_filter.py. Entries that match nothing in a run are ignored, so that one file can serve several
kinds of runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import replace

from tuimon.analysis.metric_filter import chosen
from tuimon.errors import UsageError
from tuimon.panels._charts.curve_panel import CurvePanel, metric_panel
from tuimon.panels._charts.panel import Panel
from tuimon.panels._missing import MissingPanel, missing_panel
from tuimon.store import Run
from tuimon.text import clean

_MAX_ENTRIES = 200
_MAX_METRICS = 40
"""Maximum number of charts of one pattern."""
_MAX_LINES = 12
"""Maximum number of metrics in one chart, and of thresholds of one chart."""
_LONGEST = 300
"""Maximum number of characters of a pattern or a title."""


_Text = Annotated[str, Meta(min_length=1, max_length=_LONGEST)]
_Values = Annotated[tuple[float, ...], Meta(min_length=1, max_length=_MAX_LINES)]


class Chart(Struct, frozen=True, forbid_unknown_fields=True):
    """One chart with several metrics."""

    title: _Text
    metrics: Annotated[tuple[_Text, ...], Meta(min_length=1, max_length=_MAX_LINES)]
    """Patterns of metrics."""


class OwnDashboard(Struct, frozen=True, forbid_unknown_fields=True):
    """Panels, values and thresholds that the user has chosen: the table as written."""

    panels: Annotated[tuple[_Text | Chart, ...], Meta(max_length=_MAX_ENTRIES)] = ()
    others: bool = True
    """Whether the other panels follow."""
    values: Annotated[tuple[_Text, ...], Meta(max_length=_MAX_LINES)] = ()
    """Patterns of metrics whose last value the header shows."""
    limits: Annotated[dict[_Text, float | _Values], Meta(max_length=_MAX_ENTRIES)] = field(
        default_factory=dict, name="thresholds"
    )

    @property
    def thresholds(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """(panel, metric, concept or pattern, values in the unit of the chart)."""
        return tuple((name, own if isinstance(own, tuple) else (own,)) for name, own in self.limits.items())

    @property
    def patterns(self) -> list[str]:
        """The ids and patterns of all panels."""
        return [name for own in self.panels for name in ((own,) if isinstance(own, str) else own.metrics)]

    def arranged(self, panels: Sequence[Panel], run: Run) -> tuple[Panel, ...]:
        """Return the chosen panels of a run in their order, then the others of `panels`, if wanted.

        In place of a panel for which the run has no data there is one that says what the log lacks.
        """
        if not self.panels:
            return tuple(panels)
        known = {panel.id: panel for panel in panels}
        first: dict[str, Panel] = {}
        for entry in self.panels:
            for panel in _of_entry(entry, known, run):
                first.setdefault(panel.id, panel)
        rest = (
            [panel for panel in panels if panel.id not in first]
            if self.others or all(isinstance(panel, MissingPanel) for panel in first.values())
            else []
        )
        return (*first.values(), *rest)

    def with_panels(self, panels: Sequence[Panel], others: bool) -> OwnDashboard:
        """Return a copy with the entries that show these panels."""
        entries = dict.fromkeys(_entry_of(panel) for panel in panels[:_MAX_ENTRIES])
        return replace(self, panels=tuple(entries), others=others)


def _of_entry(entry: str | Chart, known: Mapping[str, Panel], run: Run) -> Iterator[Panel]:
    if isinstance(entry, Chart):
        metrics = tuple(dict.fromkeys(name for pattern in entry.metrics for name in named(pattern, run)))
        if metrics:
            yield CurvePanel(f"own:{entry.title}", entry.title, metrics=metrics[:_MAX_LINES])
    elif entry in known:
        yield known[entry]
    elif metrics := named(entry, run):
        yield from map(metric_panel, metrics[:_MAX_METRICS])
    elif (missing := missing_panel(entry)) is not None:
        yield missing


def named(pattern: str, run: Run) -> tuple[str, ...]:
    """Return the metrics of a run that a pattern means, in the order of the run."""
    selected, _ = chosen(run.metrics, (pattern,))
    return tuple(name for name in run.metrics if name in selected)


def _entry_of(panel: Panel) -> str | Chart:
    if isinstance(panel, CurvePanel) and panel.metrics:
        return Chart(panel.title, panel.metrics) if len(panel.metrics) > 1 else panel.metrics[0]
    return panel.id


def parse_dashboard(table: Mapping[str, Any], where: str) -> OwnDashboard:
    """Return the dashboard of a `[dashboard]` table. Raises UsageError if it is invalid.

    where: path of the file for its message; "" if the caller names the file.
    """
    try:
        own = convert(table, OwnDashboard)
        if not all(math.isfinite(value) for _, values in own.thresholds for value in values):
            raise ValidationError("Expected finite numbers - at `$.thresholds`")
    except ValidationError as error:
        problem, _, place = clean(str(error)).partition(" - at `$.")
        named = f"{place.rstrip('`')}: {problem}" if place else problem
        prefix = f"{clean(where)}: [dashboard] " if where else ""
        raise UsageError(f"{prefix}{named}", "docs/screens.md describes the table.") from error
    return own
