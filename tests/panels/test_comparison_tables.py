"""The table of runs side by side, its numbers worked out again from what was logged."""

from __future__ import annotations

import math
import shutil
import statistics
from pathlib import Path

import numpy as np
from conftest import DATA
from support.made_run import snapshot_of
from support.programs import write_rows

from tuimon.draw.ascii import ascii_text
from tuimon.exports.compare import as_text, comparison_document
from tuimon.exports.documents import plain
from tuimon.exports.html.comparison import as_html
from tuimon.model.points import Topic
from tuimon.model.views import Row, Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import ChartOptions, metric_panel, overlay_lines
from tuimon.panels.lists.comparison import Comparison, compare
from tuimon.panels.lists.comparison_tables import comparison_tables, screen_rows


def logged(root: Path, name: str, rewards: list[float], **config: object) -> None:
    rows = ({"step": step, "reward": value, "only_" + name: 1.0} for step, value in enumerate(rewards))
    write_rows(root / name, rows, config)


def row_of(rows: list[Row], begin: str) -> str:
    result = ["".join(text for text, _ in row) for row in rows]
    return next(row for row in result if row.strip().startswith(begin))


def lines_of(rows: list[Row]) -> list[str]:
    return ["".join(text for text, _ in row) for row in rows]


def shown_of(comparison: Comparison, width: int = 200) -> list[Row]:
    return screen_rows(comparison, 1.8e9, width)


def table_of(comparison: Comparison, title: str, full: bool = False) -> dict[str, dict[str, str]]:
    """Return name -> head -> cell of the table whose title begins so."""
    table = next(table for table in comparison_tables(comparison, 1.8e9, full) if table.title.startswith(title))
    return {name: {own.head: own.cells[row] for own in table.columns} for row, name in enumerate(table.names)}


def test_settings_that_differ_and_levels_with_their_errors(tmp_path: Path) -> None:
    a = [0.01 * s + 0.1 * math.sin(37 * s) for s in range(100)]
    b = [0.03 * s + 0.1 * math.sin(41 * s) for s in range(60)]
    logged(tmp_path, "a", a, optim={"lr": 1e-3, "beta": 0.9}, batch=8, api_key="sk-0123456789abcdefghij")
    logged(tmp_path, "b", b, optim={"lr": 1e-5, "beta": 0.9}, batch=8, extra=True)
    comparison = compare(open_run(tmp_path).runs)
    settings = table_of(comparison, "Configuration that differs")
    assert settings["optim.lr"] == {"a": "0.001", "b": "1e-05"}
    assert settings["extra"] == {"a": "-", "b": "True"}
    assert settings["api_key"] == {"a": "[hidden]", "b": "-"}
    assert "batch" not in settings
    one, other = statistics.fmean(a[54:60]), statistics.fmean(b[54:60])
    rows = table_of(comparison, "reward, higher is better, up to step 59")
    assert (rows["a"]["level"], rows["b"]["level"]) == (f"{one:.4f}", f"{other:.3f}")
    assert rows["a"]["to the first"] == f"-{other - one:.3f}"
    assert (rows["a"]["rank"], rows["b"]["rank"]) == ("2", "1")
    shown = "\n".join(lines_of(shown_of(comparison)))
    assert "sk-0123" not in shown
    assert f"{other:.3f}" in shown
    assert "2 settings are the same" in shown
    assert "only_a" not in shown, "what only one run has cannot be compared"
    assert {name: own["step"] for name, own in table_of(comparison, "Runs").items()} == {"a": "99", "b": "59"}


def test_every_form_shows_the_same_numbers(tmp_path: Path) -> None:
    """The table, the text, the page, the JSON and the legend of an overlay."""
    random = np.random.default_rng(4)
    for name, best in (("a", 0.61), ("b", 0.51)):
        logged(tmp_path, name, (best + random.normal(0, 0.03, 80)).tolist(), lr=best)
    runs = open_run(tmp_path).runs
    comparison = compare(runs)
    levels = [own["level"] for own in table_of(comparison, "reward").values()]
    document = plain(comparison_document(comparison, 1.8e9))
    reward = next(metric for metric in document["metrics"] if metric["name"] == "reward")
    assert [f"{row['level']:.4f}" for row in reward["rows"]] == levels
    text_lines, page = "\n".join(as_text(comparison, 1.8e9)), as_html(comparison, 1.8e9)
    lines = overlay_lines(runs, runs, False)
    chart = metric_panel("reward").view(runs[0], Size(100, 20), 0.0, Symbols.BRAILLE, ChartOptions(overlay=lines))
    legend = " ".join(line.entry for line in chart.lines)
    for level in levels:
        assert level in text_lines
        assert level in page
        assert level in legend


def test_other_metrics_mark_what_is_within_noise(tmp_path: Path) -> None:
    values = [math.sin(37 * s) for s in range(200)]
    for name, order in (("a", 1), ("b", -1)):
        rows = (
            {"step": s, "reward": s, "val_loss": value, "once": order if not s else None}
            for s, value in enumerate(values[::order])
        )
        write_rows(tmp_path / name, rows)
    logged_curves = compare(open_run(tmp_path).runs)
    cells = table_of(logged_curves, "Levels of the other metrics")["val_loss"]
    assert sum("≈" in cell for cell in cells.values()) == 1
    assert "≈" not in "".join(table_of(logged_curves, "Levels of the other metrics")["once"].values()), "unknown noise"
    assert ascii_text("".join(lines_of(shown_of(logged_curves)))).isascii()


def test_wide_characters_and_infinite_metrics_are_shown() -> None:
    series = {"reward": (range(9), [1.0] * 9), "odd": ([1, 2], [math.inf, -math.inf])}
    runs = snapshot_of(series, series, configs=[{"data": "数学"}, {"data": "代码"}]).runs
    rows = shown_of(compare(runs), width=80)
    assert row_of(rows, "data").split() == ["data", "数学", "代码"]
    assert row_of(rows, "odd").split() == ["odd", "-Inf", "-Inf"]


def test_arguments_hosts_and_versions_that_differ_are_a_table_of_their_own(tmp_path: Path) -> None:
    for path in (DATA / "wandb").glob("run-*.wandb"):
        (tmp_path / path.stem).mkdir()
        shutil.copy(path, tmp_path / path.stem)
    runs = open_run(tmp_path).runs
    logged_by = [{key: fact.value.get(key) for fact in run.facts(Topic.WRITER) for key in fact.value} for run in runs]
    about = table_of(compare(runs), "Run, where it differs")
    assert list(about) == ["arguments"], "everything else is equal"
    assert sorted(about["arguments"].values()) == sorted(facts["arguments"] for facts in logged_by)
