"""The terminal's bell, and its notifications: OSC 9 (iTerm2, WezTerm, Windows Terminal), OSC 777 (rxvt, foot, Ghostty)
and OSC 99 (kitty). Under tmux they are wrapped so that they pass through (tmux 3.3: set -g allow-passthrough on)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from tuimon.notify.message import Message
from tuimon.text import fit

_KINDS = ("auto", "9", "777", "99")
_LONGEST = 200
_ST = "\x1b\\"


class Bell(Struct, frozen=True):
    """One BEL."""

    write: Callable[[str], None]
    name: str = "bell"

    @classmethod
    def of(cls, value: Any, write: Callable[[str], None]) -> Bell | None:
        """From the setting; None when it is off. ValueError for another value."""
        if not isinstance(value, bool):
            raise ValueError(f"is true or false, not {value!r}")
        return cls(write) if value else None

    def tell(self, message: Message) -> None:
        self.write("\a")


class TerminalNotification(Struct, frozen=True):
    """An OSC sequence."""

    kind: str
    write: Callable[[str], None]
    name: str = "terminal"

    @classmethod
    def of(
        cls, value: Any, write: Callable[[str], None], environment: Mapping[str, str] = os.environ
    ) -> TerminalNotification | None:
        """From the setting; None when it is off. ValueError for another value."""
        if value is False:
            return None
        kind = "auto" if value is True else str(value)
        if kind not in _KINDS:
            raise ValueError(f"is one of {', '.join(_KINDS)}, not {value!r}")
        return cls(_for(environment) if kind == "auto" else kind, write)

    def tell(self, message: Message) -> None:
        self.write(wrapped(sequence(self.kind, message), os.environ))


def sequence(kind: str, message: Message) -> str:
    """The bytes of a notification. Texts hold no control characters; ";" separates fields of OSC 777 and 99."""
    text = fit(message.text, min(len(message.text), _LONGEST))
    if kind == "777":
        return f"\x1b]777;notify;tuimon: {message.severity};{text.replace(';', ',')}{_ST}"
    if kind == "99":
        return f"\x1b]99;;{text}{_ST}"
    return f"\x1b]9;{text}{_ST}"


def wrapped(told: str, environment: Mapping[str, str]) -> str:
    """Made to pass through tmux, where that is what the terminal is."""
    if not environment.get("TMUX"):
        return told
    return "\x1bPtmux;" + told.replace("\x1b", "\x1b\x1b") + _ST


def _for(environment: Mapping[str, str]) -> str:
    """What the terminal is likely to understand; 9 is the commonest."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "").lower()
    if "kitty" in term or environment.get("KITTY_WINDOW_ID"):
        return "99"
    if term.startswith(("rxvt", "foot")) or program == "ghostty":
        return "777"
    return "9"
