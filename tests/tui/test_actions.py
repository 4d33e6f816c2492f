"""The table of actions: keys, screens, footers and help, without an application."""

from __future__ import annotations

import inspect
from collections import Counter
from functools import partial

import pytest

from tuimon.errors import UsageError
from tuimon.tui import screens
from tuimon.tui.action import footer, key_names
from tuimon.tui.actions import all_actions, function_of, with_user_keys
from tuimon.tui.app import TuimonApp
from tuimon.tui.screens.help import ESSENTIAL, help_entries

SCREENS = {
    "runs": "RunListScreen",
    "metrics": "MetricBrowser",
    "log": "LogScreen",
    "texts": "TextsScreen",
    "media": "MediaScreen",
    "ranks": "RanksScreen",
    "health": "HealthScreen",
    "help": "HelpScreen",
}


def test_every_action_has_something_to_do_on_each_screen() -> None:
    known = {name: getattr(screens, kind) for name, kind in SCREENS.items()}
    for action in all_actions():
        assert isinstance(action.do, partial)
        function, method, _ = action.do.args
        if function:
            called, arguments = function_of(function)
            if "." in function:
                inspect.signature(called).bind(None, *arguments)
            else:
                assert hasattr(TuimonApp, function), function
        assert function or "dashboard" not in action.where, action.id
        for name in {*action.where} - {"dashboard"}:
            called_there = getattr(known[name], method.split()[0], None) if method else function
            assert called_there, (action.id, name)


def test_every_screen_can_be_left_and_has_help() -> None:
    views = {where for action in all_actions() for where in action.where}
    for name in ("quit", "help", "back", "screenshot"):
        action = next(action for action in all_actions() if action.id == name)
        assert set(action.where) == views, name


def test_keys_are_unique_on_each_screen() -> None:
    taken = Counter(
        (where, key) for action in all_actions() for where in action.where for key in action.keys.split(",") if key
    )
    assert [pair for pair, count in taken.items() if count > 1] == []


def test_footer_of_a_zoomed_panel_without_an_axis_has_no_keys_of_charts() -> None:
    labels = {
        kind: [action.label for action in footer(all_actions(), f"dashboard.{kind}")] for kind in ("chart", "panel")
    }
    assert {"pan", "cursor", "smooth", "scale", "go to"} < set(labels["chart"])
    assert labels["panel"] == ["back", "keys", "next panel"]


def test_an_action_without_a_key_is_not_listed_under_the_key_of_the_palette() -> None:
    keys = {action.id: key_names(action.keys) for action in all_actions()}
    assert keys["together"] == keys["settings_file"] == "palette"
    assert [id for id, shown in keys.items() if shown == "Ctrl+p"] == ["palette"]


def test_smoothing_is_among_the_most_important_keys() -> None:
    first = [entry.target.id for entry in help_entries(all_actions(), "dashboard", "") if entry.target][:ESSENTIAL]
    assert "smoother" in first
    assert "texts" in first
    listed = [entry.target.id for entry in help_entries(all_actions(), "dashboard", "") if entry.target]
    assert sorted(listed) == sorted(action.id for action in all_actions())


def test_the_keys_of_the_screen_follow_the_most_important_ones() -> None:
    actions = all_actions()
    for where in {where for action in actions for where in action.where}:
        targets = [
            entry.target for entry in help_entries(actions, where, "") if entry.target and where in entry.target.where
        ]
        essential = len(footer(actions, where))
        sections = [action.section for action in targets[min(essential, ESSENTIAL) :]]
        own = {action.section for action in actions if action.where == (where,)} | {"Movement"}
        assert sections[0] in own, where
        assert sections[-1] == "General", where


def test_a_footer_has_actions_of_its_screen() -> None:
    actions = all_actions()
    for where in {where for action in actions for where in action.where}:
        for view in ("", ".grid", ".comparison", ".scatter", ".settings", ".chart", ".panel"):
            assert all(where in action.where for action in footer(actions, where + view)), where + view


def test_key_for_an_unknown_action_is_an_error() -> None:
    with pytest.raises(UsageError, match="fly"):
        with_user_keys({"fly": "w"})
