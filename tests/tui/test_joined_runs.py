"""Runs that the user joins and splits in the dashboard."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from support.dashboard import opened, until

from tuimon.sources.overrides import PROJECT_FILE


async def test_marked_runs_become_one_and_are_split_again(tmp_path: Path) -> None:
    for name, steps in (("first", range(50)), ("second", range(45, 90))):
        (tmp_path / "logs" / name).mkdir(parents=True)
        rows = (json.dumps({"step": step, "loss": 1 / (1 + step) + len(name)}) + "\n" for step in steps)
        (tmp_path / "logs" / name / "metrics.jsonl").write_text("".join(rows))
    project = tmp_path / "logs" / PROJECT_FILE
    project.write_text('[dashboard]\npanels = ["loss"]\n')
    async with opened(tmp_path / "logs") as (app, pilot):
        await until(app, pilot, lambda screen: len(app.snapshot.runs) == 2)
        app.action_do("join_runs")
        await until(app, pilot, lambda screen: "Mark the runs" in screen)
        await pilot.press("r")
        await until(app, pilot, lambda screen: "⏎ show" in screen)
        await pilot.press("A")
        await until(app, pilot, lambda screen: "Marked 2 runs" in screen)
        app.action_do("join_runs")
        await until(app, pilot, lambda screen: len(app.snapshot.runs) == 1)
        written = tomllib.loads(project.read_text())
        assert sorted(written["runs"]["join"][0]) == ["first", "second"]
        assert written["dashboard"] == {"panels": ["loss"]}
        (run,) = app.snapshot.runs
        assert (run.curve("loss").steps.tolist(), run.curve("loss").superseded) == (list(range(90)), 5)
        app.action_do("split_run")
        await until(app, pilot, lambda screen: len(app.snapshot.runs) == 2)
        assert tomllib.loads(project.read_text())["runs"] == {"join": [], "split": []}
