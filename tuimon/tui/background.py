"""The colour behind the text, asked of the terminal without waiting for it: the question goes out before the screen is
imported, the answer is looked for after.

OSC 11 asks; a terminal that does not know it says nothing, so DA1, which every terminal answers, is asked behind it:
once that answer is there, no other will come. Source: xterm, "XTerm Control Sequences", OSC 11 and Send Device
Attributes. tmux and screen answer for themselves.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

PATIENCE = 0.5
"""Seconds from the question on; what is imported meanwhile takes about as long."""
_QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
_COLOUR = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_END = re.compile(rb"\x1b\[\?[0-9;]*c")


def theme_of(answer: bytes) -> str | None:
    """dark | light, by the luminance of the colour that a terminal told (ITU-R BT.709); None if it told none."""
    found = _COLOUR.search(answer)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else "dark"


class Background:
    """A context in which the terminal neither echoes nor keeps back what it answers. `theme()` is asked at its end."""

    def __init__(self) -> None:
        self._input = sys.__stdin__.fileno() if sys.__stdin__ else -1
        self._before: list[Any] | None = None
        self._asked = 0.0
        self._answer = b""
        self.late = False
        """True: no end of an answer was seen; it may still come, and would be taken for keys."""

    def __enter__(self) -> Background:
        assert sys.__stderr__ is not None, "asked of a terminal only"
        self._before = termios.tcgetattr(self._input)
        quiet = termios.tcgetattr(self._input)
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(self._input, termios.TCSANOW, quiet)
        os.write(sys.__stderr__.fileno(), _QUESTION)  # where Textual draws
        self._asked = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(self._input, termios.TCSANOW, self._before)

    def theme(self) -> str | None:
        """dark | light; None where the terminal does not tell, or not in time."""
        while not _END.search(self._answer):
            left = self._asked + PATIENCE - time.monotonic()
            if not select.select([self._input], [], [], max(left, 0.0))[0]:
                self.late = True
                break
            read = os.read(self._input, 1024)
            if not read:
                break
            self._answer += read
        return theme_of(self._answer)


def worth_asking(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the answer is not known already, and the terminal is one that is asked such things."""
    return not environment.get("COLORFGBG") and environment.get("TERM", "") not in ("", "dumb", "linux")
