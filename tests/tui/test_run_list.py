"""Test the run list by keys and mouse against the written values."""

from __future__ import annotations

import os
import time
from collections import Counter
from itertools import takewhile
from pathlib import Path

import pytest
from support.dashboard import opened, text, until
from support.grid import Grid
from support.programs import write
from support.terminal import TUIMON, Terminal
from textual.pilot import Pilot

from tuimon.config import Settings
from tuimon.model.events import Progress, RunFound, StreamFound, StreamStatus
from tuimon.monitor.process import ReaderProcess
from tuimon.panels.lists.run_groups import RunGroup
from tuimon.run_notes import RunNote, note_of
from tuimon.store import Store
from tuimon.tui.actions import all_actions
from tuimon.tui.app import TuimonApp
from tuimon.tui.opening import is_list_expected, open_run_list
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.screens.media_view import MediaScreen
from tuimon.tui.screens.metric_browser import MetricBrowser
from tuimon.tui.screens.run_list import RunListScreen

STEPS = {"a_lr1": 30, "b_lr2": 20, "c_lr3": 40}
"""Run -> points; its reward at step s is s times its learning rate."""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for number, (name, steps) in enumerate(STEPS.items(), 1):
        write(tmp_path / "many", name, steps, number / 1000)
    return tmp_path / "many"


async def listed(app: TuimonApp, pilot: Pilot[None]) -> RunListScreen:
    """Open the list once all three runs have been found."""
    await until(app, pilot, lambda s: "of 3" in s and app.snapshot.progress.caught_up)
    await pilot.press("r")
    await until(app, pilot, lambda s: "3 runs" in s and all(name in s for name in STEPS))
    assert isinstance(app.screen, RunListScreen)
    return app.screen


def order(app: TuimonApp) -> list[str]:
    """Return the names of the runs in the order of the screen; a blank line is above the chart below them."""
    rows = [line for line in takewhile(str.strip, text(app).splitlines()[2:]) if not line.startswith(" i ")]
    return [word for line in rows for word in line.split() if word in STEPS]


def row_of(app: TuimonApp, name: str) -> str:
    return next(line for line in text(app).splitlines() if name in line)


def test_keys_are_unique_on_each_screen() -> None:
    taken = Counter(
        (where, key) for action in all_actions() for where in action.where for key in action.keys.split(",") if key
    )
    assert [pair for pair, count in taken.items() if count > 1] == []


async def test_row_shows_state_step_reward_and_loss_as_logged(runs: Path) -> None:
    with (runs / "b_lr2" / "metrics.jsonl").open("a"):  # its writer is alive
        await assert_row(runs)


async def assert_row(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        row = row_of(app, "b_lr2")
        assert "19/40" in row
        assert "0.0340" in row, "17 × 0.002, the mean of steps 15 to 19"
        assert "0.0559" in row, "mean of 1 / 16 to 1 / 20"
        assert "running" in row
        assert "⠉" in row or "⠒" in row, "the curve"
        assert "39/40" in row_of(app, "c_lr3")


async def test_rows_grow_while_the_list_is_open(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        with (runs / "a_lr1" / "metrics.jsonl").open("a") as file:
            file.write('{"step": 35, "reward": 0.5, "loss": 0.25}\n')
        await until(app, pilot, lambda s: "0.1220" in s and "35/40" in s)
        write(runs, "d_new", 5, 0.01)
        await until(app, pilot, lambda s: "4 runs" in s and "d_new" in s)


async def test_enter_shows_the_selected_run(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        screen = await listed(app, pilot)
        await pilot.press("g", "down", "j")
        assert screen.run_selected is not None
        assert screen.run_selected.name == "c_lr3"
        await pilot.press("enter")
        await until(app, pilot, lambda s: "c_lr3" in s and "step 39 of 40" in s)
        assert app.run_shown is not None
        assert app.run_shown.name == "c_lr3"
        await pilot.press("r")
        await until(app, pilot, lambda s: "▌" in s and "c_lr3" in row_of(app, "▌"))
        await pilot.press("k", "escape")
        await until(app, pilot, lambda s: "run 3 of 3" in s)
        assert app.run_shown.name == "c_lr3", "Esc leaves the list and chooses nothing"


async def test_a_list_that_has_opened_by_itself_is_left_for_the_run_under_the_bar(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await until(app, pilot, lambda s: "of 3" in s and app.snapshot.progress.caught_up)
        for keys, shown in ((("r",), 0), (("down", "escape"), 1), (("exclamation_mark", "enter"), 0)):
            app.list_runs, app.state.runs = True, RunChoice()
            app.show_run(next(run for run in app.snapshot.runs if run.name == "c_lr3"))
            open_run_list(app)
            await until(app, pilot, lambda s: "3 runs" in s and all(name in s for name in STEPS))
            name = order(app)[shown]
            assert name != "c_lr3"
            await pilot.press(*keys)
            await until(app, pilot, lambda s, name=name: "of 3" in s and name in s)  # type: ignore[misc]
            assert app.run_shown is not None
            assert app.run_shown.name == name


async def test_sorted_by_any_column_both_ways(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        expected = {
            "found": ["a_lr1", "b_lr2", "c_lr3"],
            "name": ["a_lr1", "b_lr2", "c_lr3"],
            "step": ["c_lr3", "a_lr1", "b_lr2"],
            "reward": sorted(STEPS, key=lambda name: -(STEPS[name] - 1) * int(name[-1])),
        }
        seen = set()
        for _ in range(12):
            sort = app.state.runs.sort
            if sort in expected:
                assert order(app) == expected[sort], sort
                await pilot.press("exclamation_mark")
                assert order(app) == expected[sort][::-1], f"{sort} reversed"
                seen.add(sort)
            await pilot.press(">")
        assert seen == set(expected)
        app.state.runs = type(app.state.runs)(sort="step")
        await pilot.press("escape", "right_square_bracket")
        names = []
        for _ in range(3):
            assert app.run_shown is not None
            names.append(app.run_shown.name)
            await pilot.press("right_square_bracket")
        first = names.index("c_lr3")
        assert names[first:] + names[:first] == ["c_lr3", "a_lr1", "b_lr2"], "[ and ] go through the list in its order"


async def test_filtered_as_it_is_typed(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        await pilot.press("slash", *"lr>1e")
        await until(app, pilot, lambda s: "lr> needs a number" in s and order(app) == list(STEPS))
        await pilot.press(*"-3 step<30")
        await until(app, pilot, lambda s: order(app) == ["b_lr2"] and "3 runs, 1 listed  /lr>1e-3 step<30  1 " in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "/lr>1e-3 step<30" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "run 1 of 1 listed" in s)
        await pilot.press("right_square_bracket")
        await until(app, pilot, lambda s: "no other run in the list" in s)
        await pilot.press("r", "p")
        await until(app, pilot, lambda s: "paused" in s.splitlines()[0])
        await pilot.press("p", "escape")
        await until(app, pilot, lambda s: order(app) == list(STEPS))
        assert isinstance(app.screen, RunListScreen), "the first Esc removes the filter, the second closes the list"
        await pilot.press("escape")
        assert not isinstance(app.screen, RunListScreen)


async def test_notes_are_written_listed_and_found(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        await pilot.press("g", "down", "e", *"too high #todo", "enter")
        await until(app, pilot, lambda s: "b_lr2: too high #todo" in s and "too high #todo" in row_of(app, "19/40"))
        await pilot.press("slash", *"tag:todo")
        await until(app, pilot, lambda s: order(app) == ["b_lr2"])
        await pilot.press("escape", "g", "slash", *"tag:todo")
        await until(app, pilot, lambda s: order(app) == ["b_lr2"])
        await pilot.press("enter", "escape")
        await until(app, pilot, lambda s: order(app) == list(STEPS))
        assert app.run_selected is not None
        assert app.run_selected.name == "b_lr2", "the run that the filter has left stays selected"
        await pilot.press("slash", *"tag:nosuch", "enter")
        await until(app, pilot, lambda s: order(app) == [])
        await pilot.press("escape")
        await until(app, pilot, lambda s: order(app) == list(STEPS))
        assert app.run_selected is not None
        assert app.run_selected.name == "b_lr2", "the run before a filter without a match stays selected"
        await pilot.press("e", *" x", "escape")
        await until(app, pilot, lambda s: order(app) == list(STEPS))
        assert note_of(str(runs / "b_lr2")) == RunNote("", "too high", ("todo",)), "Esc leaves the note as it was"
        await pilot.press("enter")
        await until(app, pilot, lambda s: "b_lr2" in s and "step 19 of 40" in s)
        await pilot.press("e", *["backspace"] * 14, *"good", "enter")
        await until(app, pilot, lambda s: "b_lr2: good" in s)
    assert note_of(str(runs / "b_lr2")) == RunNote("", "good")


async def test_hidden_and_pinned(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        await pilot.press("G", "asterisk")
        assert order(app) == ["c_lr3", "a_lr1", "b_lr2"]
        await pilot.press("U")
        await until(app, pilot, lambda s: "No run is hidden" in s)
        await pilot.press("G", "H")
        await until(app, pilot, lambda s: order(app) == ["c_lr3", "a_lr1"] and "1 hidden" in s)
        assert "b_lr2 is hidden; U lists it, and H on it shows it again" in text(app)
        await pilot.press("U")
        await until(app, pilot, lambda s: order(app) == ["c_lr3", "a_lr1", "b_lr2"])
        await pilot.press("G", "H")
        await until(app, pilot, lambda s: "b_lr2 is shown again" in s)
        await pilot.press("U")
        await until(app, pilot, lambda s: "1 hidden" not in s)


async def test_a_base_and_the_distance_to_it_at_the_same_step(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        await pilot.press("g", "down", "B")
        await until(app, pilot, lambda s: "Δ base" in s)
        assert "base" in row_of(app, "b_lr2")
        assert f"+{17 * 0.003 - 17 * 0.002:.4f}" in row_of(app, "c_lr3"), "levels up to step 19, the last of both"
        assert f"{17 * 0.001 - 17 * 0.002:.4f}" in row_of(app, "a_lr1")
        await pilot.press("B")
        await until(app, pilot, lambda s: "Δ base" not in s)


async def test_mouse_sorts_selects_marks_and_opens(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        screen = await listed(app, pilot)
        head = text(app).splitlines()[1]
        await pilot.click(screen.grid, offset=(head.index("step"), 0))
        assert order(app) == ["c_lr3", "a_lr1", "b_lr2"]
        await pilot.click(screen.grid, offset=(head.index("step"), 0))
        assert order(app) == ["b_lr2", "a_lr1", "c_lr3"]
        await pilot.click(screen.grid, offset=(20, 3))
        assert screen.run_selected is not None
        assert screen.run_selected.name == "c_lr3"
        await pilot.click(screen.grid, offset=(2, 2))
        assert [os.path.basename(path) for path in app.state.runs.marked] == ["a_lr1"]
        await pilot.click(screen.grid, offset=(20, 1), times=2)
        await until(
            app, pilot, lambda s: app.run_shown is not None and app.run_shown.name == "b_lr2" and "run 1 of" in s
        )


async def test_any_size(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        for size in ((40, 12), (80, 24), (200, 50), (12, 4), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            assert len(text(app).splitlines()) <= size[1]
            if size[0] >= 40:
                assert order(app) == list(STEPS), size
                assert "0.0340" in row_of(app, "b_lr2"), f"the reward stays when columns go: {size}"


def test_a_directory_of_several_runs_opens_the_list_with_alerts_first(runs: Path, tmp_path: Path) -> None:
    with (runs / "b_lr2" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 20, "reward": NaN, "loss": NaN}\n')
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    with Terminal([*TUIMON, str(runs)], size=(80, 24), environment=state) as terminal:
        terminal.until(lambda out: b"with alerts" in out and b"alerts first" in out)
        terminal.type("\x1b[H\r")  # Home, Enter
        terminal.until(lambda out: b"run 1 of 3" in out)
    with Terminal([*TUIMON, str(runs / "a_lr1")], size=(80, 24), environment=state) as terminal:
        terminal.until(lambda out: b"reward" in out)
        assert b"alerts first" not in bytes(terminal.output)


def test_bar_stays_on_the_first_row_while_runs_arrive(runs: Path, tmp_path: Path) -> None:
    grid = Grid(80, 24)
    fed = 0

    def selected() -> str:
        nonlocal fed
        grid.feed(bytes(terminal.output[fed:]))
        fed = len(terminal.output)
        return next((line for line in str(grid).splitlines() if line.startswith("▌")), "")

    with Terminal([*TUIMON, str(runs)], (80, 24), {"XDG_STATE_HOME": str(tmp_path / "state")}) as terminal:
        terminal.until(lambda _: "_lr" in selected() and "3 runs" in str(grid))
        (runs / "late").mkdir()
        (runs / "late" / "metrics.jsonl").write_text('{"step": 1, "loss": NaN}\n{"step": 2, "loss": NaN}\n')
        terminal.until(lambda _: "late" in selected() and "4 runs" in str(grid))
        terminal.type("\x1b[B")  # Down
        terminal.until(lambda _: "_lr" in selected())
        chosen = next(word for word in selected().split() if "_lr" in word)
        (runs / "later").mkdir()
        (runs / "later" / "metrics.jsonl").write_text('{"step": 1, "loss": NaN}\n{"step": 2, "loss": NaN}\n')
        terminal.until(lambda _: bool(selected()) and "5 runs" in str(grid))
        assert chosen in selected().split()


async def test_general_keys_work_in_the_list_and_the_dashboards_do_not(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        panels = app.state.all_metrics
        await pilot.press("x", "K")
        assert app.state.all_metrics == panels
        await pilot.press("question_mark")
        await until(app, pilot, lambda s: "Run list" in s or "Leave tuimon" in s)
        await pilot.press("escape", "t", "r")
        await until(app, pilot, lambda s: "of 3" in s)
        assert app.state.theme == "light"


async def test_keys_of_screens_work_on_other_screens_and_keep_the_selected_run(runs: Path) -> None:
    async with opened(runs, (120, 40)) as (app, pilot):
        await listed(app, pilot)
        await pilot.press("g", "j", "D")
        assert isinstance(app.screen, MediaScreen)
        assert app.run_shown is not None
        assert app.run_shown.name == "b_lr2", "the run that was selected in the list"
        await pilot.press("M")
        assert isinstance(app.screen, MetricBrowser)
        await pilot.press("r", "j", "ctrl+p")
        await pilot.pause()
        await pilot.press(*"range of steps")
        await until(app, pilot, lambda s: "dashboard: go to" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "steps: 150" in s)
        assert app.run_shown is not None
        assert app.run_shown.name == "c_lr3", "an action of the dashboard, on the run that was selected in the list"
        await pilot.press("escape", "r", "k")
        await pilot.press("v", "E")
        assert isinstance(app.screen, RunListScreen)
        assert app.state.runs.all_settings
        await pilot.press("slash", "M", "escape")
        assert isinstance(app.screen, RunListScreen), "M was typed"
        await pilot.press("E")
        assert not app.state.runs.all_settings
        assert len(app.screen_stack) == 2, "one screen replaces another"
        await pilot.press("r")
        await until(app, pilot, lambda s: "run 3 of 3" in s)
        assert len(app.screen_stack) == 1


async def test_chart_below_the_list_follows_the_runs(runs: Path) -> None:
    async with opened(runs, (120, 40)) as (app, pilot):
        await listed(app, pilot)
        await until(app, pilot, lambda s: "a_lr1 0.0270" in s and "c_lr3 0.1110" in s)
        with (runs / "a_lr1" / "metrics.jsonl").open("a") as file:
            file.write('{"step": 35, "reward": 0.5, "loss": 0.25}\n')
        await until(app, pilot, lambda s: "a_lr1 0.1220" in s)
        await pilot.press("slash", *"c_lr3", "enter")
        await until(app, pilot, lambda s: "1 listed" in s and "a_lr1" not in s)
        assert "└" not in text(app), "one run has no chart"


@pytest.mark.parametrize("width", [40, 80, 120, 200])
async def test_footer_has_whole_keys_and_the_way_back(runs: Path, width: int) -> None:
    async with opened(runs, (width, 24)) as (app, pilot):
        await listed(app, pilot)
        footer = text(app).splitlines()[-1]
        keys = [
            "q quit",
            "? keys",
            "r back",
            "⏎ show",
            "/ find",
            "space mark",
            "> sort",
            "m metric",
            "! reverse",
            "o group",
            "a alerts",
        ]
        keys += [
            "v view",
            "d compare",
            "y copy",
            "E settings",
            "* pin",
            "H hide",
            "C config",
            "O overlay",
            "u seeds",
            "B base",
        ]
        whole = [key for key in keys if f" {key} " in f"{footer} "]
        assert footer.split() == " ".join(whole).split()
        assert whole == keys[: len(whole)]
        assert len(whole) == {40: 5, 80: 8, 120: 13, 200: 21}[width]


async def test_hundreds_of_runs_are_listed_and_only_visible_rows_are_rendered(tmp_path: Path) -> None:
    count = 300
    tmp_path /= "sweep"
    for number in range(count):
        run = tmp_path / f"run{number:03}"
        run.mkdir(parents=True)
        (run / "metrics.jsonl").write_text(f'{{"step": 1, "reward": {number}}}\n{{"step": 2, "reward": {number}.5}}\n')
    async with opened(tmp_path, size=(120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "of 300" in s and app.snapshot.progress.caught_up, 60)
        await pilot.press("r")
        await pilot.press("g")
        await until(app, pilot, lambda s: "300 runs" in s and "run000" in s)
        screen = app.screen
        assert isinstance(screen, RunListScreen)
        assert len(screen.table.runs) == count
        assert 0 < len(screen.table._cache) <= 3 * screen.table.room, "only visible rows are rendered"
        await pilot.press("G")
        await until(app, pilot, lambda s: "run299" in s and "299.5" in s)
        await pilot.press("slash", *"reward>289")
        await until(app, pilot, lambda s: "11 listed" in s)
        assert {os.path.basename(run.name) for run in screen.table.runs} == {
            f"run{number:03}" for number in range(289, 300)
        }


def found(store: Store, run: int) -> None:
    store.apply(RunFound(run, f"run{run}", f"/logs/{run}"))
    store.apply(StreamFound(run, run, "events", f"/logs/{run}/events", "tensorboard", 40, "", 0))


def test_the_dashboard_is_not_drawn_before_the_run_list(tmp_path: Path) -> None:
    app = TuimonApp(ReaderProcess([str(tmp_path)]), Settings(theme="dark", symbols="braille"), list_runs=True)
    store = Store()

    def expected() -> bool:
        app.snapshot = store.snapshot()
        return is_list_expected(app)

    for run in range(2):
        assert not expected(), "one run has its dashboard at once"
        found(store, run)
    app.begun_at = time.monotonic() - 3600
    assert expected(), "however long the start takes"
    store.apply(StreamStatus(1, "current", "", 10, 10, time.time(), 0))
    assert not expected(), "it was read to its end and has no point"
    found(store, 2)
    assert expected()
    store.apply(Progress(10, 10, True))
    assert not expected(), "everything has been read"
    found(store, 3)
    app.list_runs = False
    assert not expected(), "the user has begun to type"


async def test_list_opens_over_the_dashboard_when_a_second_run_is_known(tmp_path: Path) -> None:
    write(tmp_path / "many", "a_lr1", 20, 0.001)
    async with opened(tmp_path / "many", (100, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "a_lr1" in s and app.snapshot.progress.caught_up)
        store = Store()
        found(store, 0)
        app.snapshot, app.list_runs = store.snapshot(), True
        open_run_list(app)
        assert not isinstance(app.screen, RunListScreen)
        assert app.list_runs, "the search has not been completed"
        found(store, 1)
        app.snapshot = store.snapshot()
        open_run_list(app)
        await pilot.pause()
        assert isinstance(app.screen, RunListScreen)


async def test_runs_are_grouped_by_directory_and_by_settings(tmp_path: Path) -> None:
    for number, folder in enumerate(("math", "math", "code"), 1):
        write(tmp_path / "many" / folder, f"run{number}", 20 + number, 0.001 * (number % 2 + 1))
    async with opened(tmp_path / "many", (100, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "of 3" in s and app.snapshot.progress.caught_up)
        await pilot.press("r")
        await until(app, pilot, lambda s: "3 runs" in s and "math/run1" in s)
        await pilot.press("o")
        await until(
            app, pilot, lambda s: "grouped by directory" in s and "▾ math  2 runs" in s and "▾ code  1 run" in s
        )
        screen = app.screen
        assert isinstance(screen, RunListScreen)
        assert [entry.title for entry in screen.table.entries if isinstance(entry, RunGroup)] == ["code", "math"]
        await pilot.press("home", "enter")
        await until(app, pilot, lambda s: "▸ code  1 run" in s and "code/run3" not in s)
        await pilot.press("down", "down", "f")
        await until(app, pilot, lambda s: "▸ math  2 runs" in s and s.count("math/run1") == 1)
        assert screen.run_selected is None
        assert screen.table.group_selected is not None
        await pilot.press("enter", "o")
        await until(app, pilot, lambda s: "grouped by optim.lr" in s)
        titles = [entry.title for entry in screen.table.entries if isinstance(entry, RunGroup)]
        assert sorted(titles) == ["optim.lr 0.001", "optim.lr 0.002"]
        await pilot.press("o")
        await until(app, pilot, lambda s: "grouped" not in s and "math/run1" in s)


async def test_the_key_of_groups_says_what_would_make_some(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "many" / name).mkdir(parents=True)
        (tmp_path / "many" / name / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n')
    async with opened(tmp_path / "many", (120, 24)) as (app, pilot):
        await until(app, pilot, lambda s: app.snapshot.progress.caught_up and len(app.snapshot.runs) == 2)
        await pilot.press("r")
        await until(app, pilot, lambda s: "2 runs" in s)
        await pilot.press("o")
        need = "directories of several runs or a setting with 2 to 24 values; u merges seeds (ppo_seed1)"
        await until(app, pilot, lambda s: f"No groups: they need {need}" in s)


async def test_marked_runs_are_overlaid_by_a_key_of_the_list(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        await pilot.press("O")
        await until(app, pilot, lambda s: "No run is marked; space marks the selected one" in s)
        await pilot.press("g", "down", "space", "down", "space", "O")
        await until(app, pilot, lambda s: "■ c_lr3" in s and "▲ b_lr2" in s and "2 marked runs are overlaid" in s)
        assert app.run_shown is not None
        assert app.run_shown.name in ("b_lr2", "c_lr3"), "a marked run"
        await pilot.press("O")
        await until(app, pilot, lambda s: "2 marked runs are no longer overlaid" in s and "▲ b_lr2" not in s)


async def test_any_metric_becomes_a_sorted_column(tmp_path: Path) -> None:
    for name, value in (("a_lr1", 0.3), ("b_lr2", 0.1), ("c_lr3", 0.2)):
        write(tmp_path / "many", name, 20, 0.001)
        with (tmp_path / "many" / name / "metrics.jsonl").open("a") as file:
            file.write(f'{{"step": 20, "{"val_loss" if value > 0.15 else "eval/loss"}": {value}}}\n')
    async with opened(tmp_path / "many", (110, 24)) as (app, pilot):
        screen = await listed(app, pilot)
        await pilot.press("m", *"val", "escape")
        assert app.state.runs.metric == ""
        await pilot.press("m", *"val loss", "enter")
        await until(app, pilot, lambda s: order(app) == ["b_lr2", "c_lr3", "a_lr1"])
        assert "val_loss▴" in text(app)
        assert "0.1000" in row_of(app, "b_lr2"), "spelled eval/loss there"
        await pilot.press("m", *"nosuch", "enter")
        await until(app, pilot, lambda s: "No metric of these runs matches nosuch" in s)
        await pilot.press("slash", *"val_los<1", "enter")
        await until(app, pilot, lambda s: "No setting or metric val_los; did you mean val_loss or eval/loss?" in s)
        await pilot.press("escape", "m", "enter")
        await until(app, pilot, lambda s: "val_loss" not in s)
        assert app.state.runs.sort == "found"
        seen = []
        for _ in range(10):
            await pilot.press(">")
            seen.append(app.state.runs.sort)
        assert set(seen) <= set(screen.sorts)
        assert {"base", "metric"}.isdisjoint(seen), "these columns are not displayed"


async def test_merged_seeds_are_seen_in_list_and_grid(tmp_path: Path) -> None:
    for seed in range(3):
        write(tmp_path / "many", f"ppo_seed{seed}", 10, 0.1 * (seed + 1), seed=seed, optim={})
    async with opened(tmp_path / "many", (100, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "of 3" in s and app.snapshot.progress.caught_up)
        await pilot.press("r", "u")
        await until(
            app, pilot, lambda s: "▸ ppo  3 runs  reward 1.700 ± 0.4907 SE, SD 0.850" in s and "ppo ×3 1.700" in s
        )
        await pilot.press("v")
        await until(app, pilot, lambda s: "seeds merged" in s and "ppo ×3 1.700" in s and "ppo_seed1" not in s)
        await pilot.press("u")
        await until(app, pilot, lambda s: "seeds merged" not in s and "ppo_seed1" in s)
        await pilot.press("v", "v")
        await until(app, pilot, lambda s: "▸" not in s and "ppo_seed0" in s and "ppo_seed1" in s)


async def test_space_marks_the_run_and_stays_on_it(runs: Path) -> None:
    async with opened(runs) as (app, pilot):
        await listed(app, pilot)
        await pilot.press("g", "space", "down", "space")
        await until(app, pilot, lambda s: "2 marked" in s)
        first, second = app.runs_listed()[:2]
        assert app.state.runs.marked == (first.path, second.path)
        await pilot.press("space")
        await until(app, pilot, lambda s: "1 marked" in s)
