"""W&B LEET, the terminal viewer of the wandb package, as a peer: its CPU time until it has read a file."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import time
from pathlib import Path

import psutil

_REST, _LONGEST = 2.0, 60.0
"""Seconds without work after which it is taken to have read all; and how long it may take."""
_LITTLE = 0.05
"""CPU seconds of a rest."""


def cpu_to_load(path: Path) -> float | None:
    """CPU seconds of `wandb leet run PATH` on a terminal of its own until it rests, less those of a Python that starts
    it; None where there is no `wandb`."""
    program = shutil.which("wandb")
    if program is None:
        return None
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(program, [program, "leet", "run", str(path)])
    begun, spent, since = time.monotonic(), 0.0, time.monotonic()
    try:
        while time.monotonic() - begun < _LONGEST and time.monotonic() - since < _REST:
            if select.select([terminal], [], [], 0.1)[0]:
                os.read(terminal, 1 << 16)
            now = sum(sum(process.cpu_times()[:2]) for process in psutil.Process(child).children(recursive=True))
            if now - spent > _LITTLE or not now:
                spent, since = now, time.monotonic()
    finally:
        for one in psutil.Process(child).children(recursive=True):
            one.kill()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return spent
