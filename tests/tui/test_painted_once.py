"""Test that a key sends each changed cell once, and that no box is painted before it is drawn for its place."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.dashboard import opened, until
from support.grid import Grid
from support.terminal import TUIMON, Terminal
from textual.messages import Layout
from textual.screen import Screen

from tuimon.tui.box import CellGrid, PanelBox

SIZE = 80, 24
BLINK = 200
"""Bytes of a blinking cursor and of the header, which do not count."""
KEYS = {
    "zoom": "\r",
    "back from it": "\x1b",
    "filter": "/",
    "back from the filter": "\x1b",
    "help": "?",
    "back from help": "\x1b",
    "alerts": "a",
    "back from the alerts": "\x1b",
    "page": "\x1b[6~",
    "page back": "\x1b[5~",
    "symbols": "s",
}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    names = ["reward", "loss", "kl", *(f"aux/{letter}" for letter in "abcdefghijklmnopqrst")]
    rows = [{name: math.sin(step / 9 + len(name)) for name in names} | {"step": step} for step in range(300)]
    rows[-1]["loss"] = math.nan
    path = tmp_path / "logs" / "run" / "metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.parent


@pytest.fixture
def terminal(logs: Path, tmp_path: Path) -> Iterator[Terminal]:
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    exported = {"COLUMNS": str(SIZE[0]), "LINES": str(SIZE[1])}  # as some shells and containers do, once
    with Terminal((*TUIMON, str(logs)), SIZE, home | exported) as found:
        yield found


def sent(terminal: Terminal, key: str = "") -> bytes:
    """Return the output after a key, up to the first pause."""
    before = len(terminal.output)
    terminal.type(key)
    terminal.until(lambda output: len(output) > before + 200)
    terminal.settle(0.5, BLINK)
    return bytes(terminal.output[before:])


def test_a_key_sends_a_cell_once_and_repaint_or_a_new_size_all_of_them(terminal: Terminal) -> None:
    terminal.until(lambda output: b"loss" in output)
    terminal.settle(1.0, BLINK)
    grid = Grid(*SIZE)
    page = sent(terminal, "\x0c")
    grid.feed(page)
    assert grid.braille > 20, "ctrl+l sends the whole page"
    before = str(grid)
    grid.feed(b"\x1b[10;20HBroadcast message from root")
    grid.feed(sent(terminal, "\x0c"))
    assert _untimed(str(grid)) == _untimed(before), "also over what another program has written"
    for what, key in KEYS.items():
        output = sent(terminal, key)
        grid.feed(output)
        shown = str(grid)
        whole = sent(terminal, "\x0c") if key == "\x1b" else page
        assert len(output) < 1.25 * len(whole) + 500, what
        if whole is not page:
            fresh = Grid(*SIZE)
            fresh.feed(whole)
            assert _untimed(str(fresh)) == _untimed(shown), f"{what}: what was not sent again was there"
    terminal.type("ss")
    terminal.settle(0.5, BLINK)
    terminal.resize(100, 30)
    resized, fresh = Grid(100, 30), Grid(100, 30)
    resized.feed(sent(terminal))
    fresh.feed(sent(terminal, "\x0c"))
    assert fresh.braille > 20
    assert _untimed(str(resized)) == _untimed(str(fresh))


def settled(screen: str) -> bool:
    """Return whether the alert of the loss, for which the charts make room, is on the screen with them."""
    return "loss" in screen and "loss is NaN" in screen


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(row, number of rows) of each painted line of a box that was not drawn for its place."""
    painted: list[tuple[int, int]] = []
    really_paint = CellGrid.render_line

    def render_line(cells: CellGrid, y: int) -> object:
        if isinstance(cells, PanelBox) and (y >= len(cells._rows) or len(cells._rows) != cells.outer_size.height):
            painted.append((y, len(cells._rows)))
        return really_paint(cells, y)

    monkeypatch.setattr(CellGrid, "render_line", render_line)
    monkeypatch.setattr("tuimon.tui.board._QUICK", math.inf)  # a page that takes longer is sent box by box
    return painted


async def test_no_box_is_painted_before_it_is_drawn(logs: Path, undrawn: list[tuple[int, int]]) -> None:
    async with opened(logs, (120, 40)) as (app, pilot):
        await until(app, pilot, settled)
        undrawn.clear()
        for key in ("enter", "n", "escape", "pagedown", "slash", "a", "escape", "pageup", "question_mark", "escape"):
            await pilot.press(key)
            await pilot.pause(0.1)
            assert undrawn == [], key
        for size in ((80, 24), (200, 50), (10, 2), (120, 40)):
            await pilot.resize_terminal(*size)
            await until(app, pilot, lambda screen, size=size: ("reward" in screen) == (size[0] > 10))  # type: ignore[misc]
            await pilot.pause(0.2)
            assert undrawn == [], size
            assert tuple(app.board.size) == (app.board.room.width, app.board.room.height)
        app.say("A line comes …")
        await until(app, pilot, lambda _: app.alert_bar.display)
        await pilot.pause(0.2)
        assert tuple(app.board.size) == (app.board.room.width, app.board.room.height)
        assert undrawn == [], "… and boxes make room for it"
        for over, size in (("question_mark", (100, 30)), ("r", (130, 45)), ("M", (90, 30))):
            await pilot.press(over)
            await pilot.resize_terminal(*size)
            await pilot.pause(0.2)
            await pilot.press("escape")
            await until(app, pilot, lambda _: len(app.screen_stack) == 1)
            await pilot.pause(0.2)
            assert undrawn == [], f"resized while the screen of {over} was over it"
            assert tuple(app.board.size) == (app.board.room.width, app.board.room.height)


@pytest.mark.parametrize("change", ["page", "size"])
async def test_page_changed_while_it_is_drawn_is_sent_whole(
    logs: Path, undrawn: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr("tuimon.tui.board._SLICE", -1.0)  # others have a turn after each box
    async with opened(logs, (120, 40)) as (app, pilot):
        await until(app, pilot, settled)
        board, really_draw, before = app.board, app.board._draw_box, []

        def draw_box(number: int) -> None:
            really_draw(number)
            if not before and number == 2:
                before.append((board.page, board.room))
                if change == "size":
                    app.begin_filter()  # takes a line from the boxes that have been drawn
                else:
                    assert board.turn(1)
                app.redraw()

        monkeypatch.setattr(board, "_draw_box", draw_box)
        undrawn.clear()
        await pilot.press("s")
        await pilot.pause(0.2)
        assert (board.page, board.room) != before[0]
        assert undrawn == []


async def test_paint_that_is_due_waits_for_the_page(logs: Path, undrawn: list[tuple[int, int]]) -> None:
    async with opened(logs, (120, 40)) as (app, pilot):
        await until(app, pilot, settled)
        undrawn.clear()
        app.screen.refresh()
        asyncio.get_running_loop().call_soon(app.screen._on_timer_update)  # before the task that draws the page
        assert app.board.turn(1)
        app.redraw()
        await until(app, pilot, lambda screen: "page 2" in screen and not app.board.drawing)
        assert undrawn == []


async def test_late_layout_message_does_not_delay_the_layout(
    logs: Path, undrawn: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    really_lay_out = Screen._on_layout

    async def on_layout(screen: Screen[None], message: Layout) -> None:
        await asyncio.sleep(0.1)
        await really_lay_out(screen, message)

    async with opened(logs, (120, 40)) as (app, pilot):
        await until(app, pilot, settled)
        monkeypatch.setattr(Screen, "_on_layout", on_layout)
        undrawn.clear()
        app.begin_filter()
        app.redraw()
        await pilot.pause(0.3)
        assert undrawn == []


def _untimed(screen: str) -> str:
    return re.sub(r"\d+ s|\d\d:\d\d:\d\d", "", screen)
