"""A terminal at the end of a slow link: what waits for it is little, so that a key shows soon."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise
from pathlib import Path

from test_app import log, opened, rows, until

from tuimon.model.views import Rows
from tuimon.tui.pace import Link

__all__ = ["log"]


def test_a_link_is_slow_once_a_drawing_takes_long_to_be_taken() -> None:
    left = [0]

    def waiting() -> int:
        left[0] = max(0, left[0] - 1)
        return left[0]

    link = Link(waiting)
    asyncio.run(link.drained())
    assert not link.slow
    left[0] = 12  # looks, of a fiftieth of a second at least
    asyncio.run(link.drained())
    assert link.slow
    assert not left[0]


async def test_on_a_slow_link_a_box_is_drawn_once_the_one_before_has_been_taken(log: Path) -> None:
    async with opened(log) as (app, pilot):
        await until(app, pilot, lambda screen: "1.900" in screen)
        looks: list[list[Rows]] = [[box._made for box in app.board.boxes]]

        def waiting() -> int:
            looks.append([box._made for box in app.board.boxes])
            return 0

        app._link._waiting, app._link._slow_until = waiting, math.inf
        with log.open("a") as file:
            file.write(rows(20, 21, 22))
        await until(app, pilot, lambda screen: all(value in screen for value in ("2.200", "0.0435", "0.2200")))
        waiting()
        changed = [sum(old is not new for old, new in zip(*pair, strict=True)) for pair in pairwise(looks)]
        assert sum(changed) >= 3
        assert max(changed) == 1
