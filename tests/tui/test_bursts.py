"""Bursts of keys without pauses, on every screen, neither end the dashboard nor show a traceback."""

from __future__ import annotations

import json
import random
from pathlib import Path

from support.terminal import TUIMON, Terminal

SCREENS = ("", "r", "M", "L", "a", "C", "T", "R", "D", "m", "?", "d", "o", "\r")
KEYS = (
    *("\x10", "\r", "\x1b", "j", "k", "copy", "path", "theme", "\t", "\x1b[A", "\x1b[B", "/", "x", "l", "h", "c", "v"),
    *("+", "-", "}", "{", " ", "G", "g", "n", "r", "M", "a", "?", "\x10\r\x1b", "\x10\r\r", "\x10copy path\r\r"),
)
"""Keys of a burst; the palette (Ctrl+p) and Enter twice, or Enter and Esc, among them."""
BURSTS = 80


def test_the_dashboard_survives_bursts_of_keys(tmp_path: Path) -> None:
    for name in ("first", "second"):
        rows = (json.dumps({"step": s, "reward": s % 7, "loss": 1 / (s + 1)}) + "\n" for s in range(100))
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "metrics.jsonl").write_text("".join(rows))
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(tmp_path / "home"))
    chosen, left = random.Random(1), BURSTS
    while left:
        with Terminal((*TUIMON, "--fresh", str(tmp_path / "logs")), (110, 35), home) as terminal:
            terminal.until(lambda output: b"loss" in output, 60)
            while left and terminal.process.poll() is None:
                left -= 1
                keys = chosen.choices(KEYS, k=chosen.randint(2, 6))
                terminal.type(chosen.choice(SCREENS) + "".join(keys))
                terminal.read(chosen.choice((0, 0, 0.02, 0.1)))
            assert terminal.process.poll() in (None, 0), "0: the palette was used to leave"
            assert b"Traceback" not in terminal.output
