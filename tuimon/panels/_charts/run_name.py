"""Name of the run in the panels that show one run while the charts around them are overlays of several runs."""

from __future__ import annotations

from msgspec.structs import replace

from tuimon.model.views import Role, Row, View
from tuimon.panels._charts.curve_panel import CurvePanel
from tuimon.panels._charts.options import ChartOptions
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_LONGEST = 24
"""Maximum cells of the name."""
_AROUND = 6
"""Cells beside title and name: the gap, the marker and two blanks on each side of the name."""


def with_run_name(view: View, panel: object, run: Run, width: int, options: ChartOptions) -> View:
    """Return the view with the run's marker and name beside its title, in the colour of its line in the charts.

    The view itself is returned without an overlay, if the panel draws all runs of it, if it has no title, and for a
    `live` panel, which shows the machine. width: of the panel in cells.
    """
    line = next((line for line in options.overlay if any(own.id == run.id for own in line.runs)), None)
    if line is None or isinstance(panel, CurvePanel) or getattr(panel, "live", False) or not view.title:
        return view
    name = clean(line.label if len(line.runs) == 1 else run.name)
    room = min(_LONGEST, max(width - cell_width(clean(view.title)) - _AROUND, 1))
    own: Row = ((f"{line.marker} {fit(name, min(cell_width(name), room), 'ends')}", line.role),)
    return replace(view, headline=(*own, *([("  ", Role.MUTED), *view.headline] if view.headline else ())))
