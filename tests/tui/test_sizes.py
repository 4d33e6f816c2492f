"""Every screen at sizes down to one cell."""

from __future__ import annotations

import json
from pathlib import Path

from support import rank_jobs, written_media
from support.dashboard import opened, text, until
from support.written_texts import write_step
from textual.pilot import Pilot

from tuimon.tui.actions import all_actions
from tuimon.tui.app import TuimonApp

SIZES = [(1, 1), (2, 2), (3, 1), (5, 3), (7, 20), (8, 2), (12, 4), (18, 9), (26, 5), (40, 12), (300, 4), (161, 31)]
KEYS = {action.opens: action.keys.split(",")[0] for action in all_actions() if action.opens}


def write_runs(root: Path) -> None:
    for name, rate in (("fast", 1e-3), ("slow", 1e-5)):
        run = root / name
        run.mkdir()
        rows = [json.dumps({"step": step, "reward": step * rate, "loss": 1 / (step + 1)}) for step in range(30)]
        (run / "metrics.jsonl").write_text("\n".join(rows) + "\n")
        (run / "config.json").write_text(json.dumps({"lr": rate, "algorithm": {"clip": rate}}))
        (run / "train.log").write_text("".join(f"line {line}\n" for line in range(99)))
        write_step(run, 29)
    written_media.write_run(root / "fast")


OPENED = {
    "dashboard": (),
    "zoomed": ("enter",),
    **{name: (key,) for name, key in KEYS.items() if name != "ranks"},
    "scatter": ("P",),
    "grid": ("r", "v"),
    "parallel": ("r", "v"),
    "comparison": ("d",),
}
"""Screen -> keys that open it from the dashboard."""


async def test_every_screen_at_every_size(tmp_path: Path) -> None:
    """An exception while a screen is drawn ends the application, and the test with it."""
    write_runs(tmp_path)
    async with opened(tmp_path, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: app.run_shown is not None and app.snapshot.progress.caught_up)
        await pilot.press("escape")
        await pilot.pause()
        for name, keys in OPENED.items():
            await pilot.press(*keys)
            is_base = name in ("dashboard", "zoomed")
            await until(app, pilot, lambda s, is_base=is_base: (len(app.screen_stack) == 1) == is_base)  # type: ignore[misc]
            await assert_fits_at_every_size(app, pilot, name)
            while app.board.zoomed or len(app.screen_stack) > 1:
                await pilot.press("escape")


async def test_the_rank_view_at_every_size(tmp_path: Path) -> None:
    rank_jobs.slurm_job(tmp_path)
    async with opened(tmp_path, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: app.run_shown is not None and app.snapshot.progress.caught_up)
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press(KEYS["ranks"])
        await until(app, pilot, lambda s: len(app.screen_stack) > 1)
        await assert_fits_at_every_size(app, pilot, "ranks")


async def assert_fits_at_every_size(app: TuimonApp, pilot: Pilot[None], name: str) -> None:
    for size in SIZES:
        await pilot.resize_terminal(*size)
        await pilot.press("down")
        assert len(text(app).splitlines()) <= size[1], (name, size)
    await pilot.resize_terminal(80, 24)
