"""Copy to the clipboard of the user's own machine, also through ssh: OSC 52, which the terminal executes.

Inside tmux the text is given to `tmux load-buffer`, because tmux ignores the sequence of a program with its default
setting, `set-clipboard external`. If tmux cannot be run, both forms of the sequence are written: tmux handles the plain
one if `set-clipboard` is on, and passes a wrapped one on if `allow-passthrough` is on. screen needs only the wrapped
one. Terminals truncate long sequences, xterm at about 100 kB; longer texts should be saved to a file.
Source: xterm, "XTerm Control Sequences", OSC 52; tmux(1), set-clipboard, allow-passthrough and load-buffer.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Mapping

MOST_BYTES = 74_000
"""Maximum size of a text in UTF-8. In base64 this is 98 668 bytes, below the limit of the strictest common terminal."""
_TMUX_SECONDS = 5.0
"""Maximum seconds that tmux may take."""
_SCREEN_PIECE = 250
"""Maximum length of a string that screen passes on."""


def fits(text: str) -> bool:
    """Return whether a text is short enough for every terminal."""
    return len(text.encode("utf-8", "replace")) <= MOST_BYTES


def sequence(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the control sequence that copies `text`. Raises ValueError if the text does not fit."""
    if not fits(text):
        raise ValueError(f"longer than the {MOST_BYTES} bytes that every terminal accepts")
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    plain = f"\x1b]52;c;{encoded}\x07"
    if environment.get("TMUX"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        pieces = (plain[start : start + _SCREEN_PIECE] for start in range(0, len(plain), _SCREEN_PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def inside_tmux(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal is a pane of tmux."""
    return bool(environment.get("TMUX"))


async def to_tmux(text: str) -> str:
    """Put `text` into a buffer of tmux, and from there on the clipboard of its terminal; return what was done, or "" if
    tmux failed. The option -w, which sets the clipboard, is known from tmux 3.2 on."""
    for options, done in ((("-w",), "tmux buffer, and clipboard of its terminal"), ((), "tmux buffer")):
        if await _load_buffer(text, options):
            return done
    return ""


async def _load_buffer(text: str, options: tuple[str, ...]) -> bool:
    devnull = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux", "load-buffer", *options, "-", stdin=asyncio.subprocess.PIPE, stdout=devnull, stderr=devnull
        )
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.communicate(text.encode("utf-8", "replace")), _TMUX_SECONDS)
    except (TimeoutError, OSError):
        if process.returncode is None:
            process.kill()
        return False
    return process.returncode == 0
