"""Test every gesture on charts by key and mouse against the logged values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.dashboard import opened, text, until
from textual.events import MouseScrollUp
from textual.pilot import Pilot

from tuimon.model.views import ChartView
from tuimon.tui.actions import explore
from tuimon.tui.app import TuimonApp

STEPS = 400


def reward(step: int) -> float:
    return math.sin(step / 30) + step / 400


def row(step: int) -> str:
    kl = {"kl": 0.001 * step} if step % 10 == 0 else {}
    return json.dumps({"step": step, "reward": reward(step), "loss": 1 / (step + 1) - 0.3, **kl}) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text("".join(map(row, range(STEPS))))
    return path


@asynccontextmanager
async def zoomed(log: Path, size: tuple[int, int] = (120, 40)) -> AsyncIterator[tuple[TuimonApp, Pilot[None]]]:
    """Open the dashboard with the chart of the reward zoomed."""
    async with opened(log.parent, size) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s and "399" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "last @ step" in s or size[1] < 20)
        yield app, pilot


READING = r"(-?[\d.e-]+)(?: nats)? @ (\d+)"
"""A value and the step that it was logged at, beside the title of a chart."""


def shown(app: TuimonApp) -> ChartView:
    view = explore.chart(app)
    assert view is not None
    return view


async def test_keys_zoom_and_pan_and_the_window_follows_again_at_the_end(log: Path) -> None:
    async with zoomed(log) as (app, pilot):
        whole = shown(app).x
        assert (whole.low, whole.high) == (0, 400)
        await pilot.press("plus", "plus")
        view = shown(app)
        assert view.x.high - view.x.low == 100
        assert view.x.high >= 399
        assert " last " in text(app).splitlines()[-1]
        await pilot.press("h")
        held = shown(app).x
        assert held.high == 399 - 25
        assert " to " in text(app).splitlines()[-1]
        with log.open("a") as file:
            file.write("".join(map(row, range(400, 460))))
        await until(app, pilot, lambda s: "step 459" in s)
        assert (shown(app).x.low, shown(app).x.high) == (held.low, held.high), "one that is panned back stays"
        for _ in range(4):
            await pilot.press("l")
        assert " last " in text(app).splitlines()[-1]
        assert shown(app).x.high >= 459
        with log.open("a") as file:
            file.write("".join(map(row, range(460, 520))))
        await until(app, pilot, lambda s: "step 519" in s)
        assert shown(app).x.high >= 519
        assert shown(app).x.high - shown(app).x.low == 100
        await pilot.press("home")
        assert shown(app).x.low == 0
        await pilot.press("h")
        assert "The data begin here" in text(app)
        await pilot.press("0")
        assert app.state.options.window is None


@pytest.mark.parametrize("symbols", ["braille", "ascii"])
async def test_the_cursor_reads_the_value_that_was_logged_on_every_chart(log: Path, symbols: str) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s and "399" in s)
        if symbols == "ascii":
            await pilot.press("s", "s")
        await pilot.press("c")
        await until(app, pilot, lambda s: " step 399 " in s)
        await pilot.press("less_than_sign", "less_than_sign", "comma")
        step = app.state.options.cursor
        assert step is not None
        assert 60 < step < 399
        read = await until(app, pilot, lambda s: f" step {step} " in s and len(re.findall(READING, s)) == 3)
        values = [float(value) for value, _ in re.findall(READING, read)]
        assert values == pytest.approx([reward(step), 1 / (step + 1) - 0.3, 0.001 * (step // 10 * 10)], rel=1e-6)
        assert f" @ {step // 10 * 10}" in read, "the KL was last logged at another step, which is said"
        await pilot.press("enter")
        await until(app, pilot, lambda s: f" {reward(step)!r} @ {step}" in s)
        await pilot.press("full_stop")
        after = app.state.options.cursor
        assert after is not None
        await until(app, pilot, lambda s: f" {reward(after)!r} @ {after}" in s)
        await pilot.press("c")
        await until(app, pilot, lambda s: f"@ {after}" not in s)


async def test_the_cursor_goes_from_point_to_point_and_takes_the_window_along(log: Path) -> None:
    async with zoomed(log) as (app, pilot):
        await pilot.press(*["plus"] * 5, "c")
        assert app.state.options.cursor == STEPS - 1
        for back in range(1, 21):
            await pilot.press("comma")
            cursor, view = app.state.options.cursor, shown(app)
            assert cursor == STEPS - 1 - back
            assert view.cursor is not None
            assert view.x.low <= view.cursor <= view.x.high
        await pilot.press(*["full_stop"] * 21)
        assert app.state.options.cursor == STEPS - 1
        assert "The last point" in text(app)


async def test_y_is_moved_stretched_and_reset(log: Path) -> None:
    async with zoomed(log) as (app, pilot):
        before = shown(app).y
        await pilot.press("k")
        moved = shown(app).y
        height = before.high - before.low
        assert moved.low == pytest.approx(before.low + height / 8)
        assert moved.high == pytest.approx(before.high + height / 8)
        await pilot.press("K")
        assert shown(app).y.high - shown(app).y.low == pytest.approx(height / 2)
        assert "fixed" in text(app)
        assert "↑" in text(app) or "↓" in text(app), "arrows mark what is outside"
        await pilot.press("0")
        assert shown(app).y == before


async def test_scales_ranges_and_averages_by_key(log: Path) -> None:
    async with zoomed(log) as (app, pilot):
        with log.open("a") as file:
            file.write(json.dumps({"step": 400, "reward": 1e6}) + "\n")
        await until(app, pilot, lambda s: "1000000 @ 400" in s)
        await pilot.press("v")
        assert shown(app).y.scale == "log", "the automatic scale is linear already"
        await pilot.press("v")
        assert shown(app).y.high >= 1e6
        await pilot.press("V")
        assert shown(app).y.high < 10, "the outlier is left out"
        assert "↑" in text(app), "and marked"
        await pilot.press("V")
        limits = shown(app).y
        with log.open("a") as file:
            file.write(json.dumps({"step": 401, "reward": 3.0}) + "\n")
        await until(app, pilot, lambda s: "step 401" in s)
        assert shown(app).y == limits, "fixed limits stay"
        await pilot.press("right_curly_bracket")
        view = shown(app)
        assert "smooth 0.6" in text(app)
        assert [line.behind for line in view.lines] == [True, False]
        await pilot.press("left_curly_bracket", "left_curly_bracket")
        assert "values as logged" in text(app)


async def test_mouse_zooms_around_its_position_drags_and_sets_the_cursor(log: Path) -> None:
    async with zoomed(log) as (app, pilot):
        box = app.board.boxes[0]
        middle = 8 + 56
        center = 200
        for _ in range(4):
            await pilot._post_mouse_events([MouseScrollUp], box, offset=(middle, 9))
        view = shown(app)
        assert view.x.high - view.x.low == pytest.approx(400 / 1.25**4)
        assert view.x.low < center < view.x.high
        assert (view.x.low + view.x.high) / 2 == pytest.approx(center, abs=4)
        await pilot.click(box, offset=(middle, 9))
        cursor = app.state.options.cursor
        assert cursor == pytest.approx(center, abs=2)
        before = shown(app).x
        await pilot.mouse_down(box, offset=(60, 9))
        await pilot.hover(box, offset=(71, 9))
        await pilot.mouse_up(box, offset=(71, 9))
        after = shown(app).x
        assert before.low - after.low == pytest.approx((before.high - before.low) * 11 / 112)
        assert app.state.options.cursor == cursor, "a drag is no click"


async def test_charts_grow_and_shrink_by_key(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s and "399" in s)
        await pilot.press("plus", "plus", "plus", "plus")
        assert "cannot be larger" in text(app)
        assert len(app.board.places) == 1
        await pilot.press(*["minus"] * 4)
        assert len(app.board.places) > 1


async def test_a_key_that_cannot_act_says_why(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s and "399" in s)
        for key, why in (("f", "m"), ("K", "enter"), ("N", "first page")):
            await pilot.press(key)
            said = re.search(r"^ i (.*)$", text(app), re.M)
            assert said is not None
            assert why in said[1]


async def test_sections_fold(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    values = {f"{section}/m{i}": float(i) for section in ("a", "b") for i in range(12)}
    path.write_text("".join(json.dumps({"step": step, **values}) + "\n" for step in range(3)))
    async with opened(tmp_path) as (app, pilot):
        await until(app, pilot, lambda s: "a/m0" in s)
        await pilot.press("m")
        await until(app, pilot, lambda s: "▾ a/" in s and "a/m3" in s)
        await pilot.press("F")
        folded = await until(app, pilot, lambda s: "▸ a/  12" in s and "▸ b/  12" in s)
        assert "a/m0" not in folded
        await pilot.press("down", "enter")
        await until(app, pilot, lambda s: "▸ a/" in s and "▾ b/" in s and "b/m0" in s)
        await pilot.press("down", "f")
        await until(app, pilot, lambda s: "▸ b/" in s)


async def test_the_first_sections_of_many_metrics_are_open(tmp_path: Path) -> None:
    sizes = {"a": 5, "b": 6, "c": 2, "d": 90}
    values = {f"{section}/m{i}": float(i) for section, size in sizes.items() for i in range(size)}
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps({"step": s, **values}) + "\n" for s in range(3)))
    async with opened(tmp_path, (120, 90)) as (app, pilot):
        await until(app, pilot, lambda s: "a/m0" in s)
        await pilot.press("m")
        await until(app, pilot, lambda s: "▾ a/  5" in s and "▾ b/  6" in s and "▾ c/  2" in s and "▸ d/  90" in s)
        await pilot.press("f")
        await until(app, pilot, lambda s: "▸ a/  5" in s and "▾ b/  6" in s)
        await pilot.press("F")
        await until(app, pilot, lambda s: "▸ b/  6" in s)


async def test_the_list_of_metrics_has_values_points_and_sources(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s and "399" in s)
        await pilot.press("M")
        shown_rows = await until(app, pilot, lambda s: "3 metrics" in s and "source" in s)
        rows = {line.split()[0]: line for line in shown_rows.splitlines() if "metrics.jsonl" in line}
        assert set(rows) == {"▸", "kl", "loss"}, "the selected one has a sign before its name"
        assert "▸ reward" in rows["▸"]
        assert "0.3900" in rows["kl"]
        assert " 40 " in rows["kl"], "its points"
        assert f"{1 / 400 - 0.3:.4f}" in rows["loss"]


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


async def test_a_step_that_the_run_does_not_have_sets_no_cursor(log: Path) -> None:
    async with zoomed(log) as (app, pilot):
        explore.go_to(app, "9999")
        await until(app, pilot, lambda s: "The run has no step 9999: it has steps 0 to 399" in s)
        assert app.state.options.cursor is None
        explore.go_to(app, "150")
        assert app.state.options.cursor == 150


TYPED: list[tuple[str, int | None, tuple[int, int] | None]] = [
    ("120-", None, (120, 399)),
    ("-50", None, (0, 50)),
    ("200 - 150", None, (150, 200)),
]
"""(text, cursor, window)"""


async def test_steps_are_typed_in_several_forms(log: Path) -> None:
    async with zoomed(log) as (app, _):
        before = app.state.options
        for typed, cursor, window in TYPED:
            app.state.options = before
            explore.go_to(app, typed)
            assert app.state.options.cursor == cursor, typed
            view = explore.chart(app)
            assert view is not None
            if window is not None:
                assert (view.x.low, view.x.high) == window, typed


async def test_what_is_no_step_gets_examples(log: Path) -> None:
    examples = "examples are 150, 150-200, 120-, -50"
    async with zoomed(log) as (app, pilot):
        for typed in ("-", "120%", "last", "last x", "abc", "5 %%"):
            explore.go_to(app, typed)
            app.redraw()
            message = f"{typed} is no step and no range of steps; {examples}"
            await until(app, pilot, lambda s, message=message: message in s)  # type: ignore[misc]


async def test_marked_and_matched_metrics_are_drawn_in_one_chart(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        [together] = [action for action in app.actions if action.id == "together"]
        app.perform(together)
        await until(app, pilot, lambda s: "Choose metrics first" in s)
        app.state.query = "kl|loss"
        app.redraw()
        app.perform(together)
        await until(app, pilot, lambda s: "each from its lowest to its highest value" in s)
        assert set(app.state.together) == {"kl", "loss"}
        await pilot.press("W")
        await until(app, pilot, lambda s: "Not kept" in s)
        app.perform(together)
        assert app.state.together == ()
        await pilot.press("escape", "M")
        await until(app, pilot, lambda s: "by relevance" in s)
        await pilot.press("home", "space", "space")
        await until(app, pilot, lambda s: "2 marked" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "each from its lowest to its highest value" in s)
        assert len(app.state.together) == 2
        await pilot.press("escape", "escape")
        assert app.state.together == ()
        await until(app, pilot, lambda s: "each from its lowest" not in s)


async def test_an_invalid_expression_in_the_filter_is_reported(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("slash", *"re:[")
        await until(app, pilot, lambda s: "invalid expression re:[" in s)
