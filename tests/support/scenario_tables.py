"""The tables of scenarios in tests/tui/scenarios: keys, and what must hold after them. scenario.py explains the rows.

There is a table for each part of the screen, and a test module, so that several workers share them. `log` names a
function of scenario_logs.py and its arguments, `path` what is opened of it, `run` the run that is shown, and `covers` a
section of the keys (see scenario.actions_of) of which the rows must press every key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support import scenario_logs
from support.dashboard import opened, until
from support.scenario import Player, actions_of
from tuimon.config import Settings

FOLDER = Path(__file__).parent.parent / "tui" / "scenarios"


def scenarios_of(table: str) -> Callable[..., Awaitable[None]]:
    """Return a test for each scenario of a table."""
    scenarios = {row["name"]: row for row in tomllib.loads((FOLDER / f"{table}.toml").read_text("utf-8"))["scenario"]}

    @pytest.mark.parametrize("name", scenarios)
    async def test(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        await play(scenarios[name], tmp_path, monkeypatch)

    return test


async def play(scenario: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("TMUX", "STY"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    root = tmp_path / "logs"
    root.mkdir()
    log, *arguments = scenario.get("log", "nothing").split()
    getattr(scenario_logs, log)(root, *arguments)
    for path, content in scenario.get("files", {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    size = tuple(map(int, scenario.get("size", "120x40").split("x")))
    settings = Settings(**{"theme": "dark", "symbols": "braille", **scenario.get("settings", {})})
    path, wait = root / scenario.get("path", ""), scenario.get("wait", True)
    async with opened(path, size, settings, tmp_path / "views", wait) as (app, pilot):
        if log not in ("nothing", "only_texts"):
            await until(app, pilot, lambda _: app.run_shown is not None and app.snapshot.progress.caught_up)
        if first := scenario.get("run"):
            app.show_run(next(run for run in app.snapshot.runs if run.name.endswith(first)))
            app.redraw()
        player = Player(app, pilot, root)
        await player.play(scenario["steps"])
        if "covers" in scenario:
            assert not actions_of(scenario["covers"]) - player.done
