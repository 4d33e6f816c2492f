"""Test that sending only the changed cells gives the same screen as the updates of Textual."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.grid import Grid
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.screen import Screen

from tuimon.config import Settings
from tuimon.monitor.process import ReaderProcess
from tuimon.tui.app import TuimonApp
from tuimon.tui.changed_cells import SentCells, changed_cells

SIZE = (120, 40)
OWN = Compositor.render_update
"""Textual's own."""
KEYS = (
    *("l", "j", "enter", "x", "enter", "question_mark", "escape", "m", "n", "slash", "o", "escape", "t", "t", "r"),
    *("escape", "G", "escape", "pagedown", "pageup", "S", "ctrl+l", "a", "G", "k", "escape", "p", "question_mark"),
    *("pagedown", "pagedown", "pageup", "j", "slash", "z", "escape", "escape", "M", "pagedown", "escape", "C", "G"),
    *("g", "escape", "L", "pageup", "j", "escape", "D", "j", "escape", "T", "escape", "d", "escape"),
)


class Both(tuple[Any, Any]):
    """Textual's own update and that of the changed cells alone."""


class Twice(TuimonApp):
    """Two terminals: the first is sent Textual's own updates, the second those of changed cells alone."""

    def __init__(self, monitor: ReaderProcess, settings: Settings) -> None:
        super().__init__(monitor, settings)
        self.grids = Grid(*SIZE), Grid(*SIZE)
        self.parts: list[tuple[int, ...]] = []
        """Bytes sent to each terminal by each update."""
        self.sent = SentCells()
        self.forget_sent = self.sent.forget

    def render_update(self, compositor: Compositor, full: bool = False, screen_stack: Any = None, **more: Any) -> Any:
        if full:  # a screenshot
            return OWN(compositor, full, screen_stack, **more)
        dirty = set(compositor._dirty_regions)
        whole = OWN(compositor, full, screen_stack, **more)
        compositor._dirty_regions = dirty
        visible_screen_stack.set(screen_stack)
        cells = changed_cells(compositor, self.sent)
        assert (whole is None) == (cells is None)
        assert not compositor._dirty_regions
        return Both((whole, cells)) if whole is not None else None

    def painted_anew(self) -> Grid:
        """Return a terminal that is sent all cells of the screen."""
        grid = Grid(*SIZE)
        update = OWN(self.screen._compositor, True, self._background_screens)
        grid.feed(update.render_segments(self.console).encode())
        return grid

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        both = renderable if isinstance(renderable, Both) else (renderable, renderable)
        sent = [update.render_segments(self.console) if update is not None else "" for update in both]
        if isinstance(renderable, Both):
            self.parts.append(tuple(map(len, sent)))
            renderable = renderable[0]
        for grid, text in zip(self.grids, sent, strict=True):
            grid.feed(text.encode())
        super()._display(screen, renderable)


@contextmanager
def reading(path: Path) -> Iterator[ReaderProcess]:
    monitor = ReaderProcess([str(path)], interval=0.1)
    monitor.start()
    try:
        assert monitor.wait_for_first(60)
        yield monitor
    finally:
        monitor.close()


def row(step: int) -> str:
    values = {"reward": (step * 7) % 11, "loss/部分": (step * 3) % 5, "loss": 1 / (step + 1), "kl": 0.01 * step}
    return json.dumps({"step": step, "timestamp": 1.7e9 + step, "timing_s/gen": step % 9, **values}) + "\n"


async def test_changed_cells_give_the_same_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(map(row, range(100))))
    with reading(tmp_path) as monitor:
        app = Twice(monitor, Settings(theme="dark", symbols="braille"))
        monkeypatch.setattr(Compositor, "render_update", lambda *some, **more: app.render_update(*some, **more))
        async with app.run_test(size=SIZE) as pilot:
            for number, key in enumerate(KEYS):
                for step in range(100 + number * 20, 120 + number * 20, 10):
                    with log.open("a") as file:
                        file.write("".join(map(row, range(step, step + 10))))
                    await pilot.pause(0.05)
                await pilot.press(key)
                await pilot.pause(0.05)
                for _ in range(200):  # until what was read last is drawn
                    if app.painted_anew().cells() == app.grids[1].cells():
                        break
                    await pilot.pause(0.05)
                whole, cells = (grid.cells() for grid in app.grids)
                assert cells == whole, f"after {key}"
                assert app.painted_anew().cells() == cells, f"the terminal shows old cells after {key}"
    assert app.grids[0].find("部分") is not None
    assert len(app.parts) > len(KEYS)
    whole, cells = map(sum, zip(*app.parts, strict=True))
    assert cells < whole


WIDE = 8
WIDGETS = ((0, 4), (4, WIDE), (0, 6), (6, WIDE), (0, WIDE))
"""(first cell, cell after the last) of widgets next to each other, before and after a change of the layout."""
PAINTS = st.lists(
    st.tuples(st.sampled_from(WIDGETS), st.sampled_from("ab"), st.integers(0, 3)), min_size=3, max_size=30
)


@settings(max_examples=500)
@given(PAINTS, st.sets(st.integers(0, 30), max_size=2))
def test_cells_that_are_not_sent_again_are_shown(
    paints: list[tuple[tuple[int, int], str, int]], overwritten: set[int]
) -> None:
    """Widgets paint a row, or the part of it right of some cells; at times another program overwrites it."""
    sent = SentCells()
    shown = wanted = " " * WIDE
    for number, ((begin, stop), letter, left) in enumerate(paints):
        if number in overwritten:
            shown = wanted = "#" * WIDE
            sent.forget()
        start = min(begin + left, stop - 1)
        cells = letter * (stop - start)
        wanted = wanted[:start] + cells + wanted[stop:]
        if sent.keep(0, start, stop, cells):
            shown = shown[:start] + cells + shown[stop:]
        assert shown == wanted


def test_resize_forgets_what_was_sent() -> None:
    sent = SentCells()
    sent.fit((80, 24))
    assert sent.keep(0, 0, 3, "abc")
    sent.fit((80, 24))
    assert not sent.keep(0, 0, 3, "abc")
    sent.fit((81, 24))
    assert sent.keep(0, 0, 3, "abc")
