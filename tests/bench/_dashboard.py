"""Dashboard: the program on a pseudo-terminal, with its screen and its resource usage."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import psutil
from support.grid import Grid
from support.terminal import TUIMON, Terminal

ENVIRONMENT = {"TUIMON_CONFIG": os.devnull, "PYTHONDONTWRITEBYTECODE": "", "TUIMON_THEME": "dark"}

_QUESTION = b"\x1b[6n"
"""Cursor position request; terminals answer with a row and a column."""


class Dashboard:
    """`tuimon PATH` on a terminal of its own.

    rate: bytes a second that reach the terminal; all others wait in a buffer without an end, as in that of an SSH
    connection. 0: as fast as they come.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        size: tuple[int, int] = (120, 40),
        rate: float = 0.0,
        program: Sequence[str] = TUIMON,
    ) -> None:
        self.grid = Grid(*size)
        self.terminal = Terminal([*program, *map(str, paths)], size, ENVIRONMENT)
        self.started = self.terminal.started
        self._fed = 0
        self._rate = rate
        self._free_at = 0.0

    @property
    def pid(self) -> int:
        return self.terminal.process.pid

    @property
    def processes(self) -> list[psutil.Process]:
        """The screen's and the reader's."""
        screen = psutil.Process(self.pid)
        return [screen, *screen.children(recursive=True)]

    @property
    def sent(self) -> int:
        """Bytes to the terminal so far."""
        return len(self.terminal.output)

    def pump(self, seconds: float) -> None:
        """Read the output of the dashboard for some seconds."""
        end = time.monotonic() + seconds
        while True:
            self.terminal.read(max(0.0, min(0.002, end - time.monotonic())))
            self._arrive()
            if time.monotonic() >= end:
                return

    def _arrive(self) -> None:
        """Put the bytes that the link has carried by now on the screen, and answer a request in them."""
        now, waiting = time.monotonic(), self.sent - self._fed
        if self._rate:
            if not waiting:
                self._free_at = now
            waiting = min(waiting, int((now - self._free_at) * self._rate))
            self._free_at += waiting / self._rate
        if waiting:
            before, self._fed = self._fed, self._fed + waiting
            self.grid.feed(bytes(self.terminal.output[before : self._fed]))
            for _ in range(self.terminal.output.count(_QUESTION, max(0, before - len(_QUESTION) + 1), self._fed)):
                self.terminal.type("\x1b[1;1R")

    def until(self, condition: Callable[[Grid], object], seconds: float = 60.0) -> float:
        """Seconds from now until the grid is so. AssertionError with the screen when it never is.

        Looks at the grid when something has come: the program that is measured needs the cores."""
        begun, looked_at = time.monotonic(), -1
        while True:
            if looked_at != self._fed:
                looked_at = self._fed
                if condition(self.grid):
                    return time.monotonic() - begun
            assert time.monotonic() - begun < seconds, f"it never came; the screen is\n{self.grid}"
            assert self.terminal.process.poll() is None, f"it ended; the screen is\n{self.grid}"
            self.pump(0.002)

    def settle(self, quiet: float = 1.0, most: float = 30.0) -> None:
        """Until no byte has come, and next to no CPU time was used, for a while."""
        end = time.monotonic() + most
        while time.monotonic() < end:
            sent, used = self.sent, self.cpu()
            self.pump(quiet)
            if self.sent == sent and self.cpu() - used < 0.05 * quiet:
                return

    def press(self, key: str) -> None:
        self.terminal.type(key)

    def cpu(self) -> float:
        """CPU seconds of both processes so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self.processes)

    def shares(self, seconds: float) -> tuple[float, float]:
        """Percent of a core that screen and reader use over some seconds."""
        before = [_run_time(process.pid) for process in self.processes]
        begun = time.monotonic()
        self.pump(seconds)
        taken = time.monotonic() - begun
        after = [_run_time(process.pid) for process in self.processes]
        screen, *readers = ((b - a) / taken * 100 for a, b in zip(before, after, strict=True))
        return screen, sum(readers)

    def main_thread(self) -> float:
        """CPU seconds of the thread that draws, so far."""
        return _thread_time(self.pid, self.pid)

    def memory(self) -> tuple[float, float]:
        """(proportional set size, resident set size) of both processes in MB: the one shares out shared pages."""
        full = [process.memory_full_info() for process in self.processes]
        return sum(info.pss for info in full) / 1e6, sum(info.rss for info in full) / 1e6

    def watches(self) -> int:
        """inotify watches that both processes hold."""
        found = 0
        for process in self.processes:
            for path in Path(f"/proc/{process.pid}/fdinfo").iterdir():
                found += path.read_text().count("inotify wd:")
        return found

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.terminal.process.poll() is None and kind is None:
            self.terminal.process.terminate()
            end = time.monotonic() + 3
            while self.terminal.process.poll() is None and time.monotonic() < end:
                self.terminal.read(0.02)
        self.terminal.__exit__(kind, error, trace)


def _run_time(pid: int) -> float:
    """CPU seconds of a process, in nanoseconds where the kernel counts them: cpu_times() counts hundredths."""
    return sum(_thread_time(pid, int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir())


def _thread_time(pid: int, thread: int) -> float:
    return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0]) / 1e9


__all__ = ["ENVIRONMENT", "Dashboard", "Grid"]
