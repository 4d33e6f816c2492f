"""Names of the lines of an overlay in the title row and the rows below it."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.model.views import Role, Row, Rows, Span
from tuimon.text import cell_width, clean, fit_distinct

LEGEND_GAP = 4
"""Cells of an entry besides its label: the marker and blanks."""
_LEAST = 8
"""Minimum cells of a name that is cut; with less, names are left out and counted instead."""
_HEIGHT_OF_ROW = 6
"""Rows of a chart for each row of its legend below the title row."""


def wrapped_legend(
    names: Sequence[str], signs: Sequence[Span], room: int, width: int, height: int
) -> tuple[int, list[str], Rows]:
    """Return (number of names in the title row, names, rows below it). Names that do not fit are cut where they stay
    distinct, or else left out and counted: "+2 more".

    signs: marker and role of each line. room: cells of the title row for the legend. width, height: of the chart.
    """
    names = [clean(name) for name in names]
    rooms = [room, *[width] * (height // _HEIGHT_OF_ROW)]
    longest = max(map(cell_width, names))
    columns = (min(width // count - LEGEND_GAP, longest) for count in range(1, len(names) + 1))
    labels = names
    for cells in (longest, *columns):
        if cells < _LEAST:
            break
        cut = fit_distinct(names, cells)
        if len(set(cut)) < len(set(names)):
            break
        labels = cut
        if sum(_counts(labels, rooms)) == len(labels):
            break
    counts = _counts(labels, rooms)
    more = f"+{len(labels) - sum(counts)} more"
    if sum(counts) < len(labels) and len(rooms) > 1:
        counts = _counts(labels, [*rooms[:-1], width - cell_width(more) - 2])
        more = f"+{len(labels) - sum(counts)} more"
    rows: list[Row] = []
    start = counts[0]
    for count in counts[1:]:
        entries = zip(labels[start : start + count], signs[start : start + count], strict=True)
        rows.append(tuple((f"{marker} {label}  ", role) for label, (marker, role) in entries))
        start += count
    if rows and start < len(labels):
        rows[-1] = (*rows[-1], (more, Role.MUTED))
    return counts[0] if rows else len(labels), labels, tuple(row for row in rows if row)


def _counts(labels: Sequence[str], rooms: Sequence[int]) -> list[int]:
    """Return how many of the labels fit into each row, in order."""
    counts = []
    start = 0
    for room in rooms:
        count = 0
        while start < len(labels) and (room := room - cell_width(labels[start]) - LEGEND_GAP) >= -2:
            count, start = count + 1, start + 1
        counts.append(count)
    return counts
