"""Test that the theme follows the background colour the terminal reports, without waiting for the reply."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.terminal import TUIMON, Terminal

from tuimon.model.views import Role
from tuimon.tui.terminal.background import theme_of, typed_in, worth_asking
from tuimon.tui.terminal.capabilities import theme, theme_on
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
def test_theme_of_a_reply(answer: bytes, theme: str | None) -> None:
    assert theme_of(answer) == theme


def test_known_background_is_not_queried() -> None:
    assert worth_asking({"TERM": "xterm"})
    assert not worth_asking({"TERM": "xterm", "COLORFGBG": "15;0"})
    assert not worth_asking({"TERM": "linux"})
    assert not worth_asking({"TERM": "vt100"}), "it could print the query"
    assert worth_asking({"TERM": "ghostty", "COLORTERM": "truecolor"})


@pytest.mark.parametrize(
    ("environment", "guess", "on_dark", "on_light"),
    [
        ({"TERM": "xterm"}, "ansi", "ansi-dark", "ansi-light"),
        ({"TERM": "xterm", "COLORFGBG": "0;15"}, "ansi-light", "ansi-dark", "ansi-light"),
        ({"TERM": "xterm", "COLORFGBG": "15;0"}, "ansi-dark", "ansi-dark", "ansi-light"),
        ({"TERM": "xterm-256color"}, "dark", "dark", "light"),
        ({"TERM": "xterm", "COLORTERM": "truecolor", "COLORFGBG": "0;15"}, "light", "dark", "light"),
    ],
)
def test_the_theme_follows_the_colours_and_the_background(
    environment: dict[str, str], guess: str, on_dark: str, on_light: str
) -> None:
    assert theme("auto", environment) == guess
    assert (theme_on("dark", environment), theme_on("light", environment)) == (on_dark, on_light)
    assert theme_on(None, environment) is None
    assert theme("contrast", environment) == "contrast"


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


@pytest.mark.parametrize(
    ("reply", "typed"),
    [
        (b"\x1b]11;rgb:0/0/0\x1b\\\x1b[?62;22c", ""),
        (b"r\x1b]11;rgb:0/0/0\x07j\x1b[?62cq", "rjq"),
        (b"\x1b[A\x1b[?1;2c\xc3\xa4", "\x1b[A\u00e4"),
    ],
)
def test_keys_are_told_from_the_reply(reply: bytes, typed: str) -> None:
    assert typed_in(reply) == typed


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
