"""Test the run list by keys and mouse against the written values."""

from __future__ import annotations

import time
from itertools import takewhile
from pathlib import Path

import pytest
from support.dashboard import opened, text, until
from support.grid import Grid
from support.programs import write
from support.terminal import TUIMON, Terminal

from tuimon.config import Settings
from tuimon.model.events import Progress, RunFound, StreamFound, StreamStatus
from tuimon.monitor.process import ReaderProcess
from tuimon.store import Store
from tuimon.tui.app import TuimonApp
from tuimon.tui.opening import is_list_expected, open_run_list
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.screens.run_list import RunListScreen

STEPS = {"a_lr1": 30, "b_lr2": 20, "c_lr3": 40}
"""Run -> points; its reward at step s is s times its learning rate."""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for number, (name, steps) in enumerate(STEPS.items(), 1):
        write(tmp_path / "many", name, steps, number / 1000)
    return tmp_path / "many"


def order(app: TuimonApp) -> list[str]:
    """Return the names of the runs in the order of the screen; a blank line is above the chart below them."""
    rows = [line for line in takewhile(str.strip, text(app).splitlines()[2:]) if not line.startswith(" i ")]
    return [word for line in rows for word in line.split() if word in STEPS]


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
            assert app.run_shown.name == name


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
