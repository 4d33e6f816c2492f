"""A line of a console log as a terminal would have left it, and how bad the news in it is.

Of a line that was redrawn (carriage returns) the last state is kept; one that was wiped, or drawn below another line
for a while (it ends with the cursor going up: a bar within a bar), is dropped.
"""

from __future__ import annotations

import re

from tuimon.formats._console._line import CONTROLS

MAX_SHOWN = 4096
"""Characters of a line."""
_CURSOR_UP = re.compile(rb"\x1b\[\d*A\s*\Z")

ERROR = (
    r"\b(?:ERROR|CRITICAL|FATAL|Traceback \(most recent call last\)|[A-Z][A-Za-z]{0,60}(?:Error|Exception)(?=:|$|\()|"
    r"KeyboardInterrupt$|CUDA out of memory|Segmentation fault|core dumped|SIGKILL|SIGTERM|operation timeout)"
)
"""What only lines that tell of an error hold. Linear: all that repeats is bounded."""
_ERROR = re.compile(ERROR)
_WARNING = re.compile(r"\bWARN(?:ING)?\b|\b[A-Z][A-Za-z]{0,60}Warning(?=:|$)")


def shown(raw: bytes) -> str | None:
    """The line as it was left, at most MAX_SHOWN characters; None if nothing was."""
    if b"\r" in raw:
        redrawn = raw.rstrip(b"\r")
        raw = redrawn[redrawn.rfind(b"\r") + 1 :]
        if not raw.strip() and redrawn != raw:
            return None
    if _CURSOR_UP.search(raw[-16:]):
        return None
    text = raw[: 8 * MAX_SHOWN].decode("utf-8", "replace")
    if "\x1b" in text:
        text = CONTROLS.sub("", text)
    text = text.rstrip()
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def level(text: str) -> str:
    """error | warning | "" by the words of a line."""
    if _ERROR.search(text):
        return "error"
    return "warning" if _WARNING.search(text) else ""
