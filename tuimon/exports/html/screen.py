"""The dashboard as an SVG picture, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.exports.dashboard import dashboard_rows
from tuimon.exports.html import asset, render
from tuimon.model.views import Row, Symbols
from tuimon.store import Snapshot
from tuimon.text import cell_width, clean

_CELL = 8.4
"""Width of a 14 px character in px."""
_LEFT = 10


def as_svg(snapshot: Snapshot, width: int, height: int, now: float, symbols: Symbols) -> str:
    """Return the first page of the dashboard at this width and height in cells, one run below the other."""
    rows = [list(_spans(row)) for row in dashboard_rows(snapshot, width, height, now, symbols)]
    title = ", ".join(clean(run.name) for run in snapshot.runs) or "tuimon"
    wide, high = round(width * _CELL) + 2 * _LEFT, len(rows) * 18 + 20
    return render("screen.svg", style=asset("screen.css"), title=title, rows=rows, width=wide, height=high)


def _spans(row: Row) -> Iterator[dict[str, object]]:
    """Yield the texts of a row with their positions. Blank texts are omitted unless they have a background."""
    column = 0
    for text, role in row:
        wide = cell_width(text)
        inner = text if str(role).startswith("heat") else text.strip(" ")
        if inner:
            x = column + (0 if inner == text else wide - cell_width(text.lstrip(" ")))
            yield {
                "x": f"{_LEFT + x * _CELL:.1f}",
                "width": f"{cell_width(inner) * _CELL:.1f}",
                "role": str(role),
                "text": inner.replace(" ", "\u00a0"),
            }
        column += wide
