"""Console text as a terminal would show it: redrawn lines, the last lines of a growing log, the severity of a line.

Of a line that was redrawn (carriage returns) the last state is shown. A line that was wiped, or drawn below another
one for a while (a nested bar, after which the cursor goes up), is left out.
"""

from __future__ import annotations

from math import isnan

from tuimon import lazy_re as re
from tuimon.formats.console.families import parse_timestamp
from tuimon.formats.console.families._line import CONTROLS
from tuimon.model.points import Fact, Item, Topic
from tuimon.text import decoded

MAX_SHOWN = 4096
"""Characters of a line that are kept."""
KEPT = 2000
"""Lines emitted per call of `TextTail.feed`; earlier lines would scroll out of view at once."""
_MAX_OPEN = 4 * MAX_SHOWN
_CURSOR_UP = re.compile(rb"\x1b\[\d*A\s*\Z")


def display_line(raw: bytes) -> str | None:
    """Return a line as a terminal leaves it, at most MAX_SHOWN characters; None if nothing is left."""
    if b"\r" in raw:
        redrawn = raw.rstrip(b"\r")
        raw = redrawn[redrawn.rfind(b"\r") + 1 :]
        if not raw.strip() and redrawn != raw:
            return None
    if _CURSOR_UP.search(raw[-16:]):
        return None
    text = decoded(raw[: 8 * MAX_SHOWN])
    if "\x1b" in text:
        text = CONTROLS.sub("", text)
    text = text.rstrip()
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


class TextTail:
    """Splits growing text, cut anywhere, into lines and emits the last of them."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, data: bytes) -> list[Item]:
        """Return at most one Fact("console", ...): the last KEPT lines that end in `data`, and their times if any of
        them begins with one. The whole text stays in the file (tuimon/reader/log_text.py)."""
        *ended, rest = data.rsplit(b"\n", KEPT)
        if not ended:
            self._open = _bounded(self._open + rest)
            return []
        ended[0] = (self._open + ended[0]).rpartition(b"\n")[2]
        self._open = _bounded(rest)
        lines = [line for raw in ended if (line := display_line(raw)) is not None]
        if not lines:
            return []
        value: dict[str, object] = {"lines": lines}
        times = [None if isnan(time) else time for time in map(parse_timestamp, lines)]
        known = [time for time in times if time is not None]
        if known:
            value["times"] = times
        return [Fact(Topic.CONSOLE, value, wall_time=known[-1] if known else None)]


def _bounded(text: bytes) -> bytes:
    """Return the part of an unfinished line that its display depends on, at most _MAX_OPEN + 1 bytes."""
    if len(text) <= _MAX_OPEN:
        return text
    body = text.rstrip(b"\r")
    state = body[body.rfind(b"\r", 0, len(body)) + 1 :]
    return state[:_MAX_OPEN] + text[len(body) :][:1]
