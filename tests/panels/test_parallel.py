"""Test parallel coordinates: axes, labels, and where the lines cross them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from colorsys import rgb_to_hls
from pathlib import Path

import pytest
from support.made_run import runs_of

from tuimon.draw.ascii import ascii_text
from tuimon.model.views import Role, Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.parallel import Axis, axes_of, parallel_rows, quarters_row, result_of
from tuimon.panels.lists.run_metrics import RunLevels
from tuimon.panels.lists.run_selection import list_runs
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.run_contents import contents_of
from tuimon.tui.run_table import RunTable
from tuimon.tui.table import Sheet
from tuimon.tui.themes import style


def axes_for(runs: Sequence[Run]) -> list[Axis]:
    settings = different_settings(runs)
    return axes_of(runs, Listing(0.0, Symbols.BRAILLE, settings=settings, levels=RunLevels(runs), all_settings=True))


@pytest.mark.parametrize("symbols", list(Symbols))
def test_lines_cross_the_axes_at_their_values(tmp_path: Path, symbols: Symbols) -> None:
    for number, (lr, algo) in enumerate([(1e-5, "grpo"), (1e-3, "ppo"), (1e-1, "ppo")]):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "metrics.jsonl").write_text(f'{{"step": 0, "reward": {number}}}\n')
        settings = {"lr": lr, "algo": algo, "same": 1}
        (tmp_path / f"run{number}" / "config.json").write_text(json.dumps(settings))
    runs = sorted(open_run(tmp_path).runs, key=lambda run: run.name)
    table = axes_for(runs)
    rows = parallel_rows(table, 0, 100, 24, symbols)
    assert len(rows) == 24
    texts = ["".join(text for text, _ in row) for row in rows]
    assert texts[0].split() == ["reward", "lr", "(log)", "algo"]
    assert texts[1].split() == ["2", "0.1", "ppo"]
    assert texts[-1].split() == ["0", "1e-05", "grpo"]
    assert all(len(text) == 100 for text in texts)
    assert symbols is not Symbols.ASCII or ascii_text("".join(texts)).isascii()
    flat = [[(glyph, role) for text, role in row for glyph in text] for row in rows[2:-1]]
    places = [8, 50, 92]
    for place in places:
        crossed = [y for y, row in enumerate(flat) if row[place][1] is not Role.AXIS]
        assert crossed[0] == 0
        assert crossed[-1] == len(flat) - 1
    assert flat[-1][8][1] is Role.ACCENT, "the selected run has the lowest reward"
    assert flat[0][8][1] is Role.GOOD, "the best run"
    middle = Role.SERIES_3  # the second quarter of the reward
    assert any(row[50][1] is middle for row in flat[8:13]), "1e-3 is in the middle of a log axis"


def test_texts_that_are_numbers_are_numbers(tmp_path: Path) -> None:
    for number, lr in enumerate(["3e-6", 1e-5, "1e-4"]):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "metrics.jsonl").write_text(f'{{"step": 0, "reward": {number}}}\n')
        (tmp_path / f"run{number}" / "config.json").write_text(json.dumps({"lr": lr}))
    table = axes_for(open_run(tmp_path).runs)
    rows = ["".join(text for text, _ in row) for row in parallel_rows(table, 0, 60, 12, Symbols.BRAILLE)]
    assert rows[1].split() == ["2", "0.0001"]
    assert rows[-1].split() == ["0", "3e-06"]


def test_an_axis_of_more_than_a_decade_is_logarithmic_unless_it_has_seeds() -> None:
    configs = [{"lr": lr, "width": width, "seed": width} for lr, width in ((1e-4, 1), (3e-4, 20), (3e-3, 30))]
    configs = [{**config, "beta": beta} for config, beta in zip(configs, (0.1, 0.5, 1.0), strict=True)]
    table = axes_for(runs_of(*[{"reward": ([1], [number])} for number in range(3)], configs=configs))
    rows = parallel_rows(table, 0, 100, 24, Symbols.BRAILLE)
    head = "".join(text for text, _ in rows[0])
    assert head.split() == ["reward", "lr", "(log)", "width", "(log)", "beta", "seed"]


def test_names_are_cut_where_their_neighbours_are() -> None:
    name = "actor_optimizer_learning_rate"
    configs = [{name: value, "b" * 30: value, "c" * 30: value} for value in (1e-5, 1e-1)]
    table = axes_for(runs_of(*[{"reward": ([1], [number])} for number in range(2)], configs=configs))
    for width in range(64, 200):
        row = parallel_rows(table, 0, width, 24, Symbols.BRAILLE)[0]
        head = "".join(text for text, _ in row)
        assert head.count("(log)") == len(head.split()) // 2
        assert (f"{name} (log)" in head) == (width >= 126)


def test_a_single_column_has_no_picture(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "metrics.jsonl").write_text(f'{{"step": 0, "reward": {number}}}\n')
    table = axes_for(open_run(tmp_path).runs)
    assert parallel_rows(table, 0, 100, 20, Symbols.BRAILLE) == []


def test_the_better_of_two_lines_is_in_front_and_results_have_four_digits() -> None:
    values = [0.6761141283, 0.7, 0.71, 0.72, 0.8, 0.81, 0.9, 1.1593251883]
    for name, best in (("loss", Role.SERIES_5), ("reward", Role.SERIES_1)):
        runs = runs_of(
            *[{name: ([1], [value])} for value in values],
            configs=[{"lr": number % 2, "beta": number % 2} for number in range(8)],
        )
        table = axes_for(runs)
        rows = parallel_rows(table, -1, 60, 24, Symbols.BRAILLE)
        assert "".join(text for text, _ in rows[1]).split()[0] == "1.159"
        assert "".join(text for text, _ in rows[-1]).split()[0] == "0.6761"
        between = {role for row in rows[2:-1] for x, role in enumerate(r for t, r in row for _ in t) if 35 < x < 50}
        assert between - {Role.AXIS, Role.GOOD} == {best}, "lines of all quarters lie upon each other"


def test_the_colour_of_a_line_is_that_of_the_quarter_of_the_result(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"trial {number}").mkdir()
        (tmp_path / f"trial {number}" / "metrics.jsonl").write_text(f'{{"step": 0, "loss": {number}}}\n')
        (tmp_path / f"trial {number}" / "config.json").write_text(json.dumps({"lr": 12 - number}))
    ordered = list_runs(open_run(tmp_path).runs, Listing(0.0, Symbols.BRAILLE), sort="name")
    assert [run.name for run in ordered] == [f"trial {number}" for number in range(12)]
    axes = axes_for(ordered)
    table = result_of(axes)
    flat = [[role for text, role in row for _ in text] for row in parallel_rows(axes, -1, 60, 27, Symbols.BRAILLE)]
    on_first_axis = [row[8] for row in flat[2:-1] if row[8] is not Role.AXIS]
    quarters = [role for _, role in quarters_row(table, 90) if role is not Role.MUTED]
    best = quarters.pop()
    assert list(dict.fromkeys(reversed(on_first_axis))) == [best, *quarters]
    assert (best, len(quarters)) == (Role.GOOD, 4)
    legend = "".join(text for text, _ in quarters_row(table, 90))
    assert legend == "  loss: ■ lowest ■ 2nd ■ 3rd ■ highest quarter ■ best"
    for room in range(90):
        legend = "".join(text for text, _ in quarters_row(table, room))
        assert len(legend) <= room
        assert legend.endswith("■ best") or not legend, "it is never cut"
    for theme in ("dark", "light", "contrast"):
        colours = [style(theme, role).color for role in quarters]
        hues = [rgb_to_hls(*color.triplet.normalized)[0] for color in colours if color and color.triplet]
        from_violet = [(hue - 0.65) % 1 for hue in hues]
        assert from_violet == sorted(from_violet), "violet, red, orange, yellow"


def test_lines_are_drawn_again_only_after_a_change(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "metrics.jsonl").write_text(f'{{"step": 0, "reward": {number}}}\n')
        (tmp_path / f"run{number}" / "config.json").write_text(json.dumps({"lr": 10.0**-number}))
    contents = contents_of(open_run(tmp_path), RunChoice(all_settings=True), Symbols.BRAILLE, 0.0)
    table = RunTable()
    table.surface = Sheet(Size(180, 48))
    table.show(contents, "dark")
    drawn = table.above()
    assert table.shows_parallel
    table.show(contents, "dark")
    assert table.above() is drawn
    table.cursor = 1
    assert table.above() != drawn, "another run is selected"
