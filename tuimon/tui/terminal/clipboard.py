"""Copy to the clipboard of the user's own machine, also through ssh: OSC 52, which the terminal executes.

tmux handles the sequence if `set-clipboard` is on, and passes a wrapped one on if `allow-passthrough` is on; both are
written, which at worst sets the clipboard twice. screen needs only the wrapped one. Terminals truncate long sequences,
xterm at about 100 kB; longer texts should be saved to a file.
Source: xterm, "XTerm Control Sequences", OSC 52; tmux(1), set-clipboard and allow-passthrough.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping

MOST_BYTES = 74_000
"""Maximum size of a text in UTF-8. In base64 this is 98 668 bytes, below the limit of the strictest common terminal."""
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
