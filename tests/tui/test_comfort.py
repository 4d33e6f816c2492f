"""Test the palette, user-defined keys, the help screen, the mouse on the dashboard, and wide characters."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.dashboard import opened, text, until
from textual.command import CommandList, CommandPalette
from textual.events import MouseScrollDown
from textual.widgets import Input

from tuimon.config import Settings
from tuimon.errors import UsageError
from tuimon.model.events import RunFound, StreamFound, StreamStatus
from tuimon.model.views import Role
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.store import Store
from tuimon.text import cell_width
from tuimon.tui.action import footer, key_names
from tuimon.tui.actions import all_actions, with_user_keys
from tuimon.tui.palette import ActionProvider
from tuimon.tui.screens.health import note_entries
from tuimon.tui.screens.help import ESSENTIAL, help_entries
from tuimon.tui.screens.run_list import RunListScreen
from tuimon.tui.screens.scatter import plot_head

SETTINGS = Settings(theme="dark", symbols="braille")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    names = ("reward", "loss", "kl", "entropy", "部分/比例", "样本 🎯/平均")
    rows = ({"step": step, **{name: (step + number) / 10 for number, name in enumerate(names)}} for step in range(50))
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path.parent


async def test_the_palette_finds_an_action_and_does_it(run: Path) -> None:
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"metric list")
        await until(app, pilot, lambda s: "metric list (M)" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "6 metrics" in s)


async def test_the_palette_has_the_colours_of_the_terminal(run: Path) -> None:
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("ctrl+p")
        await until(app, pilot, lambda s: "quit (q)" in s)
        for selector in ("#--container", "#--input", "CommandInput", "CommandList"):
            assert app.screen.query_one(selector).styles.background.ansi == -1, selector


FIRST_TITLES = {
    "metric list": "metric list (M)",
    "}": "smoother (})",  # a key
    "PgDn": "next page (PgDn)",
    "8-colour": "",
    "16 colours": "theme (t)",  # a part of what it does
    "log": "log (L)",
    "why": "alerts (a)",
    "learning rate": "config (C)",
    "hide": "filter (/)",
}
"""Text typed in the palette -> first title; "" for no matches."""


async def test_the_palette_finds_by_label_key_and_description(run: Path) -> None:
    def found(screen: str, first: str) -> bool:
        titles = [line.strip() for line in screen.splitlines() if re.fullmatch(r"\s*[a-z ]+ \(.+\)\s*", line)]
        return titles[:1] == [first] if first else "No matches" in screen

    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        for typed, first in FIRST_TITLES.items():
            await pilot.press("ctrl+p")
            await pilot.pause()
            await pilot.press(*typed)
            await until(app, pilot, partial(found, first=first))
            await pilot.press("escape")
            await until(app, pilot, lambda s: len(app.screen_stack) == 1)


async def test_the_palette_shows_brackets_as_they_are(run: Path) -> None:
    rows = ({"step": step, "reward": step, "wired[bold]/share": step} for step in range(50))
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        for typed, expected in (("wired", "show wired[bold]/share"), ("interval", "[notify]")):
            await pilot.press("ctrl+p")
            await pilot.pause()
            await pilot.press(*typed)
            await until(app, pilot, lambda s, expected=expected: expected in s)
            await pilot.press("escape")
            await until(app, pilot, lambda s: len(app.screen_stack) == 1)


QUERIES = {
    "started": "config",
    "scatter": "scatter",
    "same chart": "together",
    "two axes": "together",
    "overlay metrics": "together",
    "threshold": "settings file",
    "horizontal line": "settings file",
    "notification": "settings file",
    "interval": "settings file",
    "refresh interval": "settings file",
    "fps": "settings file",
    "hide chart": "filter",
    "chart size": "closer",
    "size": "closer",
    "bigger": "closer",
    "smaller": "wider",
    "png": "screenshot",
    "export chart": "screenshot",
    "save chart": "screenshot",
    "save": "save",
    "arrow": "up",
    "undo": "all",
    "reset": "all",
    "palette": "palette",
    "best run": "runs",
    "seed": "seeds",
    "config": "config",
    "log": "log",
    "spike": "alerts",
    "jump": "alerts",
    "outlier": "alerts",
    "changed together": "changed",
    "moved together": "changed",
    "what else changed": "changed",
    "correlated": "changed",
    "smooth": "smoother",
    "zoom in": "closer",
    "learning rate": "show learning rate",
    "lr": "show actor/lr",
    "gpu": "show system metrics",
    "reward": "show reward",
    "entropy": "show entropy",
    "gpu memory": "no GPU memory in this run",
    "idle": "show system metrics",
    "throttle": "show system metrics",
    "utilisation": "show system metrics",
    "hide run": "run list: hide",
}
"""Query: title of the expected first entry, without its keys."""


async def test_the_palette_and_the_help_begin_with_what_a_query_means(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    values = {"reward": 1.0, "loss": 2.0, "entropy": 0.5, "actor/lr": 1e-6, "util/gpu": 0.9}
    path.write_text("".join(json.dumps({"step": step, **values}) + "\n" for step in range(20)))
    rows = "".join(f"2026/11/25 20:50:0{second}, 0, 98 %\n" for second in range(3))
    (path.parent / "nvidia.csv").write_text(f"timestamp, index, utilization.gpu [%]\n{rows}")
    async with opened(path.parent) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        provider = ActionProvider(app.screen)
        found, helped = {}, {}
        for query, expected in QUERIES.items():
            hits = sorted([hit async for hit in provider.search(query)], reverse=True)
            found[query] = re.sub(r" \(.+\)$", "", str(hits[0].match_display)) if hits else ""
            if not expected.startswith(("show ", "no ", "run list: ")):
                first = next(entry for entry in help_entries(app.actions, "dashboard", query) if entry.target)
                helped[query] = first.target.label if first.target else ""
        assert found == QUERIES
        assert helped == {query: QUERIES[query] for query in helped}
        await pilot.press("M", "ctrl+p")
        await pilot.pause()
        await pilot.press(*"learning rate")
        await until(app, pilot, lambda s: "show learning rate" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: app.board.zoomed and "lr" in s)
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"horizontal")
        await until(app, pilot, lambda s: "Settings without a key" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "The settings are in" in s)


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


async def test_an_action_of_another_screen_opens_that_screen(run: Path) -> None:
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"hide run")
        await until(app, pilot, lambda s: "run list: hide (H)" in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: isinstance(app.screen, RunListScreen))


async def test_the_palette_can_have_another_key(run: Path) -> None:
    async with opened(run, settings=replace(SETTINGS, keys={"palette": "w"})) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        for screen in ("dashboard", "help"):
            await pilot.press("ctrl+p")
            await pilot.pause()
            assert not CommandPalette.is_open(app)
            await pilot.press("w")
            await until(app, pilot, lambda s: CommandPalette.is_open(app))
            await pilot.press("w")
            assert app.screen.query_one(Input).value == "w", "a letter can be typed into the palette"
            await pilot.press("escape", *(["question_mark"] if screen == "dashboard" else []))
            await pilot.pause()


async def test_user_key_replaces_the_default_key(run: Path) -> None:
    async with opened(run, settings=replace(SETTINGS, keys={"open": "w"})) as (app, pilot):
        shown = await until(app, pilot, lambda s: "reward" in s)
        assert "w zoom" in shown, "the footer knows"
        await pilot.press("enter")
        await pilot.pause()
        assert not app.board.zoomed
        await pilot.press("w")
        await until(app, pilot, lambda s: "last @ step" in s)
        await pilot.press("question_mark")
        await until(app, pilot, lambda s: "Show the selected panel on the whole screen" in s)
        [row] = [line for line in text(app).splitlines() if "Show the selected panel on" in line]
        assert row.split()[0] == "w"


async def test_help_is_wrapped_at_any_width_and_shows_the_position(run: Path) -> None:
    async with opened(run, (60, 20)) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("question_mark")
        shown = await until(app, pilot, lambda s: "rows 1-18 of " in s)
        await pilot.press("space")
        shown += await until(app, pilot, lambda s: "rows 19-36 of " in s)
        words = " ".join(shown.split())
        essential = [action for action in footer(app.actions, "dashboard")[:9] if action.id != "next_run"]
        assert all(word in words for action in essential for word in action.help.split())
        await pilot.resize_terminal(120, 20)
        await until(app, pilot, lambda s: "Draw the metrics of the filter in one chart" in s)
        await pilot.press("G")
        await until(app, pilot, lambda s: "seeds of the base" in s)


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


async def test_a_double_click_zooms_and_the_wheel_goes_through_pages(run: Path) -> None:
    async with opened(run, (80, 24)) as (app, pilot):
        shown = await until(app, pilot, lambda s: "loss" in s and "page 1/" in s)
        await pilot._post_mouse_events([MouseScrollDown], app.board.boxes[0], offset=(20, 3))
        await until(app, pilot, lambda s: "page 2/" in s)
        await pilot.press("b")
        await until(app, pilot, lambda s: "page 1/" in s)
        loss = next(box for box in app.board.boxes if box.panel is not None and box.panel.title == "loss")
        assert "loss" in shown
        await pilot.click(loss, offset=(20, 3), times=2)
        await until(app, pilot, lambda s: "last @ step" in s)
        assert app.board.panel is not None
        assert app.board.panel.title == "loss"


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
async def test_wide_names_leave_every_row_as_wide_as_the_screen(run: Path, size: tuple[int, int]) -> None:
    async with opened(run, size) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        for keys, wanted in (
            (("slash", *"比例"), "比例"),
            (("enter", "enter"), "比例"),
            (("escape", "escape", "M"), "样本"),
        ):
            await pilot.press(*keys)
            await until(app, pilot, lambda s, wanted=wanted: wanted in s)  # type: ignore[misc]
            lines = app.screen._compositor.render_strips(app.size)
            assert {cell_width(line.text) for line in lines} == {size[0]}


def test_remarks_about_a_text_with_points_are_listed(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("loss: 1.5\nloss: 1.4\nloss: 1.3\n")
    snapshot = open_run(tmp_path)
    rows = ["".join(text for text, _ in entry.row) for entry in note_entries(snapshot, snapshot.runs[0])]
    assert any("train.log" in row and "3 rows have their number as step" in row for row in rows)


def test_the_files_of_a_source_are_one_row() -> None:
    store = Store()
    store.apply(RunFound(0, "run", "/logs/run"))
    for stream in range(3):
        source, log_format = ("swanlog/logs", "swanlab-log") if stream else ("train.log", "console")
        store.apply(StreamFound(stream, 0, source, f"/logs/run/{stream}", log_format, 10, "", stream))
        store.apply(StreamStatus(stream, "current", "", 1024, 1024, 0.0, 0))
    run = store.snapshot().runs[0]
    store.apply(StreamFound(3, 0, "old.json", "/logs/run/old.json", "trainer_state", 10, "", 3))
    store.apply(StreamStatus(3, "superseded", "superseded by new.json", 0, 0, 0.0, 0))
    run = store.snapshot().runs[0]
    rows = ["".join(text for text, _ in entry.row).split() for entry in note_entries(store.snapshot(), run)]
    assert rows.pop()[-4:] == ["old.json", "superseded", "by", "new.json"]
    assert rows[-2:] == [
        ["console", "0", "1.0", "KiB", "train.log"],
        ["swanlab-log", "0", "2.0", "KiB", "2", "swanlog/logs"],
    ]


def test_numbers_that_are_not_read_are_a_notice_of_the_run_that_is_shown(tmp_path: Path) -> None:
    lines = [json.dumps({"step": step, "loss": 0.5, "vram": "31.2GiB"}) + "\n" for step in range(1, 11)]
    (tmp_path / "metrics.jsonl").write_text("".join(lines))
    monitor = LocalMonitor([str(tmp_path)])
    monitor.update()
    snapshot = monitor.snapshot()
    notices = ["".join(text for text, _ in entry.row) for entry in note_entries(snapshot, snapshot.runs[0])]
    assert "  not read: `vram: 31.2GiB` of metrics.jsonl" in notices
    assert not any("not read" in line for entry in note_entries(snapshot, None) for line, _ in entry.row)


@pytest.mark.parametrize(
    ("width", "title"),
    [
        (80, "train/completions/mean_length against train/reward"),
        (66, "train/…/mean_length against train/reward"),
        (40, ""),
    ],
)
def test_the_correlation_of_a_scatter_plot_has_priority_over_the_names(width: int, title: str) -> None:
    words = "r 0.381  rho 0.389  n 41"
    assert plot_head("train/completions/mean_length", "train/reward", words, width) == (
        (title, ((words, Role.VALUE),)) if title else (words, ())
    )


async def test_the_selected_line_of_the_palette_differs_from_the_others(run: Path) -> None:
    async with opened(run) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("ctrl+p")
        await until(app, pilot, lambda s: "quit (q)" in s and "zoom (" in s)
        lines = app.screen.query_one(CommandList)
        await pilot.pause()
        backgrounds = [
            {segment.style.bgcolor for segment in lines.render_line(y) if segment.style and segment.text.strip()}
            for y in (0, 2)
        ]
        assert backgrounds[0].isdisjoint(backgrounds[1]), "a colour, not only an attribute that Textual leaves out"
