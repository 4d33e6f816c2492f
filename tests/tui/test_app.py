"""Test the dashboard with the real reader process, files that grow, and keys."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
from pathlib import Path

import pytest
from support.dashboard import opened, rows, text, until
from textual.events import Key, Resize
from textual.geometry import Size

from tuimon.store import Run
from tuimon.tui import redraw_loop
from tuimon.tui.screens.work_screen import WorkScreen
from tuimon.tui.startup import warm_up


@pytest.mark.parametrize("unit", ["step", "epoch"])
async def test_the_step_of_an_alert_comes_first_where_the_line_is_short(tmp_path: Path, unit: str) -> None:
    values = [0.01 + 0.001 * (step % 3) for step in range(600)] + [0.01 * 1.02**step for step in range(300)]
    lines = (json.dumps({unit: step, "train/kl": value}) + "\n" for step, value in enumerate(values))
    (tmp_path / "metrics.jsonl").write_text("".join(lines))
    async with opened(tmp_path, (80, 24)) as (app, pilot):
        for width in (80, 120):
            await pilot.resize_terminal(width, 24)
            shown = await until(app, pilot, lambda s: "train/kl has risen from " in s.splitlines()[-2])
            (alert,) = app.snapshot.alerts
            assert f"since {unit} {alert.step}" in shown.splitlines()[-2]
            assert (f"since {unit} {alert.step}: train/kl has" in shown) == (width == 80)


async def test_killed_reader_is_restarted_and_no_point_is_duplicated(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        first = app.monitor.process_id
        os.kill(first, signal.SIGKILL)
        await until(app, pilot, lambda s: "reader stopped" in s)
        assert "step 19" in text(app), "what is shown stays"
        with log.open("a") as file:
            file.write(rows(20))
        await until(app, pilot, lambda s: "step 20" in s)
        assert app.monitor.process_id != first
        [run] = app.snapshot.runs
        assert run.curve("reward").steps.tolist() == list(range(21))
        assert run.point_count == 21 * 3


async def test_drawing_while_the_app_closes_is_no_error(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        stack, kept = app._screen_stack, list(app._screen_stack)
        stack.clear()  # as App._close_all does before it cancels the workers
        app.draw()
        app._tick()
        stack.extend(kept)


async def test_no_gesture_on_any_panel_breaks_anything(tmp_path: Path) -> None:
    values = {"time/step": 2.0, "time/rollout": 1.2, "time/train": 0.7, "reward/mean": 0.5, "m": 1.0, "nan": math.nan}
    lines = [json.dumps({"step": step, **values, "reward/max": 1.0, "reward/min": 0.0}) for step in range(30)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n" + json.dumps({"step": 99, "single": 4.0}) + "\n")
    gestures = ("plus", "h", "k", "K", "c", "comma", "full_stop", "v", "v", "v", "V", "V", "right_curly_bracket")
    gestures += ("x", "minus", "J", "home", "end", "0")
    async with opened(tmp_path) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        one_of_a_kind = {panel.kind + panel.id[:5]: number for number, panel in enumerate(app.board.panels)}
        for number in one_of_a_kind.values():
            app.board.open(number)
            await pilot.press(*gestures)
            view = text(app)
            assert "Esc back" in view
        await pilot.press("escape", "m", *gestures, "plus", "minus", "n", "N", "o", "f", "F", "F", "asterisk")
        assert app.is_running


async def test_a_key_for_a_screen_that_was_closed_before_does_nothing(log: Path) -> None:
    """Both keys were typed while the program was busy."""
    async with opened(log) as (app, pilot):
        await pilot.press("question_mark")
        screen = app.screen
        assert isinstance(screen, WorkScreen)
        await pilot.press("escape")
        for key in ("pagedown", "slash", "down"):
            screen.on_key(Key(key, None))
        await pilot.pause()
        assert not isinstance(app.screen, WorkScreen)


async def test_a_screen_is_laid_out_for_the_present_size_whatever_size_a_late_event_has(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await until(app, pilot, lambda screen: "loss" in screen)
        for size in [Size(60, 20), app.size] * 3:
            app.screen.post_message(Resize(size, size))
            await pilot.pause()
            assert app.screen.size == app.size
            assert app.board.room.width == app.size.width


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
