"""A terminal that says it is light gets the light colours, one that says nothing is not waited for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.terminal import TUIMON, Terminal

from tuimon.model.views import Role
from tuimon.tui.background import theme_of, worth_asking
from tuimon.tui.themes import style

QUESTION = b"\x1b]11;?"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": s, "reward": s / 9}) + "\n" for s in range(9)))
    return path


@pytest.mark.parametrize(
    ("answer", "theme"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c", "light"),
        (b"\x1b]11;rgb:fd/f6/e3\x07", "light"),
        (b"\x1b]11;rgb:0000/2b2b/3636\x07", "dark"),
        (b"\x1b]11;rgba:0/0/0/f\x07", "dark"),
        (b"\x1b[?1;2c", None),
        (b"q\x1b]11;rgb:zz/1/1\x07", None),
    ],
)
def test_the_colour_told(answer: bytes, theme: str | None) -> None:
    assert theme_of(answer) == theme


def test_what_is_known_is_not_asked() -> None:
    assert worth_asking({"TERM": "xterm"})
    assert not worth_asking({"TERM": "xterm", "COLORFGBG": "15;0"})
    assert not worth_asking({"TERM": "linux"})


def colour(role: Role, theme: str) -> bytes:
    """What a terminal is sent for the text of a role."""
    found = style(theme, role).color
    assert found is not None
    assert found.triplet is not None
    return "38;2;{};{};{}".format(*found.triplet).encode()


@pytest.mark.parametrize(("told", "theme"), [("ffff/ffff/ffff", "light"), ("0000/0000/0000", "dark")])
def test_a_terminal_that_tells(log: Path, told: str, theme: str) -> None:
    with Terminal([*TUIMON, "--fresh", str(log)], environment={"COLORFGBG": ""}) as terminal:
        terminal.until(lambda out: QUESTION in out)
        terminal.type(f"\x1b]11;rgb:{told}\x1b\\\x1b[?62;22c")
        terminal.until(lambda out: colour(Role.SERIES_0, theme) in out)
        other = "dark" if theme == "light" else "light"
        assert colour(Role.SERIES_0, other) not in terminal.output
        terminal.type("q")
        assert terminal.wait() == 0
        assert not re.search(rb"\]11;rgb", terminal.output), "the answer is not echoed"


def test_a_silent_terminal_is_dark_and_its_late_answer_is_no_key(log: Path) -> None:
    with Terminal([*TUIMON, "--fresh", str(log)], environment={"COLORFGBG": ""}) as terminal:
        terminal.until(lambda out: colour(Role.SERIES_0, "dark") in out)
        terminal.type("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c")
        terminal.read(2.5)
        before = len(terminal.output)
        assert b"filter" not in terminal.output[before:]
        terminal.type("/")
        terminal.until(lambda out: b"part of a name" in out[before:])
        assert b"part of a name" not in terminal.output[:before], "the slashes of the answer opened no filter"
        terminal.type("\x1b")
        terminal.read(0.5)
        terminal.type("q")
        assert terminal.wait() == 0
