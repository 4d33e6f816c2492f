"""To the clipboard of the person's own machine, through whatever lies between: OSC 52, which a terminal obeys and
ssh passes on.

tmux takes the sequence itself when `set-clipboard` is on, and passes it on, wrapped, when `allow-passthrough` is; so
both are sent (doubling is harmless: the clipboard is set twice to the same). screen needs the wrapping alone.
Terminals cut long sequences, xterm at about 100 kB; beyond the limit the text belongs into a file.
Source: xterm, "XTerm Control Sequences", OSC 52; tmux(1), set-clipboard and allow-passthrough.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping

MOST_BYTES = 74_000
"""Of text: in base64 that is 98 668, below what the strictest of the usual terminals takes."""
_SCREEN_PIECE = 250
"""screen's own limit of a passed-on string."""


def fits(text: str) -> bool:
    """Whether a terminal will take so much."""
    return len(text.encode("utf-8", "replace")) <= MOST_BYTES


def sequence(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """What to write to the terminal so that it copies `text`. ValueError for a text that does not fit."""
    if not fits(text):
        raise ValueError(f"a terminal takes no more than {MOST_BYTES} bytes")
    coded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    plain = f"\x1b]52;c;{coded}\x07"
    if environment.get("TMUX"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        pieces = (plain[at : at + _SCREEN_PIECE] for at in range(0, len(plain), _SCREEN_PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain
