"""Text in place of the charts while there is nothing to draw."""

from __future__ import annotations

import time

from tuimon.analysis.metric_filter import expression_error
from tuimon.analysis.progress_inputs import not_understood
from tuimon.draw.numbers import format_bytes
from tuimon.draw.rows import fit_row, wrap_row
from tuimon.model.views import Role, Row, Rows
from tuimon.panels import link_row, why_no_match
from tuimon.store import Run, Snapshot
from tuimon.text import clean, shown_path
from tuimon.tui.action import TuimonApp, key_names
from tuimon.tui.box import CellGrid
from tuimon.tui.taught_patterns import proposed_patterns

_MOST = 20
"""Maximum number of files that are listed."""


class Waiting(CellGrid):
    """Rows of text."""

    DEFAULT_CSS = "Waiting { height: 1fr; width: 1fr; }"

    app: TuimonApp

    def update(self, run: Run | None) -> None:
        """run: the run that the filter applies to, which is then the reason that there is nothing to draw."""
        query, width, theme = self.app.state.query, self.app.size.width, self.app.state.theme
        if query and run is not None:
            no_match = expression_error(query) or f"no metric matches {clean(query)}", Role.TITLE
            rows: Rows = ((no_match, ("   Esc removes the filter", Role.MUTED)),)
            for sentence in why_no_match(query, run):
                rows += ((), *wrap_row(((sentence, Role.TEXT),), max(width - 4, 20), 8))
        else:
            rows = tuple(self._waiting_for(self.app.snapshot))
        self.paint(tuple(fit_row((("  ", Role.TEXT), *row), width) for row in ((), *rows)), theme)

    def _waiting_for(self, snapshot: Snapshot) -> list[Row]:
        """Return what is waited for, and the files found so far."""
        streams = [stream for run in snapshot.runs for stream in run.streams]
        where: Row = (" below ", Role.TEXT), (", ".join(shown_path(path) for path in self.app.paths), Role.VALUE)
        if not streams:
            searching = "waiting for a log to appear" if snapshot.progress.caught_up else "searching for logs"
            rows: list[Row] = [((searching, Role.TITLE), *where)]
            rows += [link_row(link, time.time()) for link in self.app.monitor.links]
            for notice in snapshot.notices[-_MOST:]:
                role = Role.TEXT if notice.level == "info" else Role.WARNING
                rows += [(), *(((clean(part), role),) for part in notice.message.split("; "))]
            return rows + self._offer(snapshot)
        unread = not_understood(snapshot, time.time())
        title = "not understood" if len(unread) == len(snapshot.runs) else "waiting for the first point"
        if any(run.point_count for run in snapshot.runs):
            title = f"reading {len(snapshot.runs)} runs"
        rows = [((title, Role.TITLE), *where), ()]
        for reason in list(unread.values())[:_MOST]:
            rows += [((clean(part), Role.WARNING),) for part in reason.split("; ")]
        for stream in streams[:_MOST]:
            status = stream.status
            state = f"{status.state}, {format_bytes(status.size)}" if status else "waiting"
            message, *parts = clean(status.message).split("; ") if status and status.message else [""]
            shown = f"{state}: {message}" if message else state
            rows.append(((f"{clean(stream.info.source)}  ", Role.TEXT), (shown, Role.MUTED)))
            rows += [((f"  {part}", Role.MUTED),) for part in ([] if unread else parts)]
        if len(streams) > _MOST:
            rows.append(((f"and {len(streams) - _MOST} more", Role.MUTED),))
        return rows + self._offer(snapshot)

    def _offer(self, snapshot: Snapshot) -> list[Row]:
        keys = self.app.action_of["teach"].keys
        if not keys or not proposed_patterns(snapshot):
            return []
        then = "for the next start: a pipe cannot be read again" if "-" in self.app.paths else "and reads the log again"
        offer = f"{key_names(keys.partition(',')[0])} saves console_patterns in config.toml {then}"
        return [(), ((offer, Role.TEXT),)]
