"""Test that little output is in flight on a slow link, so that keys show their result soon."""

from __future__ import annotations

import asyncio
import math
import os
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.dashboard import opened, rows, until
from support.terminal import TUIMON, Terminal

from tuimon.model.views import Rows
from tuimon.tui.terminal import backpressure as module
from tuimon.tui.terminal.backpressure import OutputBackpressure

QUESTION = b"\x1b[6n"


def test_link_is_slow_once_output_takes_long_to_drain() -> None:
    left = [0]

    def waiting() -> int:
        left[0] = max(0, left[0] - 1)
        return left[0]

    link = OutputBackpressure(waiting)
    asyncio.run(link.drained())
    assert not link.slow
    left[0] = 12  # looks, of a fiftieth of a second at least
    asyncio.run(link.drained())
    assert link.slow
    assert not left[0]


async def test_slow_link_gets_one_box_at_a_time(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await until(app, pilot, lambda screen: "1.900" in screen)
        looks: list[list[Rows]] = [[box._drawn for box in app.board.boxes]]

        def waiting() -> int:
            looks.append([box._drawn for box in app.board.boxes])
            return 0

        app.backpressure._unsent, app.backpressure._slow_until = waiting, math.inf
        with log.open("a") as file:
            file.write(rows(20, 21, 22))
        await until(app, pilot, lambda screen: all(value in screen for value in ("2.200", "0.0435", "0.2200")))
        waiting()
        changed = [sum(old is not new for old, new in zip(*pair, strict=True)) for pair in pairwise(looks)]
        assert sum(changed) >= 3
        assert max(changed) == 1


class FarTerminal:
    """Simulated terminal: receives `rate` bytes a second, replies after `distance` seconds, and has its own clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rate: float, distance: float) -> None:
        self.now = 100.0
        self.link = OutputBackpressure(lambda: 0, self._ask)
        self.most = 0.0
        """Maximum number of bytes in flight."""
        self._rate, self._distance = rate, distance
        self._there_at = self.now
        self._answers: list[float] = []
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=self.pass_time))

    def draw(self, count: int) -> None:
        self._there_at = max(self.now, self._there_at) + count / self._rate
        self.most = max(self.most, (self._there_at - self.now) * self._rate)
        self.link.wrote(count)
        asyncio.run(self.link.drained())

    async def pass_time(self, seconds: float) -> None:
        self.now += seconds
        while self._answers and self._answers[0] <= self.now:
            self._answers.pop(0)
            self.link.answered()

    def _ask(self) -> None:
        self._answers.append(self._there_at + self._distance)


def test_little_is_in_flight_to_a_slow_terminal_that_only_replies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = FarTerminal(monkeypatch, rate=30e3, distance=0.05)
    terminal.draw(9000)  # the first screen
    for _ in range(300):
        terminal.draw(1500)
        asyncio.run(terminal.pass_time(0.01))
    assert terminal.link.slow
    terminal.most = 0
    for _ in range(300):
        terminal.draw(1500)
        asyncio.run(terminal.pass_time(0.01))
    assert terminal.most < 0.4 * 30e3  # more than twice as fast as the link, for six seconds


def test_distant_terminal_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FarTerminal(monkeypatch, rate=5e6, distance=0.3)
    begun = terminal.now
    for _ in range(100):
        terminal.draw(9000)
        asyncio.run(terminal.pass_time(0.1))
    assert not terminal.link.slow
    assert terminal.now - begun < 11  # nothing was held back


def test_terminals_that_do_not_reply_do_not_delay_drawing_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = FarTerminal(monkeypatch, rate=5e6, distance=1e9)
    begun = terminal.now
    for _ in range(10):
        terminal.draw(9000)
    assert terminal.now == begun
    stopping = FarTerminal(monkeypatch, rate=5e6, distance=0.01)
    for _ in range(10):
        stopping.draw(9000)
        asyncio.run(stopping.pass_time(0.1))
    stopping._distance = 1e9
    begun = stopping.now
    for _ in range(10):
        stopping.draw(9000)
        asyncio.run(stopping.pass_time(0.1))
    assert stopping.now - begun < 7


@pytest.mark.parametrize("key", ["q", "\x03"])
def test_no_reply_is_left_to_the_shell(log: Path, key: str) -> None:
    with Terminal([*TUIMON, "--fresh", str(log)], environment={"TUIMON_CONFIG": os.devnull}) as terminal:
        answered = 0

        def answer() -> None:
            nonlocal answered
            if answered < terminal.output.count(QUESTION):
                terminal.type("\x1b[1;1R")
                answered += 1

        terminal.until(lambda output: b" quit" in output)
        for number in range(200):  # larger charts, smaller ones, until a second question is under way when it ends
            terminal.type("+-"[number % 2])
            terminal.read(0.05)
            if terminal.output.count(QUESTION) > 1:
                break
            answer()
        terminal.type(key)
        terminal.read(0.15)
        while terminal.process.poll() is None:
            answer()
            terminal.read(0.02)
        assert terminal.process.returncode == 0
        assert terminal.output.count(QUESTION) == answered > 1
