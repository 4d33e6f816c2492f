"""Console text as a terminal would show it: redrawn lines, the last lines of a growing log, the severity of a line.

Of a line that was redrawn (carriage returns) the last state is shown. A line that was wiped, or drawn below another
one for a while (a nested bar, after which the cursor goes up), is left out.
"""

from __future__ import annotations

import re
from math import isnan

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

ERROR_PATTERN = (
    r"\b(?:ERROR|CRITICAL|FATAL|Traceback \(most recent call last\)|[A-Z][A-Za-z]{0,60}(?:Error|Exception)(?=:|$|\()|"
    r"KeyboardInterrupt$|CUDA out of memory|Segmentation fault|core dumped|SIGKILL|SIGTERM|operation timeout|"
    r"Exception: |nccl[A-Z][A-Za-z]{0,30}Error: |terminate called after|(?:slurmstepd|srun): error: |worker died|"
    r"E[01]\d{3} \d\d:\d\d:\d\d\.\d)"
)
"""Regular expression that matches lines of severity "error", in linear time."""
PROBLEM_WORDS = (
    r"ERROR|CRITICAL|FATAL|Traceback|Error|Exception|KeyboardInterrupt|CUDA out|Segmentation|core dumped|SIGKILL|"
    r"SIGTERM|operation timeout|WARN|Warning|terminate called|: error: |worker died|W[01]\d{3} \d|E[01]\d{3} \d|"
    r"Gradient overflow|OVERFLOW!|Network error|Too Many Requests"
)
"""Regular expression that every line of a severity matches. It is six times as fast as the others."""
_ERROR = re.compile(ERROR_PATTERN)
_WARNING = re.compile(
    r"\bWARN(?:ING)?\b|\b[A-Z][A-Za-z]{0,60}Warning(?=:|$)|\bW[01]\d{3} \d\d:\d\d:\d\d\.\d|"
    r"\bGradient overflow|\bOVERFLOW!|\bNetwork error|\bToo Many Requests"
)
"""Also lines of glog and torch (W1125 10:01:02.123456, where 1125 is November 25), of a loss scaler, and of a service
that is not reached."""


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


def severity(text: str) -> str:
    """Classify a line by its words: "error", "warning" or ""."""
    if _ERROR.search(text):
        return "error"
    return "warning" if _WARNING.search(text) else ""


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
