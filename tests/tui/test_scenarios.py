"""Play the scenarios of tests/tui/scenarios: keys, and what must hold after them. support/scenario.py explains rows.

There is a table for each screen. `log` names a function of support/scenario_logs.py and its arguments, `path` what is
opened of it, `run` the run that is shown, and `covers` a section of the keys (see support/scenario.py, actions_of) of
which the rows must press every key.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support import scenario_logs
from support.dashboard import opened, until
from support.scenario import Player, actions_of

from tuimon.config import Settings

FOLDER = Path(__file__).parent / "scenarios"
SCENARIOS = {
    f"{file.stem}: {scenario['name']}": scenario
    for file in sorted(FOLDER.glob("*.toml"))
    for scenario in tomllib.loads(file.read_text("utf-8"))["scenario"]
}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_scenario(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario: dict[str, Any] = SCENARIOS[name]
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
