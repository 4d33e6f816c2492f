"""What stands in place of the charts while there is nothing to draw: what is waited for, what was found so far."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from tuimon.draw.numbers import format_bytes
from tuimon.draw.rows import exactly
from tuimon.model.views import Role, Row, Rows
from tuimon.store import Snapshot
from tuimon.text import clean, shown_path
from tuimon.tui.box import strip

_MOST = 20


class Waiting(Widget):
    """Rows of text; drawn again only when they differ."""

    DEFAULT_CSS = "Waiting { height: 1fr; width: 1fr; padding: 1 2; }"

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self._paths = paths
        self._rows: Rows = ()
        self._theme = "dark"

    def update(self, snapshot: Snapshot, query: str | None, theme: str) -> None:
        """query: what was typed into the filter, when that is why there is nothing."""
        if query:
            rows: Rows = (((f"no metric matches {clean(query)}", Role.TITLE), ("   Esc ends the filter", Role.MUTED)),)
        else:
            rows = tuple(self._told(snapshot))
        if rows != self._rows or theme != self._theme:
            self._rows, self._theme = rows, theme
            self.refresh()

    def _told(self, snapshot: Snapshot) -> list[Row]:
        streams = [stream for run in snapshot.runs for stream in run.streams]
        where = ", ".join(shown_path(path) for path in self._paths)
        if not streams:
            looking = "looking for logs" if not snapshot.progress.caught_up else "waiting for a log to appear"
            return [((looking, Role.TITLE), (" below ", Role.TEXT), (where, Role.VALUE))]
        rows: list[Row] = [
            (("waiting for the first point", Role.TITLE), (" below ", Role.TEXT), (where, Role.VALUE)),
            (),
        ]
        for stream in streams[:_MOST]:
            status = stream.status
            said = f"{status.state}, {format_bytes(status.size)}" if status else "waiting"
            message = f": {clean(status.message)}" if status and status.message else ""
            rows.append(((f"{clean(stream.found.source)}  ", Role.TEXT), (said + message, Role.MUTED)))
        if len(streams) > _MOST:
            rows.append(((f"and {len(streams) - _MOST} more", Role.MUTED),))
        return rows

    def render_line(self, y: int) -> Strip:
        return strip(exactly(self._rows, self.size.width, self.size.height)[y], self._theme)
