"""The text of a console log as it comes: its last lines, as a terminal would show them, for the run that it belongs to
at that time. The whole text is in the file (tuimon/reader/log_text.py)."""

from __future__ import annotations

from math import isnan

from tuimon.formats._console._line import stamp
from tuimon.formats._console._shown import MAX_SHOWN, shown
from tuimon.model.points import Fact, Item

KEPT = 2000
"""Lines given of one piece of the log; those before them would scroll out of any view."""
_MAX_OPEN = 4 * MAX_SHOWN


class TextTail:
    """Cuts text into lines, whatever the cutting of what it is fed, and gives the last of them."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, data: bytes) -> list[Item]:
        """At most one Fact: the last KEPT lines that ended in `data`, with their times where they begin with one."""
        *ended, rest = data.rsplit(b"\n", KEPT)
        if not ended:
            self._open = _bounded(self._open + rest)
            return []
        if len(ended) == KEPT:
            ended[0] = ended[0][ended[0].rfind(b"\n") + 1 :] if b"\n" in ended[0] else self._open + ended[0]
        else:
            ended[0] = self._open + ended[0]
        self._open = _bounded(rest)
        lines = [line for raw in ended if (line := shown(raw)) is not None]
        if not lines:
            return []
        value: dict[str, object] = {"lines": lines}
        times = [None if isnan(time) else time for time in map(stamp, lines)]
        known = [time for time in times if time is not None]
        if known:
            value["times"] = times
        return [Fact("console", value, wall_time=known[-1] if known else None)]


def _bounded(text: bytes) -> bytes:
    """What a line that has not ended must be kept of."""
    if len(text) <= _MAX_OPEN:
        return text
    body = text.rstrip(b"\r")
    state = body[body.rfind(b"\r", 0, len(body)) + 1 :]
    return state[:_MAX_OPEN] + text[len(body) :][:1]
