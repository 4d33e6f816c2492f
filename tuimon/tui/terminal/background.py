"""Query the background colour of the terminal without waiting for it: the query is written before the screen is
imported, and the reply is read afterwards.

OSC 11 queries the colour. A terminal that does not support it does not reply, so DA1, to which every terminal replies,
is written after it: no other reply follows the reply to DA1. Source: xterm, "XTerm Control Sequences", OSC 11 and Send
Device Attributes. tmux and screen reply themselves.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from tuimon import lazy_re as re

PATIENCE = 0.5
"""Time (s) from the query for which a reply is awaited; the imports meanwhile take about as long."""
_QUERY = b"\x1b]11;?\x1b\\\x1b[c"
_COLOUR = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_KNOWN = ("xterm", "screen", "tmux", "rxvt", "konsole", "gnome", "putty", "alacritty", "foot", "kitty", "wezterm")
"""Beginnings of TERM of terminals that parse the query; an older one could print it."""
_END = re.compile(rb"\x1b\[\?[0-9;]*c")
_SIXEL = re.compile(rb"\x1b\[\?(?:[0-9]+;)*4(?:;[0-9]+)*c")
"""Reply to DA1 of a terminal that shows sixels."""
_REPLY = re.compile(rb"\x1b\]11;[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[\?[0-9;]*c")


def theme_of(reply: bytes) -> str | None:
    """Return "dark" or "light" by the luminance of the colour in a reply (ITU-R BT.709), None if it has no colour."""
    match = _COLOUR.search(reply)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else "dark"


class Background:
    """Context in which the terminal neither echoes nor suspends, and that may have asked it for its background colour.

    - Keys that are typed meanwhile stay in the terminal, or are in `typed`.
    - ctrl+c still interrupts.
    """

    def __init__(self, asks: bool) -> None:
        """asks: whether to write the query. Without it the theme is unknown at once."""
        self._input = sys.__stdin__.fileno() if sys.__stdin__ else -1
        self._asks = asks
        self.before: list[Any] | None = None
        """Settings of the terminal before."""
        self._asked_at = 0.0
        self._reply = b""
        self.typed = ""
        """Keys that were read with the reply; "" if it is late, when its rest could look like keys."""
        self.late = False
        """Whether the end of the reply has not been seen, so that it may still come and look like keys."""

    def __enter__(self) -> Background:
        assert sys.__stderr__ is not None, "only for a terminal"
        self.before = termios.tcgetattr(self._input)
        quiet = termios.tcgetattr(self._input)
        quiet[0] &= ~termios.ICRNL  # Enter stays Enter
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        quiet[6][termios.VSUSP] = quiet[6][termios.VQUIT] = b"\0"  # they stay keys
        termios.tcsetattr(self._input, termios.TCSANOW, quiet)
        if self._asks:
            os.write(sys.__stderr__.fileno(), _QUERY)  # Textual draws on stderr
        self._asked_at = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.before is not None:
            with suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(self._input, termios.TCSANOW, self.before)

    def has_replied(self) -> bool:
        """Return whether `theme` need not wait."""
        if self._asks and not _END.search(self._reply) and select.select([self._input], [], [], 0)[0]:
            self._reply += os.read(self._input, 1024)
        return not self._asks or bool(_END.search(self._reply))

    @property
    def has_sixel(self) -> bool:
        """Whether the terminal has replied that it shows sixels."""
        return bool(_SIXEL.search(self._reply))

    def theme(self) -> str | None:
        """Return "dark" or "light", or None if the terminal was not asked or does not reply in time."""
        while self._asks and not _END.search(self._reply):
            left = self._asked_at + PATIENCE - time.monotonic()
            if not select.select([self._input], [], [], max(left, 0.0))[0]:
                self.late = True
                break
            data = os.read(self._input, 1024)
            if not data:
                break
            self._reply += data
        self.typed = "" if self.late else typed_in(self._reply)
        return theme_of(self._reply)


def typed_in(reply: bytes) -> str:
    """Return the keys that were typed before or within a reply: "r" of "r\\x1b]11;rgb:0/0/0\\x07\\x1b[?62c"."""
    return _REPLY.sub(b"", reply).decode(errors="ignore")


def worth_asking(environment: Mapping[str, str] = os.environ) -> bool:
    """Return False if the environment gives the background colour, or the terminal does not support queries."""
    term = environment.get("TERM", "")
    modern = environment.get("COLORTERM") or "256color" in term or term.startswith(_KNOWN)
    return not environment.get("COLORFGBG") and bool(modern) and term not in ("", "dumb", "linux")
