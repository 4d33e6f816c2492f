"""Capabilities of the terminal according to the environment: a query without a reply would delay the start."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuimon.model.views import Symbols

OPEN_SCREEN = "\x1b[?1049h"
"""Opens the alternate screen, and clears it."""
SUPPORTED_TEXTUAL = "8.2."
"""Prefix of the versions of Textual whose private parts are as the patches for speed expect."""


def symbols(choice: str, environment: Mapping[str, str] = os.environ) -> Symbols:
    """Return the chosen symbol set; for "auto", the best one that the encoding and the terminal support."""
    # Imported here because it imports numpy, and `can_draw` is called before the reader is started.
    from tuimon.model.views import Symbols

    if choice != "auto":
        return Symbols(choice)
    encoding = (getattr(sys.__stderr__, "encoding", None) or locale.getpreferredencoding(False)).lower()
    # Python decodes as UTF-8 in the C locale, too (PEP 540), where the terminal need not.
    named = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG", "")
    if encoding.replace("-", "").replace("_", "") != "utf8" or named in ("C", "POSIX"):
        return Symbols.ASCII
    if environment.get("TERM", "") == "linux":  # the console font has blocks, but no braille
        return Symbols.BLOCK
    return Symbols.BRAILLE


def theme(choice: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the chosen theme; for "auto", dark, light, or a theme of 16 colours, according to the environment."""
    if choice != "auto":
        return choice
    # COLORFGBG is "foreground;background" in the 16 colours; 7 and 9 to 15 are light.
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    known = background.isdigit()
    light = known and (int(background) == 7 or int(background) > 8)
    if _has_16_colours(environment):
        return "ansi" if not known else "ansi-light" if light else "ansi-dark"
    return "light" if light else "dark"


def theme_on(background: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the theme for a background that the terminal has replied, "dark" or "light"; None without a reply."""
    return background and (f"ansi-{background}" if _has_16_colours(environment) else background)


def pictures(choice: str, has_sixel: bool, environment: Mapping[str, str] = os.environ) -> str:
    """Return the chosen protocol of pictures; for "auto", the best one that the terminal supports.

    has_sixel: whether it has replied so. tmux replies for itself, and passes no kitty protocol on.
    """
    if choice != "auto":
        return choice
    if has_sixel:
        return "sixel"
    names = {environment.get("TERM"), environment.get("TERM_PROGRAM")}
    kitty = "KITTY_WINDOW_ID" in environment or names & {"xterm-kitty", "xterm-ghostty", "ghostty"}
    return "kitty" if kitty and not ({"TMUX", "STY"} & environment.keys()) else "blocks"


def _has_16_colours(environment: Mapping[str, str]) -> bool:
    return not environment.get("COLORTERM") and "256color" not in environment.get("TERM", "")


def can_draw(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether there is a screen, and keys can be read from standard input. See `draw_on_stdout`."""
    return not obstacle(environment)


def obstacle(environment: Mapping[str, str] = os.environ) -> str:
    """Return why there is no screen, such as "stdout is not a terminal"; "" if there is one."""
    term = environment.get("TERM", "dumb")
    if term in ("dumb", "unknown", ""):
        return f"the terminal cannot be drawn on (TERM={term})"
    streams = (("stdout", sys.stdout), ("stdin", sys.stdin))
    return next((f"{name} is not a terminal" for name, it in streams if it is None or not it.isatty()), "")


def draw_on_stdout() -> None:
    """Let Textual, which draws on `sys.__stderr__`, draw on standard output if standard error is no terminal
    (`tuimon logs 2>errors.txt`). `sys.stderr` stays as it is."""
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        stdout = open(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)  # noqa: SIM115  until the end
        sys.__stderr__ = stdout  # type: ignore[misc]


@cache
def textual_version() -> str:
    """Return the installed version of Textual, or "" if it is unknown.

    Reads the name of the dist-info directory: importlib.metadata takes 25 ms to import, Textual itself much longer.
    """
    spec = find_spec("textual")
    packages = Path(spec.origin).parent.parent if spec is not None and spec.origin else Path()
    return next((path.stem.removeprefix("textual-") for path in packages.glob("textual-[0-9]*.dist-info")), "")


def unset_exported_size() -> None:
    """Remove COLUMNS and LINES from the environment if the terminal reports its size: exported values do not change
    when the terminal is resized, but would be preferred."""
    with suppress(OSError):  # not a terminal
        if sys.__stdout__ is not None and all(os.get_terminal_size(sys.__stdout__.fileno())):
            for name in ("COLUMNS", "LINES"):
                os.environ.pop(name, None)
