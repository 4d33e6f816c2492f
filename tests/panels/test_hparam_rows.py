"""The table of hyperparameters: which columns it has, how it sorts, and that secrets are hidden."""

from __future__ import annotations

from typing import Any

import pytest
from support.made_run import run_of, runs_of, text

from tuimon.model.points import Fact, Topic
from tuimon.model.views import Symbols
from tuimon.panels.lists.hparam_rows import (
    column_widths,
    correlation_row,
    head_row,
    hparam_table,
    rank_correlations,
    sort_rows,
    table_row,
)
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
        assert len(text(table_row(table.rows[0][1], widths, False, table))) <= 40


@pytest.mark.parametrize("width", range(2, 30))
@pytest.mark.parametrize("sort", [0, 1, 3])
def test_the_name_is_shown_at_every_width(width: int, sort: int) -> None:
    table = hparam_table(RUNS)
    widths = column_widths(table, width, sort)
    for row in (
        head_row(table, widths, sort, False, Symbols.BRAILLE),
        table_row(table.rows[0][1], widths, True, table),
    ):
        assert 1 < len(text(row)) <= width


def sweep() -> tuple[Run, ...]:
    """Six runs: the accuracy rises with lr and falls with beta, the loss is the same for all, seeds are 0 to 5."""
    accuracies = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    series = [
        {"loss": ([1, 2], [2.0, 1.0]), "val_acc": ([1, 2], [accuracy + 0.1, accuracy])} for accuracy in accuracies
    ]
    configs = [{"seed": number, "beta": 6 - number // 2, "lr": 10.0**-number, "loss": "mse"} for number in range(6)]
    return runs_of(*series, configs=[{**config, "loss": f"kind{config['seed']}"} for config in configs])


def test_a_chosen_metric_is_the_first_result_and_what_settings_correlate_with() -> None:
    table = hparam_table(sweep(), metric="val_acc")
    assert [table.head(column) for column in range(len(table.columns))][:3] == ["run", "val_acc", "loss"]
    assert [values[1] for _, values in table.rows] == [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    correlations = rank_correlations(table, table.rows)
    assert [name for name, *_ in correlations] == ["lr", "beta", "seed"]
    shown = text(correlation_row(table, correlations, 200))
    assert shown.startswith(" rank correlation with val_acc (6 runs):  lr -1.00  beta -0.96")
    assert shown.endswith("seed +1.00 (a seed)")
    assert text(correlation_row(table, correlations, 60)) == " rank correlation with val_acc (6 runs):  lr -1.00  …"
    best = hparam_table(sweep(), table, "best(val_acc)")
    assert [values[1] for _, values in best.rows] == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])


def test_the_loss_is_not_shown_twice_and_a_setting_may_have_its_name() -> None:
    table = hparam_table(sweep(), metric="loss")
    assert [table.head(column) for column in range(len(table.columns))] == ["run", "loss", "lr", "beta", "loss", "seed"]
    assert [table.is_result(column) for column in range(len(table.columns))] == [False, True] + [False] * 4
    assert "kind3" in text(table_row(table.rows[3][1], column_widths(table, 120, 0), False, table))
