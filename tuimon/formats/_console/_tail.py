"""The text of a console log for the log view: its last lines, as a terminal would show them.

Of a line that was redrawn (carriage returns) the last state is kept; one that was wiped, or drawn below another line
for a while (it ends with the cursor going up: a bar within a bar), is dropped.
"""

from __future__ import annotations

import re
from math import isnan

from tuimon.formats._console._line import CONTROLS, stamp
from tuimon.model.points import Fact, Item

KEPT = 2000
"""Lines given of one piece of the log; those before them would scroll out of any view."""
MAX_LINE = 4096
"""Characters of a line."""
_MAX_OPEN = 4 * MAX_LINE
_CURSOR_UP = re.compile(rb"\x1b\[\d*A\s*\Z")


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
        lines = [line for raw in ended if (line := _shown(raw)) is not None]
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


def _shown(raw: bytes) -> str | None:
    """The line as it was left; None if nothing was."""
    if b"\r" in raw:
        redrawn = raw.rstrip(b"\r")
        raw = redrawn[redrawn.rfind(b"\r") + 1 :]
        if not raw.strip() and redrawn != raw:
            return None
    if _CURSOR_UP.search(raw[-16:]):
        return None
    text = raw[: 2 * _MAX_OPEN].decode("utf-8", "replace")
    if "\x1b" in text:
        text = CONTROLS.sub("", text)
    text = text.rstrip()
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 1] + "…"
