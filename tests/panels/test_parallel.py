"""Test parallel coordinates: axes, labels, and where the lines cross them."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import rgb_to_hls

import pytest
from support.made_run import runs_of, snapshot_of, text

from tuimon.draw.ascii import ascii_text
from tuimon.model.views import Role, Row, Size, Symbols
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.parallel import Axis, axes_of, parallel_rows, quarters_row, result_of
from tuimon.panels.lists.run_metrics import RunLevels
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


def made(*configs: dict[str, object], metric: str = "reward", values: Sequence[float] | None = None) -> tuple[Run, ...]:
    """Return a run for each of these settings, with 0, 1, 2, … as its value."""
    return runs_of(*({metric: ([1], [value])} for value in values or range(len(configs))), configs=configs)


def words_of(row: Row) -> list[str]:
    return text(row).split()


@pytest.mark.parametrize("symbols", list(Symbols))
def test_lines_cross_the_axes_at_their_values(symbols: Symbols) -> None:
    runs = made(*({"lr": lr, "algo": algo, "same": 1} for lr, algo in [(1e-5, "grpo"), (1e-3, "ppo"), (1e-1, "ppo")]))
    rows = parallel_rows(axes_for(runs), 0, 100, 24, symbols)
    assert len(rows) == 24
    assert words_of(rows[0]) == ["reward", "lr", "(log)", "algo"]
    assert words_of(rows[1]) == ["2", "0.1", "ppo"]
    assert words_of(rows[-1]) == ["0", "1e-05", "grpo"]
    assert all(len(text(row)) == 100 for row in rows)
    assert symbols is not Symbols.ASCII or ascii_text("".join(map(text, rows))).isascii()
    flat = [[(glyph, role) for text, role in row for glyph in text] for row in rows[2:-1]]
    for place in (8, 50, 92):
        crossed = [y for y, row in enumerate(flat) if row[place][1] is not Role.AXIS]
        assert (crossed[0], crossed[-1]) == (0, len(flat) - 1)
    assert flat[-1][8][1] is Role.ACCENT, "the selected run has the lowest reward"
    assert flat[0][8][1] is Role.GOOD, "the best run"
    middle = Role.SERIES_3  # the second quarter of the reward
    assert any(row[50][1] is middle for row in flat[8:13]), "1e-3 is in the middle of a log axis"


def test_axes_of_numbers_in_texts_of_more_than_a_decade_and_of_seeds() -> None:
    rows = parallel_rows(axes_for(made({"lr": "3e-6"}, {"lr": 1e-5}, {"lr": "1e-4"})), 0, 60, 12, Symbols.BRAILLE)
    assert (words_of(rows[1]), words_of(rows[-1])) == (["2", "0.0001"], ["0", "3e-06"])
    columns = zip((1e-4, 3e-4, 3e-3), (1, 20, 30), (0.1, 0.5, 1.0), strict=True)
    runs = made(*({"lr": lr, "width": width, "seed": width, "beta": beta} for lr, width, beta in columns))
    head = parallel_rows(axes_for(runs), 0, 100, 24, Symbols.BRAILLE)[0]
    assert words_of(head) == ["reward", "lr", "(log)", "width", "(log)", "beta", "seed"]
    assert parallel_rows(axes_for(made({}, {})), 0, 100, 20, Symbols.BRAILLE) == [], "a single column has no picture"


def test_names_are_cut_where_their_neighbours_are() -> None:
    name = "actor_optimizer_learning_rate"
    axes = axes_for(made(*({name: value, "b" * 30: value, "c" * 30: value} for value in (1e-5, 1e-1))))
    for width in (64, 65, 90, 125, 126, 199):
        head = text(parallel_rows(axes, 0, width, 24, Symbols.BRAILLE)[0])
        assert head.count("(log)") == len(head.split()) // 2
        assert (f"{name} (log)" in head) == (width >= 126)


def test_the_better_of_two_lines_is_in_front_and_results_have_four_digits() -> None:
    values = [0.6761141283, 0.7, 0.71, 0.72, 0.8, 0.81, 0.9, 1.1593251883]
    for name, best in (("loss", Role.SERIES_5), ("reward", Role.SERIES_1)):
        runs = made(*({"lr": n % 2, "beta": n % 2} for n in range(8)), metric=name, values=values)
        rows = parallel_rows(axes_for(runs), -1, 60, 24, Symbols.BRAILLE)
        assert (words_of(rows[1])[0], words_of(rows[-1])[0]) == ("1.159", "0.6761")
        between = {role for row in rows[2:-1] for x, role in enumerate(r for t, r in row for _ in t) if 35 < x < 50}
        assert between - {Role.AXIS, Role.GOOD} == {best}, "lines of all quarters lie upon each other"


def test_the_colour_of_a_line_is_that_of_the_quarter_of_the_result() -> None:
    axes = axes_for(made(*({"lr": 12 - number} for number in range(12)), metric="loss"))
    table = result_of(axes)
    flat = [[role for text, role in row for _ in text] for row in parallel_rows(axes, -1, 60, 27, Symbols.BRAILLE)]
    on_first_axis = [row[8] for row in flat[2:-1] if row[8] is not Role.AXIS]
    quarters = [role for _, role in quarters_row(table, 90) if role is not Role.MUTED]
    best = quarters.pop()
    assert list(dict.fromkeys(reversed(on_first_axis))) == [best, *quarters]
    assert (best, len(quarters)) == (Role.GOOD, 4)
    assert text(quarters_row(table, 90)) == "  loss: ■ lowest ■ 2nd ■ 3rd ■ highest quarter ■ best"
    for room in range(90):
        legend = text(quarters_row(table, room))
        assert len(legend) <= room
        assert legend.endswith("■ best") or not legend, "it is never cut"
    for theme in ("dark", "light", "contrast"):
        colours = [style(theme, role).color for role in quarters]
        hues = [rgb_to_hls(*color.triplet.normalized)[0] for color in colours if color and color.triplet]
        from_violet = [(hue - 0.65) % 1 for hue in hues]
        assert from_violet == sorted(from_violet), "violet, red, orange, yellow"


def test_lines_are_drawn_again_only_after_a_change() -> None:
    snapshot = snapshot_of(
        *({"reward": ([1], [number])} for number in range(3)), configs=[{"lr": 10.0**-number} for number in range(3)]
    )
    contents = contents_of(snapshot, RunChoice(all_settings=True), Symbols.BRAILLE, 0.0)
    table = RunTable()
    table.surface = Sheet(Size(180, 48))
    table.show(contents, "dark")
    drawn = table.above()
    assert table.shows_parallel
    table.show(contents, "dark")
    assert table.above() is drawn
    table.cursor = 1
    assert table.above() != drawn, "another run is selected"
