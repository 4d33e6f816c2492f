"""Test the palette, user-defined keys, the help screen, the mouse on the dashboard, and wide characters."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.dashboard import opened, until
from textual.command import CommandList

from tuimon.config import Settings
from tuimon.draw.rows import row_width
from tuimon.model.events import RunFound, StreamFound, StreamStatus
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.store import Store
from tuimon.tui.palette import ActionProvider
from tuimon.tui.screens.health import _filtered, note_entries
from tuimon.tui.screens.help import help_entries

SETTINGS = Settings(theme="dark", symbols="braille")


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


def test_files_are_listed_and_found_by_their_whole_names() -> None:
    names = [f"outputs/an experiment/{worker}/rank_metrics/metrics.jsonl" for worker in ("worker_a", "worker_b")]
    store = Store()
    store.apply(RunFound(0, "run", "/logs/run"))
    for stream, name in enumerate(names):
        store.apply(StreamFound(stream, 0, name, f"/logs/run/{name}", "jsonl", 10, "", stream))
    entries = list(note_entries(store.snapshot(), None))
    rows = ["".join(text for text, _ in entry.row) for entry in entries]
    assert all(any(name in row for row in rows) for name in names)
    narrow = list(note_entries(store.snapshot(), None, 80))
    assert max(row_width(entry.row) for entry in narrow if isinstance(entry.key, tuple)) < 80
    for made in (entries, narrow):
        assert [entry.key for entry in _filtered(made, "worker_a")] == [(0, "jsonl", names[0])]


def test_numbers_that_are_not_read_are_a_notice_of_the_run_that_is_shown(tmp_path: Path) -> None:
    lines = [json.dumps({"step": step, "loss": 0.5, "vram": "31.2GiB"}) + "\n" for step in range(1, 11)]
    (tmp_path / "metrics.jsonl").write_text("".join(lines))
    monitor = LocalMonitor([str(tmp_path)])
    monitor.update()
    snapshot = monitor.snapshot()
    notices = ["".join(text for text, _ in entry.row) for entry in note_entries(snapshot, snapshot.runs[0])]
    assert "  not read: `vram: 31.2GiB` of metrics.jsonl" in notices
    assert not any("not read" in line for entry in note_entries(snapshot, None) for line, _ in entry.row)


async def test_the_palette_has_the_colours_of_the_terminal_and_its_selected_line_another(log: Path) -> None:
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        await pilot.press("ctrl+p")
        await until(app, pilot, lambda s: "quit (q)" in s and "zoom (" in s)
        for selector in ("#--container", "#--input", "CommandInput", "CommandList"):
            assert app.screen.query_one(selector).styles.background.ansi == -1, selector
        lines = app.screen.query_one(CommandList)
        await pilot.pause()
        backgrounds = [
            {segment.style.bgcolor for segment in lines.render_line(y) if segment.style and segment.text.strip()}
            for y in (0, 2)
        ]
        assert backgrounds[0].isdisjoint(backgrounds[1]), "a colour, not only an attribute that Textual leaves out"
