"""The page that is drawn before Textual is imported."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from support.grid import Grid
from support.terminal import TUIMON, Terminal

OPEN, MOUSE = b"\x1b[?1049h", b"\x1b[?1000h"
"""What opens the screen, and the first that Textual sends."""
STARTS = (
    (1, (80, 24), {"COLORTERM": "", "TERM": "xterm"}),
    (1, (120, 40), {"LC_ALL": "C"}),
    (1, (200, 50), {"COLORFGBG": "0;15"}),
    (3, (80, 24), {}),
    (3, (120, 40), {"LC_ALL": "C"}),
    (3, (200, 50), {"COLORFGBG": "0;15"}),
)
"""Numbers of runs, sizes, and environments: only ASCII, 16 colours, a light background."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return written(tmp_path, 1)


def written(path: Path, runs: int) -> Path:
    """Write runs that have ended, so that a second does not change the page."""
    began = time.time() - 2990 - 9.98 * 86400  # the age in the header, 9 d 23 h, does not change for half an hour
    rows = (
        {"step": s, "timestamp": began + 10 * s, "reward": s % 7 / 9, "loss": 1 / (s + 1), "kl": s / 900, "lr": 1e-6}
        for s in range(300)
    )
    text = "".join(json.dumps(row) + "\n" for row in rows)
    for number in range(runs):
        folder = path / f"trial_{number:02}" if runs > 1 else path
        folder.mkdir(exist_ok=True)
        (folder / "metrics.jsonl").write_text(text)
    return path


def opened(log: Path, size: tuple[int, int], **environment: str) -> Terminal:
    return Terminal([*TUIMON, "--fresh", str(log)], size=size, environment=environment)


def early_and_later(log: Path, size: tuple[int, int], **environment: str) -> tuple[bytes, bytes]:
    """Return what is sent before and after Textual begins, of a start whose reader was faster than the imports."""
    for _ in range(20):
        with opened(log, size, **environment) as terminal:
            terminal.until(lambda out: MOUSE in out)
            terminal.settle(1.5)
            early, _, later = bytes(terminal.output).partition(MOUSE)
            if b"reward" in early and b" being " not in early.rpartition(b" runs")[2]:
                return early, later
    raise AssertionError("the page always came late")


@pytest.mark.parametrize(("runs", "size", "environment"), STARTS)
def test_textual_takes_over_with_equal_cells(
    tmp_path: Path, runs: int, size: tuple[int, int], environment: dict[str, str]
) -> None:
    early, later = early_and_later(written(tmp_path, runs), size, **environment)
    first, last = Grid(*size), Grid(*size)
    first.feed(early)
    last.feed(early + later)
    for y in range(2, size[1] - 1):  # the header has an age, and the last row the keys
        assert first.text[y] == last.text[y]
        drawn = [x for x in range(size[0]) if first.text[y][x] != " "]
        assert [first.looks[y][x] for x in drawn] == [last.looks[y][x] for x in drawn]
    assert (early + later).count(OPEN) == 1, "a second one clears the screen"
    assert len(later) < len(early) / 2, "cells are sent once"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_before_textual_gives_the_terminal_back(log: Path, number: signal.Signals, code: int) -> None:
    with opened(log, (120, 40)) as terminal:
        terminal.until(lambda out: OPEN in out)
        terminal.process.send_signal(number)
        assert terminal.wait() == code
        assert b"\x1b[?1049l" in terminal.output
        assert terminal.settings() == terminal.before


def test_keys_typed_before_textual_are_applied(log: Path) -> None:
    with opened(log, (120, 40)) as terminal:
        terminal.until(lambda out: OPEN in out)
        terminal.type("?")
        terminal.until(lambda out: b"Settings, host, program" in out)
        terminal.type("q")  # back
        terminal.settle()
        terminal.type("q")
        assert terminal.wait() == 0
        assert terminal.settings() == terminal.before


def test_keys_typed_before_textual_choose_a_run(tmp_path: Path) -> None:
    with opened(written(tmp_path, 3), (120, 40)) as terminal:
        # keys are those of the list once it is shown; before it, they are those of the dashboard
        terminal.until(lambda out: OPEN in out and b"trial_02" in out and b" mark " in out)
        terminal.type("j\r")
        terminal.until(lambda out: b"run 2 of 3" in out)


def test_a_resize_before_textual_is_followed(log: Path) -> None:
    with opened(log, (80, 24)) as other:
        other.until(lambda out: b" quit" in out)
        other.settle(1.5)
        wanted = rows_of(bytes(other.output), (80, 24))
    with opened(log, (120, 40)) as terminal:
        terminal.until(lambda out: OPEN in out)
        terminal.resize(80, 24)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.until(lambda out: [row[:80] for row in rows_of(out, (120, 40))[:22]] == wanted)


def rows_of(output: bytes, size: tuple[int, int]) -> list[list[str]]:
    """Return the rows below the header that a terminal shows."""
    grid = Grid(*size)
    grid.feed(output)
    return grid.text[2:]
