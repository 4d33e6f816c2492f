"""Makes the README's pictures: the demo's own training, and what the real dashboard shows of it.

python demo/picture.py [DIRECTORY] [NAME …]

tuimon  the dashboard of a run that is being trained
zoom    its reward on the whole screen: smoothed, the raw values behind, every curve read off at a step
runs    the list of four runs that have ended, one of them spoilt by a NaN
over    their rewards over each other, each read off at a step
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tuimon.config import Settings
from tuimon.monitor import ReaderProcess
from tuimon.tui.app import TuimonApp
from tuimon_demo.launch import Training, start

FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
AT_STEP, STEPS, FEW_STEPS = 290, 400, 120
NAMES = ("tuimon", "zoom", "runs", "over")


@asynccontextmanager
async def dashboard(directory: str, size: tuple[int, int]) -> AsyncIterator[tuple[TuimonApp, Pilot[None]]]:
    """On what lies below a directory, until the block is left."""
    monitor = ReaderProcess([directory])
    monitor.start()
    try:
        app = TuimonApp(monitor, Settings(theme="dark", symbols="braille"))
        async with app.run_test(size=size) as pilot:
            yield app, pilot
    finally:
        monitor.close()


async def when(pilot: Pilot[None], ready: Callable[[], bool], trainings: Sequence[Training]) -> None:
    """Waits, as long as the trainings go well."""
    while not ready():
        for training in trainings:
            assert not training.poll(), training.errors()
        await pilot.pause(0.1)


def save(app: TuimonApp, target: Path) -> None:
    """What is on the screen, as an SVG file."""
    target.write_text(_self_contained(app.export_screenshot(title="tuimon demo")), "utf-8")


async def one_run(to: Path, names: Sequence[str]) -> None:
    """Trains at full speed, and takes the pictures while the training runs."""
    with tempfile.TemporaryDirectory() as directory:
        training = start(Path(directory), STEPS, pace=0.0)
        try:
            if "tuimon" in names:
                async with dashboard(directory, (160, 46)) as (app, pilot):
                    await when(pilot, lambda: _step(app) >= AT_STEP, [training])
                    save(app, to / "tuimon.svg")
            if "zoom" in names:
                async with dashboard(directory, (120, 36)) as (app, pilot):
                    await when(pilot, lambda: _step(app) >= AT_STEP, [training])
                    await pilot.press("enter", "}", "c", *["<"] * 4)
                    await pilot.pause(0.5)
                    save(app, to / "zoom.svg")
        finally:
            training.stop()


async def many_runs(to: Path, names: Sequence[str]) -> None:
    """Three seeds and a run that fails, all to their end; then the pictures."""
    with tempfile.TemporaryDirectory() as directory:
        trainings = [start(Path(directory, f"seed{seed}"), FEW_STEPS, pace=0.0, seed=seed) for seed in range(3)]
        trainings.append(start(Path(directory, "lr-too-high"), FEW_STEPS, pace=0.0, seed=3, inject="nan@60"))
        try:
            assert not any(one.wait() for one in trainings)
            async with dashboard(directory, (120, 36)) as (app, pilot):
                await when(pilot, lambda: len(app.snapshot.runs) == 4 and app.snapshot.progress.caught_up, trainings)
                await pilot.press("r", "home")
                for _ in trainings:  # space marks a run and goes to the next
                    await pilot.pause(1.0)
                    run = app.run_selected
                    await pilot.press("space" if run is not None and "seed" in run.path else "down")
                await pilot.resize_terminal(120, 9)
                await pilot.pause(0.5)
                if "runs" in names:
                    save(app, to / "runs.svg")
                await pilot.resize_terminal(120, 36)
                await pilot.press("escape", "enter", "}", "c", *["<"] * 3)
                await pilot.pause(1.0)
                if "over" in names:
                    save(app, to / "over.svg")
        finally:
            for one in trainings:
                one.stop()


def _step(app: TuimonApp) -> int:
    return (app.run_shown.last_step or 0) if app.run_shown is not None else 0


def _self_contained(svg: str) -> str:
    """Without the fonts that would be fetched from elsewhere: the reader's own monospaced one does."""
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    return svg.replace("Fira Code, monospace", FONTS).replace("font-family: Fira Code", f"font-family: {FONTS}")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    wanted = sys.argv[2:] or NAMES
    if {"tuimon", "zoom"} & {*wanted}:
        asyncio.run(one_run(target, wanted))
    if {"runs", "over"} & {*wanted}:
        asyncio.run(many_runs(target, wanted))
