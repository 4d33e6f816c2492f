"""What this terminal can do, judged without asking it: an answer that does not come would hold up the start."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuimon.model.views import Symbols


def symbols(choice: str, environment: Mapping[str, str] = os.environ) -> Symbols:
    """The symbol set: the one chosen, or the best that encoding and terminal can show."""
    # Here: it has numpy behind it, and whether to draw is asked before the reader is started.
    from tuimon.model.views import Symbols

    if choice != "auto":
        return Symbols(choice)
    encoding = (getattr(sys.__stderr__, "encoding", None) or locale.getpreferredencoding(False)).lower()
    if encoding.replace("-", "").replace("_", "") != "utf8":
        return Symbols.ASCII
    if environment.get("TERM", "") == "linux":  # the console's font has blocks, but no braille
        return Symbols.BLOCK
    return Symbols.BRAILLE


def theme(choice: str, environment: Mapping[str, str] = os.environ) -> str:
    """The theme: the one chosen, or dark, light or ansi by what the environment says."""
    if choice != "auto":
        return choice
    if not environment.get("COLORTERM") and "256color" not in environment.get("TERM", ""):
        return "ansi"
    # COLORFGBG is "foreground;background" in the 16 colours; 7 and 9 to 15 are light.
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background.isdigit() and (int(background) == 7 or int(background) > 8) else "dark"


def can_draw(environment: Mapping[str, str] = os.environ) -> bool:
    """Is there a screen at all? Textual draws on standard error, and reads keys from standard input."""
    if environment.get("TERM", "dumb") in ("dumb", "unknown", ""):
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.__stderr__))


def use_its_own_size() -> None:
    """COLUMNS and LINES that a shell or a container has exported stay as they were in another size of the terminal, and
    are believed before it."""
    with suppress(OSError):  # no terminal that could tell
        if sys.__stdout__ is not None and all(os.get_terminal_size(sys.__stdout__.fileno())):
            for name in ("COLUMNS", "LINES"):
                os.environ.pop(name, None)
