"""Test the dashboard with the real reader process, files that grow, and keys."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from support.dashboard import opened, rows, text, until

from tuimon.config import Settings
from tuimon.tui.screens import MetricBrowser


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_first_screen_shows_run_reward_loss_and_kl(log: Path, size: tuple[int, int]) -> None:
    async with opened(log.parent, size) as (app, pilot):
        shown = await until(app, pilot, lambda s: "reward" in s and "KL" in s and "1.9" in s)
        assert "run_a" in shown
        assert "loss" in shown
        assert "0.1900" in shown, "the last KL, as logged"


async def test_screen_follows_the_log(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        with log.open("a") as file:
            file.write(rows(20, 21))
        await until(app, pilot, lambda s: "step 21" in s and "2.1" in s)  # the header can be drawn before the charts


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
        await until(app, pilot, lambda s: "step 6" in s and "superseded" in s)
        [run] = app.snapshot.runs
        assert run.curve("reward").steps.tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert run.point_count == 22 * 3


async def test_deleted_log_is_reported_and_its_curves_stay(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        log.unlink()
        await pilot.pause(1.0)
        await pilot.press("a")
        shown = await until(app, pilot, lambda s: "gone" in s)
        assert "no such file" in shown
        await pilot.press("escape")
        await until(app, pilot, lambda s: "step 19" in s and "reward" in s)


async def test_nan_is_marked_counted_and_raises_an_alert(log: Path) -> None:
    with log.open("a") as file:
        file.write(rows(20).replace(str(1 / 21), "NaN"))
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "✗" in s and "1 NaN" in s)
        shown = await until(app, pilot, lambda s: "✗ " in s.splitlines()[-2])
        assert "loss" in shown.splitlines()[-2], "the alert is displayed above the keys"

        def axes(screen: str) -> list[int]:
            return [line.count("└") for line in screen.splitlines() if "└" in line]

        await until(app, pilot, lambda s: axes(s) == [3])  # the note below one chart does not move its axis
        assert "step 20" in shown.splitlines()[-2]


@pytest.mark.parametrize("unit", ["step", "epoch"])
async def test_the_step_of_an_alert_comes_first_where_the_line_is_short(tmp_path: Path, unit: str) -> None:
    values = [0.01 + 0.001 * (step % 3) for step in range(600)] + [0.01 * 1.02**step for step in range(300)]
    lines = (json.dumps({unit: step, "train/kl": value}) + "\n" for step, value in enumerate(values))
    (tmp_path / "metrics.jsonl").write_text("".join(lines))
    for width in (80, 120):
        async with opened(tmp_path, (width, 24)) as (app, pilot):
            shown = await until(app, pilot, lambda s: "train/kl has risen from " in s.splitlines()[-2])
            (alert,) = app.snapshot.alerts
            assert f"since {unit} {alert.step}" in shown.splitlines()[-2]
            assert (f"since {unit} {alert.step}: train/kl has" in shown) == (width == 80)


async def test_letters_typed_into_the_filter_are_not_keys(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("slash", "q", "m", "p")
        await pilot.pause()
        assert app.input_line.line.value == "qmp"
        assert app.is_running
        await pilot.press("escape")
        await until(app, pilot, lambda s: "KL" in s)


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
        charts = "\n".join(shown.splitlines()[2:-1])
        assert any("\u2800" < cell <= "\u28ff" for cell in charts) == (symbols == "braille")
        assert app.state.theme == theme
        if symbols == "ascii":
            assert charts.isascii(), sorted({cell for cell in charts if not cell.isascii()})


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


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("gpu", "This run logs no GPU memory: ROLL logs it with ROLL_DEBUG=1"),
        ("power", "This run logs no system metrics: W&B, SwanLab and Trackio"),
        ("rewrad", "The nearest names are reward"),
    ],
)
async def test_a_filter_without_a_match_says_what_the_log_lacks(tmp_path: Path, query: str, words: str) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(f'{{"step": {n}, "reward": {n}}}\n' for n in range(9)))
    async with opened(tmp_path) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("slash", *query)
        await until(app, pilot, lambda s: words in s)
        await pilot.press("escape")
        app.push_screen(MetricBrowser(app.actions))
        await until(app, pilot, lambda s: "1 metric " in s)
        await pilot.press("slash", *query)
        await until(app, pilot, lambda s: f"No metric matches {query}. Esc shows all. {words}"[:70] in s)


async def test_panels_have_borders_on_a_wide_screen_if_wanted(log: Path) -> None:
    async with opened(log.parent, (160, 40), Settings(theme="dark", symbols="braille", frames=True)) as (app, pilot):
        shown = await until(app, pilot, lambda s: "╭ KL" in s)
        assert {len(line) for line in shown.splitlines()} == {160}
        await pilot.press("enter")
        await until(app, pilot, lambda s: "╭" not in s and "last @ step" in s)
        await pilot.press("escape")
        await until(app, pilot, lambda s: "╭ KL" in s)
        await pilot.resize_terminal(159, 40)
        await until(app, pilot, lambda s: "╭" not in s and "KL" in s)
        await pilot.resize_terminal(160, 40)
        await until(app, pilot, lambda s: "╭ KL" in s)


async def test_long_sentences_are_wrapped(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(f'{{"step": {n}, "reward": {n}}}\n' for n in range(9)))
    async with opened(tmp_path, (60, 20)) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        app.say(" ".join(f"word{number}" for number in range(16)))
        app.redraw()
        shown = await until(app, pilot, lambda s: "word0" in s)
        assert [line.split()[-1] for line in shown.splitlines() if "word" in line] == ["word8", "word15"]
        app.say("short")
        app.redraw()
        await until(app, pilot, lambda s: " i short" in s and "word" not in s and app.alert_bar.size.height == 1)
        for key in ("E", "C"):
            await pilot.press(key)
            await until(app, pilot, lambda s: "Hydra or config.yaml adds them" in " ".join(s.split()))
            await pilot.press("escape")


async def test_hostile_names_are_shown_and_not_executed(tmp_path: Path) -> None:
    name = "\x1b]0;owned\x07[@click=app.quit]reward[/]\u202e"
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, name: 1.0, "loss[/b]": 2.0}) + "\n")
    async with opened(tmp_path) as (app, pilot):
        shown = await until(app, pilot, lambda s: "reward[/]" in s and "loss[/b]" in s)
        assert "[@click=app.quit]" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


async def test_killed_reader_is_restarted_and_no_point_is_duplicated(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 19" in s)
        first = app.monitor.process_id
        assert first is not None
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


async def test_a_metric_is_the_axis_of_all_charts(tmp_path: Path) -> None:
    path = tmp_path / "run_a" / "metrics.jsonl"
    path.parent.mkdir()
    rows = [json.dumps({"step": s, "loss": 1 / (s + 1), "env_steps": 2048 * s}) for s in range(20)]
    path.write_text("\n".join(rows) + "\n")
    async with opened(path) as (app, pilot):
        await until(app, pilot, lambda screen: "0.05" in screen and "loss" in screen)
        await pilot.press("X")
        await until(app, pilot, lambda screen: "loss does not grow" in screen and "env_steps against loss" in screen)
        await pilot.press("M", "M")
        await until(app, pilot, lambda screen: "2 metrics" in screen)
        await pilot.press("G", "X")
        await until(app, pilot, lambda screen: "over env_steps" in screen)
        await pilot.press("escape")
        await until(app, pilot, lambda screen: "x: env_steps" in screen and screen.count("20000") == 3)
        await pilot.press("x")
        await until(app, pilot, lambda screen: "x: step" in screen and screen.count("20000") == 1)


async def test_drawing_while_the_app_closes_is_no_error(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        stack, kept = app._screen_stack, list(app._screen_stack)
        stack.clear()  # as App._close_all does before it cancels the workers
        app.draw()
        app._tick()
        stack.extend(kept)


async def test_x_cycles_through_the_axes_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run_a" / "metrics.jsonl"
    path.parent.mkdir()
    lines = [
        json.dumps({"step": s, "loss": 1 / (s + 1), "epoch": s / 4, "timestamp": 1.8e9 + 60 * s}) for s in range(20)
    ]
    path.write_text("\n".join(lines) + "\n")
    async with opened(path) as (app, pilot):
        shown = await until(app, pilot, lambda screen: "0.05" in screen and "loss" in screen)
        assert "x: step" in shown.splitlines()[-1]
        for axis, seen in (("time", "2027-01-15"), ("duration", "15 m"), ("epoch", "4")):
            await pilot.press("x")
            wanted = f"x: {axis}"
            await until(app, pilot, lambda s, seen=seen, wanted=wanted: seen in s and wanted in s.splitlines()[-1])
        await pilot.press("x")
        screen = await until(app, pilot, lambda screen: "x: step" in screen.splitlines()[-1])
        assert screen.count("epoch") == 1, "the metric, not the axis"
