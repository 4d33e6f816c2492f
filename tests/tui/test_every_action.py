"""Test the effect of every action, pressed by its key, section by section."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from support import event_points
from support.dashboard import copied, opened, text, until
from support.written_media import write_run
from support.written_texts import write_step
from textual.events import MouseScrollDown
from textual.pilot import Pilot
from textual.screen import Screen

from tuimon.analysis.level import level
from tuimon.media.library import Found, read_media
from tuimon.model.views import ChartView, Symbols
from tuimon.panels import ChartOptions
from tuimon.tui import screens
from tuimon.tui.actions import all_actions, explore, function_of
from tuimon.tui.app import TuimonApp
from tuimon.tui.arrangement import Heading
from tuimon.tui.screens.health import HealthScreen
from tuimon.tui.screens.help import HelpScreen
from tuimon.tui.screens.log_view import LogScreen
from tuimon.tui.screens.media_view import MediaScreen
from tuimon.tui.screens.metric_browser import MetricBrowser, unusual_metrics
from tuimon.tui.screens.run_list import RunListScreen
from tuimon.tui.screens.texts_view import TextsScreen

LAST = 399
RUNS = 12
OTHERS = 30
"""Metrics beside reward, loss and kl."""
START = 1_795_000_000.0
SCREENS = {
    "runs": "RunListScreen",
    "metrics": "MetricBrowser",
    "log": "LogScreen",
    "texts": "TextsScreen",
    "media": "MediaScreen",
    "ranks": "RanksScreen",
    "health": "HealthScreen",
    "help": "HelpScreen",
}
AnyScreen = TypeVar("AnyScreen", bound=Screen[None])


def reward(step: int) -> float:
    return math.sin(step / 30) + step / 400


def row(step: int) -> str:
    values = {"reward": reward(step), "loss": 1 / (step + 1), "kl": 0.001 * step}
    values |= {f"{'ab'[number % 2]}/m{number:02}": number + 0.5 for number in range(OTHERS)}
    return json.dumps({"step": step, "timestamp": START + 10 * step, **values}) + "\n"


def write(root: Path, runs: int, own: str = "seed") -> Path:
    """Write runs that differ in the setting `own`."""
    for number in range(runs):
        run = root / "sweep" / f"seed{number:02}"
        run.mkdir(parents=True)
        steps = LAST + 1 if number == 0 else 20 + number
        (run / "metrics.jsonl").write_text("".join(map(row, range(steps))))
        (run / "config.json").write_text(json.dumps({"lr": 1e-5, own: number, "algorithm": {"clip": 0.2, "k": 3}}))
        (run / "train.log").write_text("".join(map(line, range(steps))))
        (run / "worker.log").write_text("another text\n")
    return root / "sweep"


def line(step: int) -> str:
    if step in (100, 200):
        return f"ERROR worker {step}\n"
    if step in (120, 160):
        return f"WARNING: {'disk' if step == 120 else 'network'} is slow\n"
    return f"step: {step} - reward: {reward(step):.6f}{' ' * 200}end{step}\n"


class Tour:
    """Presses the keys of actions and records which ones."""

    def __init__(self, app: TuimonApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self._keys = {action.id: action.keys.split(",") for action in app.actions}
        self.done: set[str] = set()

    async def press(self, *ids: str, key: int = 0) -> None:
        """The first key of each of these actions, or a later one."""
        for id in ids:
            await self.pilot.press(self._keys[id][key])
            self.done.add(id)

    async def type(self, typed: str) -> None:
        await self.pilot.press(*typed, "enter")
        await self.pilot.pause()

    async def until(self, condition: Callable[[], bool]) -> None:
        end = asyncio.get_running_loop().time() + 60
        while not condition():
            await self.pilot.pause(0.05)
            assert asyncio.get_running_loop().time() < end, f"timed out; the screen is\n{text(self.app)}"

    async def on(self, kind: type[AnyScreen]) -> AnyScreen:
        """Return the topmost screen; fail if it is not of this kind."""
        await self.pilot.pause()
        assert isinstance(self.app.screen, kind)
        return self.app.screen

    @property
    def view(self) -> ChartView:
        """The selected chart."""
        view = explore.chart(self.app)
        assert view is not None
        return view

    def reading(self) -> float:
        """Return the value next to the title, at the cursor."""
        return float("".join(part for part, _ in self.view.headline).split()[0])


def ids(place: str) -> set[str]:
    """Return the actions of a section on the dashboard, or those of another screen that not every screen has."""
    own = {a.id for a in all_actions() if a.where == (place,) or (a.section == "Movement" and place in a.where)}
    every = {a.id for a in all_actions() if len(a.where) > 7}
    return own - every or {a.id for a in all_actions() if a.section == place and "dashboard" in a.where}


def test_every_action_has_something_to_do_on_each_screen() -> None:
    known = {name: getattr(screens, kind) for name, kind in SCREENS.items()}
    for action in all_actions():
        assert isinstance(action.do, partial)
        function, method, _ = action.do.args
        if function:
            called, arguments = function_of(function)
            if "." in function:
                inspect.signature(called).bind(None, *arguments)
            else:
                assert hasattr(TuimonApp, function), function
        assert function or "dashboard" not in action.where, action.id
        for name in {*action.where} - {"dashboard"}:
            called_there = getattr(known[name], method.split()[0], None) if method else function
            assert called_there, (action.id, name)


@asynccontextmanager
async def tour(
    tmp_path: Path, size: tuple[int, int], runs: int, place: str = "", enter: str = "", own: str = "seed"
) -> AsyncIterator[Tour]:
    """Open the dashboard of the first of some runs; at the end check that every action of the place was pressed."""
    async with opened(write(tmp_path, runs, own), size) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s and app.snapshot.progress.caught_up)
        app.show_run(next(run for run in app.snapshot.runs if run.name.endswith("seed00")))
        await until(app, pilot, lambda s: f"step {LAST}" in s)
        journey = Tour(app, pilot)
        if enter:
            await pilot.press(enter)
            await pilot.pause()
        yield journey
        missing = ids(place) - journey.done if place else set()
        assert not missing


async def test_general(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with tour(tmp_path, (100, 30), 1, "General") as t:
        await t.press("help")
        await t.on(HelpScreen)
        await t.press("back")
        await t.press("notes")
        await t.on(HealthScreen)
        await t.press("back")
        assert len(t.app.screen_stack) == 1
        await t.press("pause")
        with (tmp_path / "sweep" / "seed00" / "metrics.jsonl").open("a") as file:
            file.write(row(LAST + 1))
        await t.until(lambda: t.app.monitor.snapshot().runs[0].last_step == LAST + 1)
        await t.pilot.pause(0.3)
        assert f"step {LAST + 1}" not in text(t.app), "received, but the screen is paused"
        await t.press("pause")
        await until(t.app, t.pilot, lambda s: f"step {LAST + 1}" in s)
        await t.press("symbols")
        assert t.app.state.symbols is Symbols.BLOCK
        assert not any("\u2800" < cell <= "\u28ff" for cell in text(t.app)), "no braille is left"
        await t.press("theme")
        assert t.app.state.theme == "light"
        repainted: list[bool] = []
        t.app.forget_sent = lambda: repainted.append(True)
        await t.press("repaint")
        assert repainted
        await t.press("retry")
        await until(t.app, t.pilot, lambda s: "No link is lost" in s)
        await t.press("teach")
        await until(t.app, t.pilot, lambda s: "No pattern is proposed" in s)
        t.app.action_do("settings_file")  # the palette has it, see test_comfort.py
        t.done.add("settings_file")
        await until(t.app, t.pilot, lambda s: "The settings are in " in s)
        await t.press("palette")
        await until(t.app, t.pilot, lambda s: "zoom (⏎)" in s)
        await t.pilot.press("escape")
        await t.press("screenshot")
        [picture] = tmp_path.glob("tuimon-*.svg")
        assert "reward" in picture.read_text()
        await t.press("quit")
        await t.until(lambda: t.app.return_code == 0)


async def test_help_and_alerts(tmp_path: Path) -> None:
    async with tour(tmp_path, (100, 24), 2, enter="question_mark") as t:
        helped = await t.on(HelpScreen)
        await t.press("down", "down", "up")
        assert helped.table.cursor == 1
        await t.press("scroll")
        assert helped.table.cursor == 1 + helped.table.room
        await t.press("page_up", "last")
        assert helped.table.cursor == helped.table.count - 1
        await t.press("first", "find")
        await t.type("zoom in")
        assert "Leave tuimon" not in text(t.app)
        assert "Zoomed: a shorter range of x" in text(t.app)
        await t.pilot.press("escape")
        await t.press("find")
        await t.type("merge")
        await t.press("open")
        assert t.app.state.runs.grouped, "it has done what the selected line describes"
        assert len(t.app.screen_stack) == 1


async def test_enter_on_an_alert_opens_its_run_at_its_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path, 2)
    with (root / "seed01" / "metrics.jsonl").open("a") as file:
        file.write(row(30).replace(str(1 / 31), "NaN") + row(31))
    async with opened(root, (100, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s and bool(app.snapshot.alerts))
        app.show_run(next(run for run in app.snapshot.runs if run.name.endswith("seed00")))
        await pilot.press("a")
        shown = await until(app, pilot, lambda s: "1 active alert in 1 run" in s)
        assert re.search(r"seed01  loss .*step 30", shown)
        await pilot.press("enter")
        await until(app, pilot, lambda s: app.board.zoomed and "seed01" in s)
        assert app.board.panel is not None
        assert (app.board.panel.title, app.state.options.cursor) == ("loss", 30)
        app.state.options = ChartOptions()
        for key in (")", "("):
            await pilot.press(key)
            await until(app, pilot, lambda s: "Alert 1 of 1: " in s and "step 30" in s)
            assert (app.board.panel.title, app.state.options.cursor) == ("loss", 30)
        may_compute = threading.Event()

        def unusual_later(*arguments: Any) -> dict[str, float]:
            may_compute.wait(60)
            return unusual_metrics(*arguments)

        monkeypatch.setattr("tuimon.tui.screens.metric_browser.unusual_metrics", unusual_later)
        for keys in (("w",), ("M", "w"), ("a", "w")):
            await pilot.press(*keys)
            if not may_compute.is_set():
                await until(app, pilot, lambda s: "metrics with their points before step 30" in s)
                may_compute.set()
            shown = await until(
                app, pilot, lambda s: bool(re.search(r"[1-9] listed, unusual at step 30  by distance", s))
            )
            assert isinstance(app.screen, MetricBrowser)
            assert re.search(r"at 30 +before +last", shown)
            assert app.screen.table.items[0] == "loss", "the metrics that `at --unusual` prints"
            app.state.options = ChartOptions()
            app.redraw()
            await until(app, pilot, lambda s: " listed" not in s and "unusual at" not in s)
            app.state.options = ChartOptions(cursor=30)
            await pilot.press("escape")
        await pilot.press("escape", "escape")
        await until(app, pilot, lambda s: "reward" in s and not app.board.zoomed)


async def test_panels(tmp_path: Path) -> None:
    async with tour(tmp_path, (120, 40), 1, "Screens and panels") as t:
        board = t.app.board

        def place() -> tuple[int, int]:
            [found] = [place for place in board.places if place.index == board.selected]
            return found.x, found.y

        first = place()
        await t.press("right")
        assert place() > first
        assert place()[1] == first[1]
        await t.press("left", "down")
        assert place()[0] == first[0]
        assert place()[1] > first[1]
        await t.press("up", "right", "pin")
        assert [panel.id for panel in board.panels[:2]] == ["loss", "reward"]
        assert board.panel is board.panels[0], "the selection goes with it"
        await until(t.app, t.pilot, lambda s: "◆ loss" in s)
        await t.press("export")
        await until(t.app, t.pilot, lambda s: "These panels are kept" in s)
        await t.press("pin")
        assert [panel.id for panel in board.panels[:2]] == ["loss", "reward"], "as it is kept"
        t.app.action_do("reset_dashboard")  # the palette has it
        t.done.add("reset_dashboard")
        t.app.action_do("together")
        t.done.add("together")
        t.app.redraw()
        assert [panel.id for panel in board.panels[:2]] == ["reward", "loss"]
        await t.press("open")
        assert board.zoomed
        assert board.panel is not None
        await t.press("page_down")
        assert board.panel.id == "kl"
        await t.press("page_up")
        assert board.panel.id == "loss"
        await t.press("open", "metrics")
        assert not board.zoomed
        headings = [panel for panel in board.panels if isinstance(panel, Heading)]
        assert len(headings) >= 2
        await t.press("order")
        names = [panel.title for panel in board.panels if not isinstance(panel, Heading)]
        assert t.app.state.order == "name"
        assert names == sorted(names)
        folded = headings[0].folded
        await t.press("fold_all")
        assert {panel.folded for panel in board.panels if isinstance(panel, Heading)} == {not folded}
        await t.press("fold")
        assert {panel.folded for panel in board.panels if isinstance(panel, Heading)} == {True, False}
        await t.press("fold_all")
        assert board.page == 0
        await t.press("metrics", "find")
        await t.type("m0")
        assert {panel.title for panel in board.panels} == {f"{'ab'[number % 2]}/m{number:02}" for number in range(10)}
        await t.press("page_down")
        assert board.page == 1
        await t.press("page_up")
        assert board.page == 0
        await t.press("runs", "runs", "scatter", "scatter", "back", "ranks")
        await until(t.app, t.pilot, lambda s: "No logs of several ranks" in s)
        await t.press("ranks")
        for id, kind in (
            ("metric_list", MetricBrowser),
            ("log", LogScreen),
            ("config", HealthScreen),
            ("texts", TextsScreen),
            ("media", MediaScreen),
        ):
            await t.press(id)
            await t.on(kind)
            await t.press(id)
            assert len(t.app.screen_stack) == 1


async def test_charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    async with tour(tmp_path, (120, 40), 1, "Charts") as t:
        written: list[str] = []
        await t.press("closer")
        assert t.app.state.chart_size == 1
        await t.press("wider", "open")
        assert t.app.state.chart_size == 0
        whole, height = t.view.x, t.view.y.high - t.view.y.low
        await t.press("closer", "closer")
        near = t.view.x
        assert near.high - near.low == pytest.approx((whole.high - whole.low) / 4)
        assert near.high >= LAST
        await t.press("left")
        # A window that follows ends a little after the last point; once moved, it ends at the last point.
        assert t.view.x.high == pytest.approx(LAST - 0.25 * (near.high - near.low))
        await t.press("first")
        assert t.view.x.low == 0
        await t.press("last")
        assert t.view.x == near
        await t.press("wider")
        assert t.view.x.high - t.view.x.low == pytest.approx((whole.high - whole.low) / 2)
        await t.press("taller")
        assert t.view.y.high - t.view.y.low == pytest.approx(height / 2, rel=0.5)
        narrow = t.view.y
        await t.press("flatter")
        assert t.view.y.high - t.view.y.low == pytest.approx(2 * (narrow.high - narrow.low))
        assert t.view.y.high + t.view.y.low == pytest.approx(narrow.high + narrow.low)
        await t.press("closer", "closer")  # until there are more cells than points
        near = t.view.x
        await t.press("cursor")
        assert (t.app.state.options.cursor, t.reading()) == (LAST, pytest.approx(reward(LAST)))
        await t.press("cursor_left", "cursor_left")
        assert (t.app.state.options.cursor, t.reading()) == (LAST - 2, pytest.approx(reward(LAST - 2)))
        await t.press("cursor_right")
        assert (t.app.state.options.cursor, t.reading()) == (LAST - 1, pytest.approx(reward(LAST - 1)))
        steps = [LAST - 1]
        for id in ("cursor_far_left", "cursor_far_left", "cursor_far_right"):
            await t.press(id)
            step = t.app.state.options.cursor
            assert step is not None
            assert t.reading() == pytest.approx(reward(step))
            steps.append(step)
        far = 10 * (near.high - near.low) / (120 - 8)
        assert [a - b for a, b in pairwise(steps)] == pytest.approx([far, far, -far], abs=1)
        await t.press("reset")
        assert (t.view.x, t.app.state.options.cursor) == (whole, None)
        await t.press("go_to")
        await t.type("150-200")
        assert (t.view.x.low, t.view.x.high) == (150, 200)
        await t.press("go_to")
        await t.type("160")
        assert (t.app.state.options.cursor, t.reading()) == (160, pytest.approx(reward(160)))
        await t.press("go_to")
        await t.type("5000-6000")
        assert f"The run has steps 0 to {LAST}" in text(t.app)
        await t.press("smoother", "y_scale", "reset")
        assert (t.app.state.options, t.view.x) == (ChartOptions(), whole)
        await t.press("axis_metric")
        assert (await t.on(MetricBrowser)).table.fixed == "reward"
        await t.press("back")
        await t.press("axis")
        run = t.app.run_shown
        assert run is not None
        assert t.app.options.axis_of(run) == run.axes()[1]
        assert t.view.x.high != whole.high
        for _ in run.axes()[1:]:
            await t.press("axis")
        assert t.view.x == whole
        await t.press("y_scale")
        assert t.view.y.scale == "log"
        await t.press("y_scale", "y_scale", "y_range")
        assert t.app.state.options.y_range == "robust"
        await t.press("smoother")
        assert [part.behind for part in t.view.lines] == [True, False]
        await t.press("rougher")
        assert [part.behind for part in t.view.lines] == [False]

        monkeypatch.setattr(t.app._driver, "write", written.append)
        await t.press("copy")
        assert copied("".join(written)) == repr(reward(LAST))
        written.clear()
        await t.press("copy_all")
        table = [pair.split("\t") for pair in copied("".join(written)).splitlines()]
        assert table == [["step", "reward"], *([str(step), repr(reward(step))] for step in range(LAST + 1))]
        await t.press("next_alert", "previous_alert")
        await t.press("changed")
        assert (await t.on(MetricBrowser)).table.items == []
        assert "No metric differs clearly at" in text(t.app)


async def test_runs(tmp_path: Path) -> None:
    async with tour(tmp_path, (120, 40), 3, "Runs") as t:
        names = [run.name for run in t.app.snapshot.runs]

        def at() -> int:
            assert t.app.run_shown is not None
            return names.index(t.app.run_shown.name)

        await t.press("hparams")
        await until(t.app, t.pilot, lambda s: "1 setting differs, 3 equal" in s)
        await t.press("hparams", "runs")
        begun = at()
        await t.press("next_run")
        assert at() == (begun + 1) % 3
        await t.press("previous_run", "previous_run")
        assert at() == (begun - 1) % 3
        await t.press("next_run", "seeds")
        assert [len(over.runs) for over in t.app.options.overlay] == [3]
        await t.press("seeds", "runs")
        table = (await t.on(RunListScreen)).table
        await t.pilot.press("home")
        await t.press("mark", "down", "mark", "down", "mark", "runs")
        assert len(table.runs) == 3
        assert [len(over.runs) for over in t.app.options.overlay] == [1, 1, 1]
        await t.press("over")
        assert not t.app.options.overlay
        await t.press("run_note")
        await t.type("good #x")
        await until(t.app, t.pilot, lambda s: ": good #x" in s)
        t.app.action_do("run_own_name")  # the palette has it
        t.done.add("run_own_name")
        await t.type("mine")
        await until(t.app, t.pilot, lambda s: "mine: good #x" in s)
        t.app.state.options = ChartOptions(cursor=10)
        await t.press("run_note")
        await t.type("lr lowered")
        await until(t.app, t.pilot, lambda s: "step 10: lr lowered" in s and "╎" in s)
        await t.pilot.press("C")
        await until(t.app, t.pilot, lambda s: "notes at steps" in s and "1  step 10" in s and "lr lowered" in s)
        await t.pilot.press("C", "e", *["backspace"] * 20, "enter")
        await until(t.app, t.pilot, lambda s: "step 10: no note" in s and "╎" not in s)
        await t.press("over", "base")
        shown = t.app.run_shown
        assert shown is not None
        assert t.app.options.base is shown
        await t.press("compare")
        screen = await t.on(RunListScreen)
        await until(t.app, t.pilot, lambda s: "3 runs compared" in s)
        said = screen.document.text
        assert all(f"seed{number:02}" in said or f"{number:02}" in said for number in range(3))


async def test_the_list_of_runs(tmp_path: Path) -> None:
    async with tour(tmp_path, (100, 10), RUNS, "runs", enter="r", own="batch") as t:
        screen = await t.on(RunListScreen)
        table, names = screen.table, [f"seed{number:02}" for number in range(RUNS)]

        def listed() -> list[str]:
            return [run.name.rpartition("/")[2] for run in table.runs]

        def selected() -> str:
            assert table.run_selected is not None
            return table.run_selected.name.rpartition("/")[2]

        assert listed() == names
        sorts = screen.sorts
        assert sorts[-1] == "urgent"
        await t.press("last")
        assert selected() == names[-1]
        await t.press("up")
        assert selected() == names[-2]
        await t.press("page_up")
        assert selected() == names[-2 - table.room]
        await t.press("page_down", "down")
        assert selected() == names[-1]
        await t.press("first")
        assert selected() == names[0]
        await t.press("sort_back")
        assert t.app.state.runs.sort == sorts[-1]
        await t.press("sort", "sort")
        assert t.app.state.runs.sort == sorts[1]
        for _ in sorts[2 : sorts.index("step") + 1]:
            await t.press("sort")
        assert listed() == [names[0], *reversed(names[1:])], "the most steps first"
        await t.press("reverse")
        assert listed() == [*names[1:], names[0]]
        for _ in range(sorts.index("step")):
            await t.press("sort_back")
        await t.press("run_metric")
        await t.type("loss")
        assert (t.app.state.runs.metric, t.app.state.runs.sort) == ("loss", "metric")
        await t.press("run_metric")
        await t.type("")
        assert (t.app.state.runs.metric, t.app.state.runs.sort) == ("", "found")
        await t.press("first", "mark", "down")
        assert (t.app.state.runs.marked, selected()) == ((table.runs[0].path,), names[1])
        await t.press("run_mark_all")
        assert t.app.state.runs.marked == ()
        await t.press("run_mark_all")
        assert t.app.state.runs.marked == tuple(run.path for run in table.runs)
        await t.press("copy")
        await until(t.app, t.pilot, lambda s: "Copied the path of the run" in s)
        await t.press("pin")
        assert listed()[:2] == [names[1], names[0]]
        await t.press("pin", "run_hide")
        assert names[1] not in listed()
        await t.press("order")
        assert t.app.state.runs.group == "batch", "each run has a directory of its own"
        await t.press("first", "fold")
        assert len(listed()) == RUNS - 2
        await t.press("fold_all", "fold_all", "fold_all")
        assert len(listed()) == RUNS - 1
        while t.app.state.runs.group:
            await t.press("order")
        await t.press("run_show_hidden", "view", "y_range", "right", "left", "view", "view")
        await t.on(RunListScreen)
        assert listed() == names
        await t.press("find")
        await t.type("seed07")
        assert listed() == ["seed07"]
        await t.press("open")
        await until(t.app, t.pilot, lambda s: "step 26" in s)
        assert t.app.run_shown is not None
        assert t.app.run_shown.name.endswith("seed07")


async def test_the_list_of_metrics(tmp_path: Path) -> None:
    async with tour(tmp_path, (100, 12), 1, "metrics", enter="M") as t:
        screen = await t.on(MetricBrowser)
        table = screen.table
        names = list(table.items)
        assert {"reward", "loss", "kl", "a/m00", "b/m29"} <= set(names)
        await t.press("first")
        assert table.selected == names[0]
        await t.press("mark")
        assert (table.selected, table.marked) == (names[1], (names[0],))
        await t.press("up", "mark", "up")
        assert (table.selected, table.marked) == (names[0], ())
        await t.press("down", "page_down")
        assert table.selected == names[1 + table.room]
        await t.press("next")
        assert table.selected == names[1 + 2 * table.room]
        await t.press("page_up", "up")
        assert table.selected == names[table.room]
        await t.press("last")
        assert table.selected == names[-1]
        await t.press("changed")
        assert "No cursor: press c or :" in text(t.app)
        await t.press("sort_back")
        assert screen.order.by == "source"
        await t.press("sort", "sort", "sort")
        assert screen.order.by == "last"
        assert table.items[0] == "b/m29", "the highest value first"
        await t.press("reverse")
        assert table.items[-1] == "b/m29"
        await t.press("find")
        await t.type("m07")
        assert table.items == ["b/m07"]
        await t.press("copy")
        await t.press("open")
        await t.until(lambda: len(t.app.screen_stack) == 1 and t.app.board.zoomed)
        assert t.app.board.panel is not None
        assert t.app.board.panel.title == "b/m07"
        assert t.view.headline[0][0] == "7.500"


async def test_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    async with tour(tmp_path, (100, 14), 1, "log", enter="L") as t:
        screen = await t.on(LogScreen)

        def here(step: int) -> Callable[[], bool]:
            wanted = line(step).rstrip("\n")
            return lambda: screen.page.line is not None and screen.page.line.text.rstrip() == wanted.rstrip()

        room = 14 - 3
        await t.until(here(LAST))
        await t.press("up")
        await t.until(here(LAST - 1))
        await t.press("page_up")
        await t.until(lambda: screen.page.line is not None and not here(LAST - 1)())
        step = screen.page.step
        assert step is not None
        assert LAST - 1 - step == pytest.approx(room, abs=1)
        await t.press("scroll", "down")
        await t.until(here(LAST))
        await t.press("first")
        await t.until(here(0))
        await t.press("next_alert")
        await t.until(here(100))
        await t.press("next_alert")
        await t.until(here(200))
        await t.press("previous_alert")
        await t.until(here(100))
        await t.press("log_warning")
        await t.until(here(120))
        await t.press("log_warning")
        await t.until(here(160))
        await t.press("log_warning_back")
        await t.until(here(120))
        await t.press("first", "find")
        await t.type("end15")
        await t.until(here(15))
        await t.press("next")
        await t.until(here(150))
        await t.press("next")
        await t.until(here(151))
        await t.press("previous")
        await t.until(here(150))
        written: list[str] = []
        monkeypatch.setattr(t.app._driver, "write", written.append)
        await t.press("copy")
        assert copied("".join(written)).rstrip() == line(150).rstrip()
        await t.press("right", "right")
        right = screen.shift_by
        await t.press("left")
        assert 2 * screen.shift_by == right > 0
        await t.press("last")
        await t.until(lambda: here(LAST)() and screen.page.following)
        await t.press("tab")
        await t.until(lambda: screen.path.endswith("worker.log") and len(screen.page.lines) == 1)
        await t.press("tab_back")
        await t.until(here(LAST))
        await t.press("open")
        await t.until(lambda: t.app.state.options.cursor == LAST)
        assert t.reading() == pytest.approx(reward(LAST), rel=1e-8)


async def test_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    async with tour(tmp_path, (80, 6), 1, enter="C") as t:
        screen = await t.on(HealthScreen)
        table = screen.table
        await t.until(lambda: table.count >= 5)

        def at() -> int:
            return table.cursor

        await t.press("last")
        last = at()
        assert last == table.count - 1
        await t.press("up")
        assert at() == last - 1
        await t.press("first", "down")
        assert at() == 1
        await t.press("page_down")
        page = at() - 1
        assert page > 1
        await t.press("page_up")
        assert at() == 1
        await t.press("find")
        await t.type("clip")
        await t.press("last")
        assert screen.setting is not None
        assert (screen.setting.path[-1], screen.setting.value) == ("clip", "0.2")
        written: list[str] = []
        monkeypatch.setattr(t.app._driver, "write", written.append)
        await t.press("copy")
        assert float(copied("".join(written))) == 0.2
        await t.press("back")
        while screen.setting is None or screen.setting.path[-1] != "algorithm":
            await t.press("down" if at() < last else "first")
        await t.press("open")
        assert not any(row.key[-1] == "clip" for row in table.items)
        await t.press("open")
        assert any(row.key[-1] == "clip" for row in table.items)


async def test_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with tour(tmp_path, (80, 24), 1, "texts") as t:
        for step in (100, 200):
            write_step(tmp_path / "sweep" / "seed00", step)
        await t.pilot.press("T")
        screen = await t.on(TextsScreen)
        await until(t.app, t.pilot, lambda s: "step 200: is it 0" in s)
        await t.press("previous")
        await until(t.app, t.pilot, lambda s: "step 100: is it 0" in s)
        await t.press("left")
        await until(t.app, t.pilot, lambda s: "No texts before this step" in s)
        await t.press("right")
        await until(t.app, t.pilot, lambda s: "step 200: is it 0" in s)
        await t.press("tab")
        await t.on(MediaScreen)
        await t.press("tab_back")
        screen = await t.on(TextsScreen)
        await until(t.app, t.pilot, lambda s: "step 200: is it 0" in s)
        await t.press("next", "down", "next_run", "up", "previous_run", "last")
        assert screen.table.cursor == len(screen.choice.items) - 1
        await t.press("first")
        assert screen.table.cursor == 0
        await t.press("sort", "sort_back")
        assert screen.choice.sort == "worst"
        await t.press("text_filter")
        assert screen.choice.filter == "zero reward"
        while screen.choice.filter != "all":
            await t.press("text_filter")
        await t.press("view", "open")
        assert screen.choice.only
        await t.press("back", "view", "open")
        assert screen.zoomed
        await t.press("page_down", "page_up", "last")
        await t.until(lambda: screen.pane.top == screen.pane.last)
        await t.press("fold")
        await until(t.app, t.pilot, lambda s: "Nothing is folded" in s)
        await t.press("text_raw")
        assert screen.raw
        written: list[str] = []
        t.app.write = written.append  # type: ignore[method-assign]
        await t.press("copy")
        assert "says" in copied(written[-1])
        await t.press("copy_all")
        assert copied(written[-1]).startswith("### step 200, reward ")
        await t.press("text_raw", "open", "mark")
        await t.until(lambda: t.app.state.marked_text is not None)
        await t.press("mark", "compare")
        await until(t.app, t.pilot, lambda s: "[-" in s and "{+" in s)
        await t.press("compare", "text_split")
        await until(t.app, t.pilot, lambda s: "only texts of the training" in s)
        await t.press("find")
        await t.type("says")
        await until(t.app, t.pilot, lambda s: "15 of 16 texts" in s)
        await t.press("export")
        await until(t.app, t.pilot, lambda s: "Saved 15 texts" in s)
        [file] = tmp_path.glob("tuimon-*-texts.jsonl")
        assert len(file.read_text().splitlines()) == 15
        await t.press("find")
        await t.type("nothing like this")
        await until(t.app, t.pilot, lambda s: "0 of 16 texts" in s)
        step = screen.step
        await t.press("cursor")
        assert t.app.state.options.cursor == step


async def test_scatter(tmp_path: Path) -> None:
    async with tour(tmp_path, (120, 40), 1) as t:
        await t.press("scatter")
        screen = await t.on(MetricBrowser)
        table = screen.table
        fixed, names = table.fixed, table.items
        assert fixed not in names
        assert len(names) > 2
        assert f"{fixed} against {names[0]}" in text(t.app)
        await t.press("axis_metric")
        assert f"{names[0]} against {fixed}" in text(t.app)
        await t.press("axis_metric", "down", "down", "up")
        assert table.selected == names[1]
        await t.press("last")
        assert table.selected == names[-1]
        assert table.room < len(names), "most of the screen is the plot"
        await t.press("first", "page_down", "page_up")
        assert table.selected == names[0]
        await t.press("scatter")
        assert fixed in table.items, "again: without the plot"
        assert " against " not in text(t.app)


async def test_media(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with tour(tmp_path, (80, 24), 1, "media") as t:
        write_run(tmp_path / "sweep" / "seed00")
        may_end = threading.Event()

        def read_slowly(*arguments: Any) -> Found:
            found = read_media(*arguments)
            may_end.wait(60)
            return found

        monkeypatch.setattr("tuimon.media.library.read_media", read_slowly)
        await t.press("media")
        screen = await t.on(MediaScreen)
        shown = await until(t.app, t.pilot, lambda s: "weights" in s)
        await t.press("down")
        may_end.set()
        assert re.search(r" reading \d+ %  8 tags", shown)
        assert screen.table.cursor == 1
        await until(t.app, t.pilot, lambda s: " reading" not in s)
        assert screen.table.cursor == 1
        await t.press("up")
        shown = await until(t.app, t.pilot, lambda s: "heat map" in s and "weights" in s)
        assert "8 tags" in shown
        assert "step 4" in shown
        await t.press("left", "left", "right", "mark")
        await until(t.app, t.pilot, lambda s: "Compared with step 3" in s)
        await t.press("view")
        await until(t.app, t.pilot, lambda s: "two steps" in s)
        await t.press("right")
        await until(t.app, t.pilot, lambda s: "step 3" in s and "step 4" in s)
        await t.press("down", "up")
        assert screen.table.cursor == 0
        await t.pilot._post_mouse_events([MouseScrollDown], screen.grid, offset=(2, 1))
        assert screen.table.cursor == 3
        await t.press("page_down")
        assert screen.table.cursor == 7
        await t.press("page_up", "last")
        assert screen.table.cursor == 7
        await t.press("first", "export")
        shown = await until(t.app, t.pilot, lambda s: "Saved tuimon-" in s)
        (saved,) = tmp_path.glob("tuimon-*-grads-step-4.csv")
        assert saved.name in shown
        await t.press("find")
        await t.type("note")
        await until(t.app, t.pilot, lambda s: "it is step 4" in s and "1 tag " in s)
        newer = tmp_path / "sweep" / "seed00" / "events.out.tfevents.2.host.1.0"
        newer.write_bytes(event_points.file_of(event_points.event(5, event_points.text("note", "it is step 5"))))
        await until(t.app, t.pilot, lambda s: "it is step 5" in s)
        await t.pilot.press("escape")
        await t.press("tab")
        await t.on(TextsScreen)
        await t.press("tab_back")
        await t.on(MediaScreen)
        await t.press("media")
        assert len(t.app.screen_stack) == 1


async def test_small_multiples(tmp_path: Path) -> None:
    async with tour(tmp_path, (90, 24), RUNS, enter="r") as t:
        await t.press("first", "view")
        screen = await t.on(RunListScreen)
        grid = screen.charts
        await t.until(lambda: grid.size.height > 10)
        assert (grid.across, grid.lines) == (3, 3)
        shown = await until(t.app, t.pilot, lambda s: "12 runs  same limits  page 1/2" in s)
        assert shown.splitlines()[0].startswith(" reward")
        assert [f"seed{number:02}" in shown for number in range(RUNS)] == [number < 9 for number in range(RUNS)]
        for last in (LAST, 20):
            assert f"{level(np.array([reward(step) for step in range(last + 1)])).value:.4f}"[:5] in shown

        def selected() -> str:
            assert grid.selected is not None
            return grid.selected.name.rpartition("/")[2]

        await t.press("right", "down")
        assert selected() == "seed04"
        assert "▌ seed04" in text(t.app)
        await t.press("left", "up")
        assert selected() == "seed00"
        await t.press("page_down")
        assert selected() == "seed09"
        await until(t.app, t.pilot, lambda s: "page 2/2" in s and "seed11" in s and "seed00" not in s)
        await t.press("page_up", "last")
        assert selected() == f"seed{RUNS - 1:02}"
        await t.press("first", "y_range")
        await until(t.app, t.pilot, lambda s: "own limits" in s)
        await t.press("sort")
        assert grid.metric != "reward"
        await t.press("sort_back", "find")
        await t.type("m07")
        await until(t.app, t.pilot, lambda s: s.splitlines()[0].startswith(" b/m07") and "7.500" in s)
        await t.pilot.press("right")
        await t.press("open")
        assert t.app.run_shown is not None
        assert t.app.run_shown.name.endswith("seed01")
        assert len(t.app.screen_stack) == 1, "the run list is closed, too"


async def test_settings_are_columns_of_the_run_list(tmp_path: Path) -> None:
    async with tour(tmp_path, (80, 24), 5) as t:
        await t.press("hparams")
        screen = await t.on(RunListScreen)
        table = screen.table
        shown = await until(t.app, t.pilot, lambda s: "1 setting differs, 3 equal" in s)
        assert re.search(r"run +reward +loss +seed", shown)

        def seeds() -> list[int]:
            return [int(run.name[-2:]) for run in table.runs]

        while t.app.state.runs.sort != "setting.seed":
            await t.press("sort")
        assert seeds() == [0, 1, 2, 3, 4]
        await t.press("reverse")
        assert seeds() == [4, 3, 2, 1, 0]
        await until(t.app, t.pilot, lambda s: "seed▾" in s)
        await t.press("run_metric")
        await t.type("best(reward")
        await until(t.app, t.pilot, lambda s: "by best(reward)" in s)
        assert (t.app.state.runs.metric, t.app.state.runs.sort) == ("best(reward)", "metric")
        await t.press("view")
        assert screen.view == "grid"
        await t.press("view")
        await until(t.app, t.pilot, lambda s: any(0x2800 < ord(glyph) < 0x2900 for glyph in s))
        assert {"best(reward)", "seed"} <= set(text(t.app).splitlines()[1].split())
        assert table.heads > 5
        await t.press("view")
        await t.until(lambda: table.heads == 1)
        assert not t.app.state.runs.all_settings


def test_every_screen_can_be_left_and_has_help() -> None:
    views = {where for action in all_actions() for where in action.where}
    for name in ("quit", "help", "back", "screenshot"):
        action = next(action for action in all_actions() if action.id == name)
        assert set(action.where) == views, name
