"""Every key, with hostile names in every source: what reaches the terminal, byte by byte."""

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path

import pytest
from support.terminal import TUIMON, Terminal

from tuimon.tui.actions import all_actions

PAYLOAD = "a\x1b]0;owned\x07\u009b31m\u202e\x1b]52;c;ZXZpbA==\x07\x1b[777m\x1b]8;;http://evil\x1b\\\x1bPq\x1b\\z"
FORBIDDEN = (b"\x1b]0;owned", b"\xc2\x9b", b"\xe2\x80\xae", b"\x1b]52;c;ZXZpbA", b"\x1b[777m", b"\x1b]8;", b"\x1bP")
"""A title, an introducer of one byte, an override of the direction, a clipboard, an attribute, a link and a string."""
SPECIAL = {"enter": "\r", "space": " ", "tab": "\t", "backspace": "\x7f", "question_mark": "?", "slash": "/"}
SPECIAL |= {"right_square_bracket": "]", "left_square_bracket": "[", "left_curly_bracket": "{", "comma": ","}
SPECIAL |= {"right_curly_bracket": "}", "full_stop": ".", "plus": "+", "minus": "-", "less_than_sign": "<"}
SPECIAL |= {"greater_than_sign": ">", "equals_sign": "=", "asterisk": "*", "left": "\x1b[D", "right": "\x1b[C"}
SPECIAL |= {"up": "\x1b[A", "down": "\x1b[B", "home": "\x1b[H", "end": "\x1b[F", "pageup": "\x1b[5~"}
SPECIAL |= {"pagedown": "\x1b[6~", "shift+tab": "\x1b[Z", "f1": "\x1bOP"}
ENDING = {"q", "ctrl+c", "ctrl+q", "ctrl+z"}


def sent(key: str) -> str:
    """Return what a terminal sends for a key."""
    if key.startswith("ctrl+") and len(key) == len("ctrl+a"):
        return chr(ord(key[-1].upper()) - 64)
    return SPECIAL.get(key, key if len(key) == 1 else "")


def write_runs(root: Path) -> None:
    for number in range(2):
        run = root / f"run{number}{PAYLOAD.replace('/', '')}"
        run.mkdir()
        rows = [{"step": step, "loss": 1 / step, f"{PAYLOAD}/m": float(step), "reward": step} for step in range(1, 30)]
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (run / "config.json").write_text(json.dumps({"name": PAYLOAD, PAYLOAD: [PAYLOAD], "seed": number}))
        text = "".join(f"step={step} loss={1 / step} {PAYLOAD}\n" for step in range(1, 9))
        (run / "train.log").write_text(f"{text}Traceback (most recent call last):\nValueError: {PAYLOAD}\n")
        (run / "table.csv").write_text(f'step,"{PAYLOAD}"\n1,2\n2,3\n')
        (run / "rollouts").mkdir()
        sample = {"step": 1, "input": PAYLOAD, "output": PAYLOAD, "score": 0.5}
        (run / "rollouts" / "1.jsonl").write_text(json.dumps(sample) + "\n")


def test_no_key_lets_a_control_sequence_of_a_log_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path / "pictures")  # a key saves one
    write_runs(tmp_path)
    keys = [key for action in all_actions() for key in action.keys.split(",") if key not in ENDING]
    typed = [text for key in dict.fromkeys(keys) if (text := sent(key))]
    assert len(typed) > 40
    with Terminal([*TUIMON, str(tmp_path)]) as terminal:
        terminal.until(lambda output: b"owned" in output)
        for text in typed:
            terminal.type(text)
            terminal.settle(0.06, ignored=200)
            terminal.type("\x1b")
            terminal.settle(0.12, ignored=200)
            assert terminal.process.poll() is None, text
        for _ in range(50):
            if terminal.process.poll() is not None:
                break
            terminal.type("\x1b")
            terminal.read(0.3)
            terminal.type("q")
            terminal.read(0.3)
        assert terminal.wait() == 0
        output = bytes(terminal.output)
    for picture in (tmp_path / "pictures").iterdir():
        output += picture.read_bytes()
    for sequence in FORBIDDEN:
        place = output.find(sequence)
        assert place < 0, output[max(0, place - 200) : place + 50]
    for copied in re.findall(rb"\x1b\]52;[a-z]*;([A-Za-z0-9+/=]*)", output):
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", base64.b64decode(copied)), copied


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
