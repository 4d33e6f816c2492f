"""Chart below a short run list: the metric by which the list is sorted, or the main metric of the listed runs, in the
colours of their curves in the list."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tuimon.draw import render
from tuimon.model.views import ChartView, Rows, Size
from tuimon.panels._charts.curve_panel import metric_panel
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels._charts.overlay_lines import overlay_lines
from tuimon.panels._run_facts import loss_of, main_of, reward_of
from tuimon.panels._text import plural
from tuimon.panels.curves import LOSS, REWARD
from tuimon.panels.lists.run_metrics import METRIC, RESULTS, main_reader, reader_of
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run

LEAST = Size(60, 10)
"""Minimum size of the chart."""
MOST_LINES = 8
"""Maximum number of lines: more could not be distinguished."""


def overview(runs: Sequence[Run], listing: Listing, grouped: bool, size: Size, sort: str = "found") -> Rows:
    """Return the chart as rows, without values that are far from the others; () for fewer than two runs with a metric.
    If several runs are marked, only these are drawn.

    grouped: draw runs that differ only in their seed as one line, as is done anyway if there are more than MOST_LINES
    runs. sort: column by which the list is sorted. Its metric is drawn if two runs have it.
    """
    marked = [run for run in runs if run.path in listing.marked]
    chosen = runs if len(marked) < 2 else marked
    sorted_by = reader_of(listing.metric) if sort == METRIC else RESULTS.get(sort)
    if sorted_by is not None and sum(sorted_by(run) is not None for run in chosen) < 2:
        sorted_by = None
    every = [run for run in chosen if (sorted_by or main_of)(run) is not None]
    grouped = grouped or len(every) > MOST_LINES
    lines = overlay_lines(every, every, grouped, listing.markers, listing.failed)
    if any(len(line.runs) > 1 for line in lines):  # a group has no colour in the list
        lines = overlay_lines(every, every, grouped, failed=listing.failed)
    lines = lines[:MOST_LINES]
    known = [run for line in lines for run in line.runs]
    if len(known) < 2 or not lines or size.width < LEAST.width or size.height < LEAST.height:
        return ()
    reader = sorted_by or main_reader(known)
    names = dict.fromkeys(reading.metric for run in known if (reading := reader(run)) is not None)
    own = None if sorted_by else {reward_of: REWARD, loss_of: LOSS}.get(reader)
    panel = own or metric_panel(*names)
    options = ChartOptions(overlay=lines, y_range="robust")
    view = panel.view(known[0], size, listing.now, listing.symbols, options)
    if isinstance(view, ChartView) and len(every) > len(known):
        more = f"+{plural(len(every) - len(known), 'more run')}, not drawn"
        view = replace(view, notes=(more, *view.notes))
    return render(view, size, listing.symbols)
