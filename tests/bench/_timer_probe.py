"""A timer of 10 ms in the event loop of the dashboard, and one in a process that does nothing else.

`python -m tests.bench._timer_probe OUT PATH …` shows the dashboard and writes into OUT by how many milliseconds each
tick came late, until it is left; `bare()` is what the machine alone does to such a timer meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TICK = 0.01


def main(out: str, *paths: str) -> None:
    from tuimon.config import Settings
    from tuimon.monitor.spawn import spawn

    reader = spawn(paths, False, 1.0)
    gc.disable()  # as the real program does, until it is settled
    from tuimon.monitor.process import ReaderProcess  # in the order of the real program: the reader starts first
    from tuimon.tui.app import TuimonApp
    from tuimon.tui.launch import SWITCH

    late: list[float] = []

    class Probed(TuimonApp):
        async def _tick_on(self) -> None:
            loop = asyncio.get_running_loop()
            while True:
                due = loop.time() + TICK
                await asyncio.sleep(TICK)
                late.append((loop.time() - due) * 1e3)

        def on_ready(self) -> None:
            self.ticking = asyncio.get_running_loop().create_task(self._tick_on())

    monitor = ReaderProcess(paths, spawned=reader)
    monitor.start(detect=False)
    sys.setswitchinterval(SWITCH)
    try:
        Probed(monitor, Settings()).run(mouse=False)
    finally:
        monitor.close()
        Path(out).write_text(json.dumps(late))


@contextmanager
def bare() -> Iterator[list[float]]:
    """Fills the list with the milliseconds by which a plain process's timer of 10 ms came late, ascending."""
    late: list[float] = []
    command = [sys.executable, "-m", "tests.bench._timer_probe"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield late
        said, _ = process.communicate("\n")
        late += sorted(json.loads(said)) or [0.0]


def _bare() -> None:
    import select

    late: list[float] = []
    while True:
        due = time.monotonic() + TICK
        if select.select([sys.stdin], [], [], TICK)[0]:
            break
        late.append((time.monotonic() - due) * 1e3)
    print(json.dumps(late))


def said(late: list[float]) -> str:
    """For the column of peers."""
    return f"a bare timer of 10 ms: p99 {late[int(len(late) * 0.99)]:.0f}, max {late[-1]:.0f} ms late"


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 2 else _bare()
