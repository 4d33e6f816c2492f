"""Drive the dashboard in a test: the real reader process, real files, real keys."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast
from unittest.mock import patch

from textual.pilot import Pilot
from textual.strip import Strip

from tuimon.config import Settings
from tuimon.monitor.process import ReaderProcess
from tuimon.tui.app import TuimonApp


def rows(*steps: int, **values: float) -> str:
    def row(step: int) -> dict[str, float]:
        return {"step": step, "reward": 0.1 * step, "loss": 1 / (step + 1), "kl": 0.01 * step, **values}

    return "".join(json.dumps(row(step)) + "\n" for step in steps)


async def _take_turns(*_: float) -> None:
    """Let the tasks of the application run."""
    for _turn in range(10):
        await asyncio.sleep(0)


class PatientPilot(Pilot[None]):
    """Pilot that waits until the boxes are drawn, which happens in the background.

    It does not wait after each key or size until the process is idle, as Textual's does: 60 ms, and no proof.
    """

    async def press(self, *keys: str) -> None:
        for key in keys:
            with patch("textual.app.wait_for_idle", _take_turns):
                await self._app._press_keys([key])
            await self._wait_for_screen()

    async def resize_terminal(self, width: int, height: int) -> None:
        with patch("textual.pilot.wait_for_idle", _take_turns):
            await super().resize_terminal(width, height)

    async def _wait_for_screen(self, timeout: float = 60.0) -> bool:
        waited = await super()._wait_for_screen(timeout)
        app = cast("TuimonApp", self.app)
        end = asyncio.get_running_loop().time() + timeout
        while not app._closing and (app.board.drawing or not _laid_out(app)):
            await asyncio.sleep(0.005)
            late = asyncio.get_running_loop().time() > end
            assert not late, (app.board.drawing, app.screen, app.screen._compositor.size, app.size)
        return waited


def _laid_out(app: TuimonApp) -> bool:
    """Return whether the screen has the size of the terminal; it is laid out some messages after a change of size."""
    return not app.screen_stack or app.screen._compositor.size == app.size


@asynccontextmanager
async def opened(
    path: str | os.PathLike[str],
    size: tuple[int, int] = (120, 40),
    settings: Settings | None = None,
    views: Path | None = None,
    wait: bool = True,
) -> AsyncIterator[tuple[TuimonApp, Pilot[None]]]:
    monitor = ReaderProcess([os.fspath(path)], interval=0.2)
    monitor.start()
    try:
        assert monitor.wait_for_first(60)
        app = TuimonApp(monitor, settings or Settings(theme="dark", symbols="braille"), wait, views)
        async with app.run_test(size=size):
            pilot = PatientPilot(app)
            await pilot.pause()
            yield app, pilot
    finally:
        monitor.close()


def text(app: TuimonApp) -> str:
    """Return the screen as text."""
    width, height = app.size
    lines = strips(app)
    assert len(lines) == height
    return "\n".join("".join(segment.text for segment in line)[:width] for line in lines)


def strips(app: TuimonApp) -> list[Strip]:
    """Return the lines of the screen as Textual renders them."""
    return app.screen._compositor.render_strips(app.size)


async def until(app: TuimonApp, pilot: Pilot[None], condition: Callable[[str], bool], seconds: float = 60) -> str:
    """Wait until the condition holds for the text of the screen, and return the text."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        await pilot.pause(0.05)
        shown = text(app)
        if condition(shown):
            return shown
        assert asyncio.get_running_loop().time() < end, f"timed out; the screen is\n{shown}"


def copied(sequence: str) -> str:
    """Return the text that a terminal would copy to its clipboard."""
    [coded] = re.findall(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sequence)
    return base64.b64decode(coded).decode()
