"""What is done before a snapshot is drawn, and on which thread."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.dashboard import opened, until

from tuimon.store import Run
from tuimon.tui import redraw_loop
from tuimon.tui.startup import warm_up

ROWS = "".join(f'{{"step": {n}, "reward": {n}}}\n' for n in range(9))


async def test_a_thread_arranges_the_curves_of_each_snapshot_that_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arranged: list[tuple[Run, threading.Thread]] = []

    def arrange(run: Run) -> None:
        arranged.append((run, threading.current_thread()))
        warm_up(run)

    monkeypatch.setattr(redraw_loop, "warm_up", arrange)
    log = tmp_path / "metrics.jsonl"
    log.write_text(ROWS)
    async with opened(tmp_path) as (app, pilot):
        await until(app, pilot, lambda shown: "9 points" in shown)
        before = len(arranged)
        with log.open("a") as file:
            file.write('{"step": 9, "reward": 9}\n')
        await until(app, pilot, lambda shown: "10 points" in shown)
        assert any(run is app.run_shown for run, _ in arranged)
        assert len(arranged) > before
        assert all(thread is not threading.main_thread() for _, thread in arranged[before:])
