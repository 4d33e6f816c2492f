"""The dashboard, driven as a person drives it: the real reader process, real files that grow, real keys."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from textual.pilot import Pilot

from tuimon.config import Settings
from tuimon.monitor import ReaderProcess
from tuimon.tui.app import TuimonApp


def rows(*steps: int, **values: float) -> str:
    def row(step: int) -> dict[str, float]:
        return {"step": step, "reward": 0.1 * step, "loss": 1 / (step + 1), "kl": 0.01 * step, **values}

    return "".join(json.dumps(row(step)) + "\n" for step in steps)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run_a" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text(rows(*range(20)))
    return path


class PatientPilot(Pilot[None]):
    """Returns once the boxes are drawn for what was pressed: that is done while the event loop goes on."""

    async def _wait_for_screen(self, timeout: float = 30.0) -> bool:
        waited = await super()._wait_for_screen(timeout)
        board = cast("TuimonApp", self.app).board
        while board.drawing:
            await asyncio.sleep(0.005)
        return waited


@asynccontextmanager
async def opened(
    path: Path, size: tuple[int, int] = (120, 40), settings: Settings | None = None, views: Path | None = None
) -> AsyncIterator[tuple[TuimonApp, Pilot[None]]]:
    monitor = ReaderProcess([str(path)], interval=0.2)
    monitor.start()
    try:
        assert monitor.wait_for_first(20)
        app = TuimonApp(monitor, settings or Settings(theme="dark", symbols="braille"), views=views)
        async with app.run_test(size=size):
            pilot = PatientPilot(app)
            await pilot.pause()
            yield app, pilot
    finally:
        monitor.close()


def text(app: TuimonApp) -> str:
    """What is on the screen, as text."""
    width, height = app.size
    lines = app.screen._compositor.render_strips(app.size)
    assert len(lines) == height
    return "\n".join("".join(segment.text for segment in line)[:width] for line in lines)


async def until(app: TuimonApp, pilot: Pilot[None], condition: Callable[[str], bool], seconds: float = 20) -> str:
    """Waits for the screen to be as wanted."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        await pilot.pause(0.05)
        shown = text(app)
        if condition(shown):
            return shown
        assert asyncio.get_running_loop().time() < end, f"it never came; the screen is\n{shown}"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_first_screen_tells_run_reward_loss_and_kl(log: Path, size: tuple[int, int]) -> None:
    async with opened(log.parent, size) as (app, pilot):
        shown = await until(app, pilot, lambda s: "reward" in s and "KL" in s and "1.9" in s)
        assert "run_a" in shown
        assert "loss" in shown
        assert "0.1900" in shown, "the last KL, as logged"


async def test_it_grows_with_the_log(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        with log.open("a") as file:
            file.write(rows(20, 21))
        shown = await until(app, pilot, lambda s: "step 21" in s)
        assert "2.1" in shown


async def test_a_new_run_appears_and_can_be_chosen(log: Path) -> None:
    async with opened(log.parent.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        other = log.parent.parent / "run_b" / "metrics.jsonl"
        other.parent.mkdir()
        other.write_text(rows(*range(50)))
        await until(app, pilot, lambda s: "run 1 of 2" in s)
        await pilot.press("right_square_bracket")
        shown = await until(app, pilot, lambda s: "run 2 of 2" in s and "step 49" in s)
        assert "run_b" in shown


async def test_a_truncated_file_keeps_what_was_read(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        log.write_text(rows(5, 6))
        await until(app, pilot, lambda s: "step 6" in s and "restart at " in s)
        [run] = app.snapshot.runs
        assert run.curve("reward").steps.tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert run.point_count == 22 * 3


async def test_a_deleted_log_is_said_and_its_curves_stay(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        log.unlink()
        await pilot.pause(1.0)
        await pilot.press("a")
        shown = await until(app, pilot, lambda s: "gone" in s)
        assert "no such file" in shown
        await pilot.press("escape")
        await until(app, pilot, lambda s: "step 19" in s and "reward" in s)


async def test_nan_is_marked_counted_and_raised(log: Path) -> None:
    with log.open("a") as file:
        file.write(rows(20).replace(str(1 / 21), "NaN"))
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "✗" in s and "1 NaN" in s)
        shown = await until(app, pilot, lambda s: "✗ " in s.splitlines()[-2])
        assert "loss" in shown.splitlines()[-2], "the alert stands above the keys"
        assert "step 20" in shown.splitlines()[-2]


async def test_zoom_help_filter_metrics_and_back(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("right", "enter")
        shown = await until(app, pilot, lambda s: "KL" not in s.replace("KLM", ""))
        assert "loss" in shown
        assert app.board.zoomed
        await pilot.press("escape")
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("question_mark")
        await until(app, pilot, lambda s: "Leave tuimon" in s)
        await pilot.press("escape", "slash", "k", "l")
        await until(app, pilot, lambda s: len(app.board.panels) == 1 and app.board.panels[0].title == "kl")
        await pilot.press("enter", "escape", "m")
        await until(app, pilot, lambda s: len(app.board.panels) == 3)
        await pilot.press("m")
        await until(app, pilot, lambda s: "KL" in s)


async def test_letters_typed_into_the_filter_are_no_keys(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("slash", "q", "m", "p")
        await pilot.pause()
        assert app.filter_line.value == "qmp"
        assert app.is_running
        await pilot.press("escape")
        await until(app, pilot, lambda s: "KL" in s)


async def test_pause_holds_the_picture(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        await pilot.press("p")
        with log.open("a") as file:
            file.write(rows(20))
        await pilot.pause(1.5)
        assert "step 19" in text(app)
        assert "paused" in text(app)
        await pilot.press("p")
        await until(app, pilot, lambda s: "step 20" in s)


async def test_any_size_down_to_one_cell_and_back(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        for size in [(1, 1), (2, 2), (5, 3), (40, 12), (20, 60), (300, 5), (120, 40)]:
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            assert len(text(app).splitlines()) <= size[1]
        await until(app, pilot, lambda s: "KL" in s)


@pytest.mark.parametrize("theme", ["dark", "light", "ansi"])
@pytest.mark.parametrize("symbols", ["braille", "block", "ascii"])
async def test_themes_and_symbols(log: Path, theme: str, symbols: str) -> None:
    async with opened(log.parent, settings=Settings(theme=theme, symbols=symbols)) as (app, pilot):
        shown = await until(app, pilot, lambda s: "KL" in s)
        if symbols == "ascii":
            charts = "\n".join(shown.splitlines()[2:-1])
            assert charts.isascii(), sorted({c for c in charts if not c.isascii()})


async def test_a_run_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "later"
    async with opened(path) as (app, pilot):
        await pilot.pause(0.5)
        assert app.run_shown is None
        await until(app, pilot, lambda s: "waiting for a log" in s and "later" in s)
        path.mkdir()
        (path / "events.out.tfevents.1.host.1.0").touch()
        await until(app, pilot, lambda s: "waiting for the first point" in s)
        (path / "metrics.jsonl").write_text(rows(1, 2, 3))
        await until(app, pilot, lambda s: "step 3" in s)


async def test_a_filter_that_matches_nothing_says_so(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("slash", "z", "z", "z")
        await until(app, pilot, lambda s: "no metric matches" in s)
        await pilot.press("escape")
        await until(app, pilot, lambda s: "KL" in s)


async def test_hostile_names_are_shown_and_obeyed_by_nobody(tmp_path: Path) -> None:
    name = "\x1b]0;owned\x07[@click=app.quit]reward[/]\u202e"
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, name: 1.0, "loss[/b]": 2.0}) + "\n")
    async with opened(tmp_path) as (app, pilot):
        shown = await until(app, pilot, lambda s: "reward[/]" in s and "loss[/b]" in s)
        assert "[@click=app.quit]" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


async def test_a_reader_that_is_killed_is_started_again_and_nothing_is_doubled(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        first = app._monitor.process_id
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(app, pilot, lambda s: "reader stopped" in s)
        assert "step 19" in text(app), "what is shown stays"
        with log.open("a") as file:
            file.write(rows(20))
        await until(app, pilot, lambda s: "step 20" in s)
        assert app._monitor.process_id != first
        [run] = app.snapshot.runs
        assert run.curve("reward").steps.tolist() == list(range(21))
        assert run.point_count == 21 * 3


async def test_quit(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("q")
        await pilot.pause(0.2)
        assert app.return_code == 0


async def test_x_goes_through_the_axes_that_the_run_has(tmp_path: Path) -> None:
    path = tmp_path / "run_a" / "metrics.jsonl"
    path.parent.mkdir()
    made = [
        json.dumps({"step": s, "loss": 1 / (s + 1), "epoch": s / 4, "timestamp": 1.8e9 + 60 * s}) for s in range(20)
    ]
    path.write_text("\n".join(made) + "\n")
    async with opened(path) as (app, pilot):
        shown = await until(app, pilot, lambda screen: "0.05" in screen and "loss" in screen)
        assert " by " not in shown.splitlines()[-1]
        for axis, seen in (("time", "2027-01-15"), ("duration", "15 m"), ("epoch", "epoch")):
            await pilot.press("x")
            wanted = f"by {axis}"
            await until(app, pilot, lambda s, seen=seen, wanted=wanted: seen in s and wanted in s.splitlines()[-1])
        await pilot.press("x")
        await until(app, pilot, lambda screen: " by " not in screen.splitlines()[-1])
