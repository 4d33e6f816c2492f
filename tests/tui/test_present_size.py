"""A screen is laid out for the present size of the terminal, whatever size an event has that waited."""

from __future__ import annotations

from pathlib import Path

from support.dashboard import opened, until
from textual.events import Resize
from textual.geometry import Size


async def test_two_sizes_that_wait_do_not_ask_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(f'{{"step": {s}, "loss": {1 / (s + 1)}}}\n' for s in range(30)))
    async with opened(tmp_path) as (app, pilot):
        await until(app, pilot, lambda screen: "loss" in screen)
        sizes = [Size(60, 20), app.size] * 3
        for size in sizes:
            app.screen.post_message(Resize(size, size))
            await pilot.pause()
            assert app.screen.size == app.size
            assert app.board.room.width == app.size.width
