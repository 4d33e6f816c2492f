"""Test that the theme follows the background colour the terminal reports, without waiting for the reply."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.terminal import TUIMON, Terminal

from tuimon.model.views import Role
from tuimon.tui.themes import style

QUESTION = b"\x1b]11;?"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": s, "reward": s / 9}) + "\n" for s in range(9)))
    return path


def colour(role: Role, theme: str) -> bytes:
    """Return the parameters of the control sequence for the colour of a role."""
    color = style(theme, role).color
    return "38;2;{};{};{}".format(*color.triplet).encode()


@pytest.mark.parametrize(
    ("before", "reply", "after", "theme"),
    [("/", "ffff/ffff/ffff", "", "light"), ("", "0000/0000/0000", "/", "dark")],
)
def test_theme_follows_the_reply_and_a_key_that_comes_with_it_is_applied(
    log: Path, before: str, reply: str, after: str, theme: str
) -> None:
    with Terminal([*TUIMON, "--fresh", str(log)], environment={"COLORFGBG": ""}) as terminal:
        terminal.until(lambda out: QUESTION in out)
        terminal.type(f"{before}\x1b]11;rgb:{reply}\x1b\\\x1b[?62;22c{after}")
        terminal.until(lambda out: colour(Role.SERIES_0, theme) in out and b"part of a name" in out)
        other = "dark" if theme == "light" else "light"
        assert colour(Role.SERIES_0, other) not in terminal.output
        terminal.type("\x03")
        assert terminal.wait() == 0
        assert not re.search(rb"\]11;rgb", terminal.output), "the answer is not echoed"


def test_silent_terminal_is_dark_and_its_late_reply_is_not_a_key(log: Path) -> None:
    with Terminal([*TUIMON, "--fresh", str(log)], environment={"COLORFGBG": ""}) as terminal:
        terminal.until(lambda out: colour(Role.SERIES_0, "dark") in out)
        terminal.type("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c")
        terminal.settle(2.5)
        before = len(terminal.output)
        terminal.type("/")
        terminal.until(lambda out: b"part of a name" in out[before:])
        assert b"part of a name" not in terminal.output[:before], "the slashes of the answer opened no filter"
        terminal.type("\x1b")
        terminal.settle(0.5)
        terminal.type("q")
        assert terminal.wait() == 0
