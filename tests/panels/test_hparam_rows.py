"""The table of hyperparameters: which columns it has, how it sorts, and that secrets are hidden."""

from __future__ import annotations

from typing import Any

import pytest
from support.made_run import run_of, text

from tuimon.model.points import Fact, Topic
from tuimon.model.views import Symbols
from tuimon.panels.lists.hparam_rows import column_widths, head_row, hparam_table, sort_rows, table_row
from tuimon.store import Run


def run(reward: float, **config: Any) -> Run:
    return run_of({"reward": ([1], [reward])}, [Fact(Topic.CONFIG, config)])


RUNS = (
    run(0.5, lr="1e-5", algo={"clip": 0.2}, seed=1, api_key="sk-" + "a" * 40),
    run(float("nan"), lr=0.003, algo={"clip": 0.2}, seed=1, api_key="sk-" + "b" * 40),
    run(0.1, algo={"clip": 0.3}, seed=1),
)


def test_columns_are_metrics_and_the_settings_that_differ() -> None:
    table = hparam_table(RUNS)
    assert set(table.columns) >= {"run", "reward", "lr", "algo.clip"}
    assert "loss" not in table.columns
    assert "seed" not in table.columns
    assert table.equal >= 1
    assert "aaaa" not in str([values for _, values in table.rows])


def test_a_later_table_has_new_points_runs_and_settings() -> None:
    runs = run(0.5, lr=1e-5, seed=1), run(0.1, lr=0.003, seed=1)
    table = hparam_table(runs)
    later = runs[0], run(0.7, lr=0.003, seed=1)
    assert hparam_table(later, table) == hparam_table(later)
    assert hparam_table(later, table).rows[1][1][1] == 0.7
    assert hparam_table(later, table).different is table.different, "no settings are compared again"
    for changed in ((*later, run(1.0, lr=1)), (later[0], run(0.7, lr=0.003, seed=2)), later[::-1]):
        assert hparam_table(changed, table) == hparam_table(changed)


def test_numbers_sort_as_numbers_and_unknown_values_come_last() -> None:
    table = hparam_table(RUNS)
    for name, order in (("lr", [0, 1, 2]), ("reward", [2, 0, 1])):
        column = table.columns.index(name)
        rows = sort_rows(table, column, reverse=False)
        assert [next(i for i, r in enumerate(RUNS) if r is run) for run, _ in rows] == order
        back = sort_rows(table, column, reverse=True)
        assert [next(i for i, r in enumerate(RUNS) if r is run) for run, _ in back] == [order[1], order[0], order[2]]


def test_the_sorted_column_is_visible_in_a_narrow_terminal() -> None:
    runs = [run(0.5, **{f"setting{number:02}": number + index for number in range(30)}) for index in range(2)]
    table = hparam_table(runs)
    for sort in range(len(table.columns)):
        widths = column_widths(table, 40, sort)
        assert sort in widths
        head = text(head_row(table, widths, sort, False, Symbols.ASCII))
        assert "^" in head
        assert len(head) <= 40
        assert len(text(table_row(table.rows[0][1], widths, False, table.columns))) <= 40


@pytest.mark.parametrize("width", range(2, 30))
@pytest.mark.parametrize("sort", [0, 1, 3])
def test_the_name_is_shown_at_every_width(width: int, sort: int) -> None:
    table = hparam_table(RUNS)
    widths = column_widths(table, width, sort)
    for row in (
        head_row(table, widths, sort, False, Symbols.BRAILLE),
        table_row(table.rows[0][1], widths, True, table.columns),
    ):
        assert 1 < len(text(row)) <= width
