"""The patches of Textual: with a version that they do not support the screen is the same."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import psutil
import pytest
from support.grid import Grid
from support.terminal import Terminal
from textual._time import get_time

from tuimon.tui.terminal.textual_patches import LateTimers

SIZE = (100, 30)
NOW = time.time()
PROGRAM = """
import sys
from tuimon.tui.terminal import textual_patches
assert textual_patches.is_supported(), "the patches were written for another version than the installed one"
textual_patches.is_supported = lambda: {supported}
from tuimon.commands import main
sys.exit(main())
"""
STEPS = (
    ("", "loss"),  # the first page
    ("\r", "last @ step"),  # zoom
    ("\x1b", "loss"),
    ("/", "part of a name"),
    ("lo", "filter charts / lo"),
    ("\x1b", "reward"),
    ("?", "Leave tuimon"),
    ("\x1b", "reward"),
    ("M", "metrics"),
    ("\x1b", "reward"),
    ("st", "reward"),  # other symbols and all cells in other colours
)
"""Keys, and a text that the screen shows after them."""


def row(step: int) -> str:
    """Return a row of the log. It has a point a minute up to now, so the state of the run does not depend on when a
    reader has begun."""
    values = {
        "step": step,
        "timestamp": NOW + 60 * min(0, step - 200),
        "reward": (step * 7) % 11,
        "loss": 1 / (step + 1),
    }
    return json.dumps(values) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text("".join(map(row, range(200))))
    return path


def terminal(log: Path, supported: bool) -> Terminal:
    home = {name: str(log.parent.parent / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    command = (sys.executable, "-c", PROGRAM.format(supported=supported), "--fresh", str(log.parent))
    return Terminal(command, SIZE, home)


@pytest.fixture
def terminals(log: Path) -> Iterator[tuple[Terminal, Terminal]]:
    """The patched and the unpatched program on the same log."""
    with ExitStack() as stack:
        yield stack.enter_context(terminal(log, True)), stack.enter_context(terminal(log, False))


def wait_for_same_screen(terminals: tuple[Terminal, Terminal], grids: tuple[Grid, Grid], text: str, what: str) -> None:
    """Read both terminals until both screens have changed to the same cells in the same colours, and show this text."""
    before, end = str(grids[0]), time.monotonic() + 60
    while grids[0].cells() != grids[1].cells() or text not in str(grids[0]) or str(grids[0]) == before:
        assert time.monotonic() < end, f"{what}: the screens are\n{grids[0]}\n\n{grids[1]}"
        for screen, grid in zip(terminals, grids, strict=True):
            grid.feed(screen.read(0.1))


def test_the_screen_is_the_same_with_and_without_patches(log: Path, terminals: tuple[Terminal, Terminal]) -> None:
    grids = Grid(*SIZE), Grid(*SIZE)
    for keys, text in STEPS:
        for screen in terminals:
            screen.type(keys)
        wait_for_same_screen(terminals, grids, text, f"after {keys!r}")
    for step in range(200, 210):
        with log.open("a") as file:
            file.write(row(step))
        wait_for_same_screen(terminals, grids, f"step {step}", f"after step {step}")
    patched, unpatched = (len(screen.output) for screen in terminals)
    assert patched < 0.8 * unpatched, "the patches save bytes"
    for screen in terminals:
        screen.type("q")
        assert screen.wait() == 0


def test_an_unpatched_program_ends_when_its_terminal_goes_away(log: Path) -> None:
    with terminal(log, supported=False) as screen:
        screen.until(lambda output: b"loss" in output)
        children = psutil.Process(screen.process.pid).children()
        screen.hang_up()
        screen.process.wait(timeout=60)
        _, alive = psutil.wait_procs(children, timeout=60)
        assert not alive


async def test_a_program_that_did_not_run_for_a_while_calls_back_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    called, seconds = asyncio.Event(), count()
    async with LateTimers().run_test() as pilot:
        timer = pilot.app.set_timer(0.001, called.set)

        def late() -> float:
            """Return a time that is a second later at each look of the timer."""
            return next(seconds) if asyncio.current_task() is timer._task else get_time()

        monkeypatch.setattr("textual._time.get_time", late)
        await asyncio.wait_for(called.wait(), 60)
