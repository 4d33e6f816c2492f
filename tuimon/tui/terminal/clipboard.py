"""Copy to the clipboard of the user's own machine, also through ssh: OSC 52, which the terminal executes.

Inside tmux the text is given to `tmux load-buffer`, because tmux ignores the sequence of a program with its default
setting, `set-clipboard external`. Terminals truncate long sequences, xterm at about 100 kB; longer texts should be
saved to a file. Source: xterm, "XTerm Control Sequences", OSC 52; tmux(1), set-clipboard and load-buffer.
"""

from __future__ import annotations

import asyncio
import base64
import os

MOST_BYTES = 74_000
"""Maximum size of a text in UTF-8. In base64 this is 98 668 bytes, below the limit of the strictest common terminal."""
_TMUX_SECONDS = 5.0
"""Maximum seconds that tmux may take."""


def fits(text: str) -> bool:
    """Return whether a text is short enough for every terminal."""
    return len(text.encode("utf-8", "replace")) <= MOST_BYTES


def sequence(text: str) -> str:
    """Return the control sequence that copies `text`, which fits."""
    return f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}\x07"


def inside_tmux() -> bool:
    """Return whether the terminal is a pane of tmux."""
    return bool(os.environ.get("TMUX"))


async def to_tmux(text: str) -> bool:
    """Put `text` into a buffer of tmux, and from there on the clipboard of its terminal; return whether that worked."""
    devnull = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux", "load-buffer", "-w", "-", stdin=asyncio.subprocess.PIPE, stdout=devnull, stderr=devnull
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
