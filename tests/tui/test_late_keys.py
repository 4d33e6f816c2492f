"""Keys that reach a screen after it was closed or covered by another."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from support.dashboard import opened
from textual.events import Key

from tuimon.tui.screens.work_screen import WorkScreen


def test_a_key_for_a_screen_that_was_closed_before_does_nothing(tmp_path: Path) -> None:
    """Both keys were typed while the program was busy."""
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 0.5}) + "\n")

    async def check() -> None:
        async with opened(tmp_path) as (app, pilot):
            await pilot.press("question_mark")
            screen = app.screen
            assert isinstance(screen, WorkScreen)
            await pilot.press("escape")
            assert app.screen is not screen
            for key in ("pagedown", "slash", "down"):
                screen.on_key(Key(key, None))
            await pilot.pause()
            assert not isinstance(app.screen, WorkScreen)

    asyncio.run(check())
