"""Pseudo-terminal that runs a program: its output as bytes, and keys as input."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType

from support.programs import default_signals

TUIMON = (sys.executable, "-m", "tuimon")


def _take_terminal(controlling: bool) -> None:
    os.setsid()
    if controlling:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    default_signals()


class Terminal:
    """Runs a command on a pseudo-terminal of its own."""

    def __init__(
        self,
        command: Sequence[str],
        size: tuple[int, int] = (120, 40),
        environment: dict[str, str] | None = None,
        controlling: bool = True,
    ) -> None:
        """controlling: whether the terminal sends its signals, such as SIGHUP, to the command."""
        self.output = bytearray()
        self._master, slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        surroundings = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "COLORFGBG": "15;0",
            **(environment or {}),
        }
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=surroundings,
            preexec_fn=partial(_take_terminal, controlling),
        )

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def settings(self) -> list[object]:
        """The terminal's settings as they now are (stty -a)."""
        return list(termios.tcgetattr(self._slave))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def read(self, seconds: float) -> bytes:
        """Return the output of the next seconds."""
        start = len(self.output)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                try:
                    self.output += os.read(self._master, 1 << 16)
                except OSError:
                    break
        return bytes(self.output[start:])

    def until(self, condition: Callable[[bytes], bool], seconds: float = 60.0) -> bytes:
        """Wait until the condition holds for all output so far, and return the output."""
        end = time.monotonic() + seconds
        while not condition(bytes(self.output)):
            assert time.monotonic() < end, f"timed out; the last output is {bytes(self.output[-2000:])!r}"
            self.read(0.02)
        return bytes(self.output)

    def settle(self, quiet: float = 0.3, ignored: int = 0) -> bytes:
        """Read until the program is idle and silent for `quiet` seconds, and return that output.

        A program that waits for a processor on a busy machine is silent, too, but it is not idle: one of its threads is
        runnable. Pauses with at most `ignored` bytes of output count as silent (a clock, a blinking cursor).
        """
        start, end = len(self.output), time.monotonic() + 60
        calm = 0
        while calm < 6:
            assert time.monotonic() < end, f"no pause; the last output is {bytes(self.output[-2000:])!r}"
            calm = calm + 1 if len(self.read(quiet / 6)) <= ignored and not self._is_busy() else 0
        return bytes(self.output[start:])

    def _is_busy(self) -> bool:
        """Return whether a thread of the program or of its children runs, waits for a processor or for a disk."""
        processes = [self.process.pid]
        for process in processes:  # grows by the children
            with suppress(OSError):  # it has ended
                for task in Path(f"/proc/{process}/task").iterdir():
                    state = (task / "stat").read_text().rpartition(")")[2].split()[0]
                    processes += map(int, (task / "children").read_text().split())
                    if state in "RD":
                        return True
        return False

    def wait(self, seconds: float = 60.0) -> int:
        """Read the last output and return the exit status."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, "the program does not end"
            self.read(0.02)
        self.read(0.05)
        return int(self.process.returncode)

    def hang_up(self) -> None:
        """The terminal goes away (an SSH connection drops, a tmux pane is closed)."""
        os.close(self._slave)
        os.close(self._master)
        self._slave = self._master = -1

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for descriptor in (self._master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)
