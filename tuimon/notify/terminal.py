"""Notify by the bell of the terminal and by its notification sequences.

These are OSC 9 (iTerm2, WezTerm, Windows Terminal), OSC 777 (rxvt, foot, Ghostty) and OSC 99 (kitty). Under tmux they
are wrapped so that they pass through (tmux 3.3: set -g allow-passthrough on).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from tuimon.notify.message import Message
from tuimon.text import fit

_KINDS = ("auto", "9", "777", "99")
_MAX_WIDTH = 200
_ST = "\x1b\\"


class Bell(Struct, frozen=True):
    """Writes a BEL character for each message but those of an end."""

    write: Callable[[str], None]
    name: str = "bell"

    @classmethod
    def of(cls, value: Any, write: Callable[[str], None]) -> Bell | None:
        """Build it from the setting; None if it is off. ValueError for an invalid value."""
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false, not {value!r}")
        return cls(write) if value else None

    def send(self, message: Message) -> None:
        if message.until is None:
            self.write("\a")


class TerminalNotification(Struct, frozen=True):
    """Writes an OSC sequence for each message."""

    kind: str
    write: Callable[[str], None]
    name: str = "terminal"

    @classmethod
    def of(
        cls, value: Any, write: Callable[[str], None], environment: Mapping[str, str] = os.environ
    ) -> TerminalNotification | None:
        """Build it from the setting; None if it is off. ValueError for an invalid value."""
        if value is False:
            return None
        kind = "auto" if value is True else str(value)
        if kind not in _KINDS:
            raise ValueError(f"must be one of {', '.join(_KINDS)}, not {value!r}")
        return cls(_detected_kind(environment) if kind == "auto" else kind, write)

    def send(self, message: Message) -> None:
        self.write(wrapped(sequence(self.kind, message), os.environ))


def sequence(kind: str, message: Message) -> str:
    """Return the sequence of a notification. Texts have no control characters; ";" separates fields of OSC 777, 99."""
    text = fit(message.text, min(len(message.text), _MAX_WIDTH))
    if kind == "777":
        return f"\x1b]777;notify;tuimon: {message.severity};{text.replace(';', ',')}{_ST}"
    if kind == "99":
        return f"\x1b]99;;{text}{_ST}"
    return f"\x1b]9;{text}{_ST}"


def wrapped(text: str, environment: Mapping[str, str]) -> str:
    """Wrap a sequence so that it passes through tmux; unchanged outside tmux."""
    if not environment.get("TMUX"):
        return text
    return "\x1bPtmux;" + text.replace("\x1b", "\x1b\x1b") + _ST


def _detected_kind(environment: Mapping[str, str]) -> str:
    """Return the kind that the terminal probably supports; 9 is the most common."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "").lower()
    if "kitty" in term or environment.get("KITTY_WINDOW_ID"):
        return "99"
    if term.startswith(("rxvt", "foot")) or program == "ghostty":
        return "777"
    return "9"
