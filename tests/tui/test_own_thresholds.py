"""Thresholds of the user that are added and removed on the screen."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from support.dashboard import opened, until

from tests.tui.test_own_rules import answer
from tuimon.config import Settings
from tuimon.panels import OwnDashboard
from tuimon.tui.dashboard_file import PROJECT_FILE, load_dashboard


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUIMON_CONFIG", str(tmp_path / "settings" / "config.toml"))
    path = tmp_path / "project" / "run" / "metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({"step": step, "kl": step / 200}) + "\n" for step in range(20)))
    return path.parents[1]


async def test_a_threshold_is_drawn_with_its_value_and_saved_until_it_is_added_again(project: Path) -> None:
    file = project / PROJECT_FILE
    async with opened(project / "run") as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s and app.snapshot.progress.caught_up)
        await answer(app, pilot, "thresholds", "kl 0.0737")
        await until(app, pilot, lambda s: "│0.0737 " in s and "is added, saved in" in s)
        assert tomllib.loads(file.read_text()) == {"dashboard": {"thresholds": {"kl": 0.0737}}}
        await answer(app, pilot, "thresholds", "kl = 0.0912")
        await until(app, pilot, lambda s: "│0.0912 " in s)
        assert tomllib.loads(file.read_text())["dashboard"]["thresholds"] == {"kl": [0.0737, 0.0912]}
        await answer(app, pilot, "thresholds", "kl 0.0737")
        await until(app, pilot, lambda s: "kl 0.0737 is removed" in s and "│0.0737 " not in s)
        app.action_do("thresholds")
        await until(app, pilot, lambda s: "each again removes it: kl 0.0912" in s)
        await pilot.press("escape")
        await answer(app, pilot, "thresholds", "kl 0.0912")
        await until(app, pilot, lambda s: "kl 0.0912 is removed" in s)
        assert not file.exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kl", "A threshold is a name and a number; example: kl 0.1"),
        ("kl high", "A threshold is a name and a number; example: kl 0.1"),
        ("kl nan", "needs a finite number"),
        ("kll 1", "kll 1 is added, but no chart of this run begins with such a metric"),
    ],
)
async def test_a_threshold_that_means_nothing_is_named(project: Path, line: str, said: str) -> None:
    async with opened(project / "run", (160, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await answer(app, pilot, "thresholds", line)
        await until(app, pilot, lambda s: said in s)
        assert (project / PROJECT_FILE).exists() == (line == "kll 1")


async def test_a_threshold_of_the_settings_can_be_removed_for_a_project(project: Path) -> None:
    settings = Settings(theme="dark", symbols="braille", dashboard={"thresholds": {"kl": 0.0737}})
    async with opened(project / "run", settings=settings) as (app, pilot):
        await until(app, pilot, lambda s: "│0.0737 " in s)
        await answer(app, pilot, "thresholds", "kl 0.0737")
        await until(app, pilot, lambda s: "kl 0.0737 is removed, saved in" in s)
    assert tomllib.loads((project / PROJECT_FILE).read_text()) == {"dashboard": {}}
    own, _ = load_dashboard(settings, [str(project / "run")])
    assert own == OwnDashboard()
