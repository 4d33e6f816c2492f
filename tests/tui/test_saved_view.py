"""Test that the view of a path is saved and restored, and that invalid files are ignored."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from support.dashboard import opened, until

from tuimon.model.views import Symbols
from tuimon.panels import ChartOptions
from tuimon.tui import saved_view
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.state import ViewState

BEGUN = ViewState(Symbols.BRAILLE, "dark")


def test_only_changed_fields_are_restored(tmp_path: Path) -> None:
    state = replace(BEGUN, options=ChartOptions(axis="time"), query="loss", run=3, paused=True)
    saved_view.save(state, BEGUN, ["a", "b"], tmp_path)
    assert saved_view.restored(BEGUN, ["a", "b"], tmp_path) == replace(BEGUN, options=ChartOptions(axis="time"))
    assert saved_view.restored(BEGUN, ["a"], tmp_path) == BEGUN
    light = replace(BEGUN, theme="light")
    assert saved_view.restored(light, ["a", "b"], tmp_path).theme == "light", "it was never chosen: what is found stays"


def test_marked_pinned_and_hidden_runs_are_restored_but_not_the_filter(tmp_path: Path) -> None:
    chosen = RunChoice(("/a", "/b"), False, ("/c",), ("/d", "/e"), "/a", True, "reward", True)
    saved_view.save(replace(BEGUN, runs=replace(chosen, query="x", show_hidden=True)), BEGUN, ["a"], tmp_path)
    assert saved_view.restored(BEGUN, ["a"], tmp_path).runs == chosen


def test_default_view_leaves_no_file(tmp_path: Path) -> None:
    saved_view.save(replace(BEGUN, order="name"), BEGUN, ["a"], tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    saved_view.save(BEGUN, BEGUN, ["a"], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"view": 3}',
        b'{"view": {"options": 5, "query": 7, "symbols": "runes", "unheard": 1}}',
        b"\xff" * 99,
    ],
)
def test_invalid_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    saved_view.save(replace(BEGUN, order="name"), BEGUN, ["a"], tmp_path)
    [file] = tmp_path.iterdir()
    file.write_bytes(content)
    assert saved_view.restored(BEGUN, ["a"], tmp_path) == BEGUN


def test_invalid_field_does_not_affect_the_others(tmp_path: Path) -> None:
    saved_view.save(replace(BEGUN, order="name"), BEGUN, ["a"], tmp_path)
    [file] = tmp_path.iterdir()
    kept = json.loads(file.read_bytes())
    kept["view"] |= {"all_metrics": "yes", "theme": "ansi"}
    file.write_text(json.dumps(kept))
    assert saved_view.restored(BEGUN, ["a"], tmp_path) == replace(BEGUN, order="name", theme="ansi")


def test_only_the_latest_views_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_view, "MOST_VIEWS", 3)
    for number in range(6):
        saved_view.save(replace(BEGUN, order="name"), BEGUN, [str(number)], tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_other_users_cannot_read_the_saved_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = os.umask(0o022)
    try:
        saved_view.save(replace(BEGUN, order="name"), BEGUN, ["a"])
    finally:
        os.umask(before)
    ours = tmp_path / "state" / "tuimon"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (ours, ours / "views")] == [0o700, 0o700]


def test_view_that_cannot_be_saved_is_an_error() -> None:
    with pytest.raises(OSError, match="No such file"):
        saved_view.save(replace(BEGUN, order="name"), BEGUN, ["a"], Path("/proc/none"))
    saved_view.save(BEGUN, BEGUN, ["a"], Path("/proc/none"))


async def test_dashboard_restores_the_saved_view(log: Path, tmp_path: Path) -> None:
    views = tmp_path / "views"
    async with opened(log.parent, views=views) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("right_curly_bracket", "slash", "l", "o", "s", "s", "enter")
        await until(app, pilot, lambda s: " /loss " in s.splitlines()[-1])
        app.save_view()
    async with opened(log.parent, views=views) as (app, pilot):
        shown = await until(app, pilot, lambda s: "KL" in s and " smooth 0.6 " in s.splitlines()[-1])
        assert "/loss" not in shown, "a filter ends with its session"
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
    assert sorted(file.name for file in log.parent.iterdir()) == ["metrics.jsonl"]
