"""A real terminal for the real program: a pseudo-terminal, the bytes that come out of it, keys that go in."""

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
from types import TracebackType

TUIMON = (sys.executable, "-m", "tuimon")


class Terminal:
    """Runs a command on a pseudo-terminal of its own."""

    def __init__(
        self, command: Sequence[str], size: tuple[int, int] = (120, 40), environment: dict[str, str] | None = None
    ) -> None:
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
            preexec_fn=self._take_terminal,
        )

    def _take_terminal(self) -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def settings(self) -> list[object]:
        """The terminal's settings as they now are (stty -a)."""
        return list(termios.tcgetattr(self._slave))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def read(self, seconds: float) -> bytes:
        """What comes out within some seconds."""
        start = len(self.output)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                try:
                    self.output += os.read(self._master, 1 << 16)
                except OSError:
                    break
        return bytes(self.output[start:])

    def until(self, condition: Callable[[bytes], bool], seconds: float = 20.0) -> bytes:
        """All output once the condition on it holds."""
        end = time.monotonic() + seconds
        while not condition(bytes(self.output)):
            assert time.monotonic() < end, f"it never came; the last output is {bytes(self.output[-2000:])!r}"
            self.read(0.02)
        return bytes(self.output)

    def wait(self, seconds: float = 10.0) -> int:
        """The exit status, its last output read."""
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
