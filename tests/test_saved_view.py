"""The view of a path outlives the program; whatever else lies in its file does no harm."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_app import log, opened, until

from tuimon.model.views import Symbols
from tuimon.panels import Look
from tuimon.tui import saved_view
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.state import ViewState

__all__ = ["log"]
BEGUN = ViewState(Symbols.BRAILLE, "dark")


def test_what_was_changed_comes_back_and_nothing_else(tmp_path: Path) -> None:
    state = replace(BEGUN, look=Look(axis="time"), query="loss", run=3, paused=True)
    saved_view.keep(state, BEGUN, ["a", "b"], tmp_path)
    assert saved_view.restored(BEGUN, ["a", "b"], tmp_path) == replace(BEGUN, look=Look(axis="time"), query="loss")
    assert saved_view.restored(BEGUN, ["a"], tmp_path) == BEGUN
    light = replace(BEGUN, theme="light")
    assert saved_view.restored(light, ["a", "b"], tmp_path).theme == "light", "it was never chosen: what is found stays"


def test_marked_pinned_and_hidden_runs_come_back_and_a_filter_over_runs_does_not(tmp_path: Path) -> None:
    chosen = RunChoice(("/a", "/b"), False, ("/c",), ("/d", "/e"), "/a", True, "reward", True)
    saved_view.keep(replace(BEGUN, runs=replace(chosen, query="x", show_hidden=True)), BEGUN, ["a"], tmp_path)
    assert saved_view.restored(BEGUN, ["a"], tmp_path).runs == chosen


def test_a_view_put_back_leaves_no_file(tmp_path: Path) -> None:
    saved_view.keep(replace(BEGUN, query="x"), BEGUN, ["a"], tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    saved_view.keep(BEGUN, BEGUN, ["a"], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"view": 3}',
        b'{"view": {"look": 5, "query": 7, "symbols": "runes", "unheard": 1}}',
        b"\xff" * 99,
    ],
)
def test_a_spoilt_file_is_a_fresh_start(tmp_path: Path, content: bytes) -> None:
    saved_view.keep(replace(BEGUN, query="x"), BEGUN, ["a"], tmp_path)
    [file] = tmp_path.iterdir()
    file.write_bytes(content)
    assert saved_view.restored(BEGUN, ["a"], tmp_path) == BEGUN


def test_one_wrong_field_does_not_cost_the_others(tmp_path: Path) -> None:
    saved_view.keep(replace(BEGUN, query="x"), BEGUN, ["a"], tmp_path)
    [file] = tmp_path.iterdir()
    kept = json.loads(file.read_bytes())
    kept["view"] |= {"all_metrics": "yes", "theme": "ansi"}
    file.write_text(json.dumps(kept))
    assert saved_view.restored(BEGUN, ["a"], tmp_path) == replace(BEGUN, query="x", theme="ansi")


def test_only_the_latest_views_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_view, "MOST_VIEWS", 3)
    for number in range(6):
        saved_view.keep(replace(BEGUN, query="x"), BEGUN, [str(number)], tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_where_nothing_can_be_written_nothing_is_kept() -> None:
    saved_view.keep(replace(BEGUN, query="x"), BEGUN, ["a"], Path("/proc/none"))


async def test_the_dashboard_is_as_it_was_left(log: Path, tmp_path: Path) -> None:
    views = tmp_path / "views"
    async with opened(log.parent, views=views) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("slash", "l", "o", "s", "s", "enter")
        await until(app, pilot, lambda s: " /loss " in s.splitlines()[-1])
        app.keep_view()
    async with opened(log.parent, views=views) as (app, pilot):
        await until(app, pilot, lambda s: "loss" in s and "KL" not in s and " /loss " in s.splitlines()[-1])
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
    assert sorted(file.name for file in log.parent.iterdir()) == ["metrics.jsonl"]
