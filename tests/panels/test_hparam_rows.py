"""The table of hyperparameters: which columns it has, how it sorts, and that secrets are hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made_run import run_of, runs_of, text

from tuimon.model.points import Fact, Topic
from tuimon.model.views import Role, Symbols
from tuimon.panels.lists.comparison import compare
from tuimon.panels.lists.hparam_rows import (
    column_widths,
    correlation_row,
    effects_in,
    effects_row,
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


def test_a_long_head_gets_the_cells_that_no_column_takes() -> None:
    table = hparam_table([run(0.5, lr_scheduler_type=kind, seed=7) for kind in ("linear", "cosine")])
    for width, shown in ((80, True), (31, False)):
        head = text(head_row(table, column_widths(table, width, 0), 0, False, Symbols.ASCII))
        assert ("lr_scheduler_type" in head) is shown


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
    assert [item.name for item in correlations] == ["lr", "beta", "seed"]
    shown = text(correlation_row(table, correlations, 200))
    assert shown == " rank correlation with val_acc (6 runs):  lr -1.00  beta -0.96  seed +1.00 (noise)"
    assert text(correlation_row(table, correlations, 54)).endswith(":  lr -1.00  …")
    best = hparam_table(sweep(), table, "best(val_acc)")
    assert [values[1] for _, values in best.rows] == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])


def test_the_loss_is_not_shown_twice_and_a_setting_may_have_its_name() -> None:
    table = hparam_table(sweep(), metric="loss")
    assert [table.head(column) for column in range(len(table.columns))] == ["run", "loss", "lr", "beta", "loss", "seed"]
    assert [table.is_result(column) for column in range(len(table.columns))] == [False, True] + [False] * 4
    widths = column_widths(table, 120, 0)
    row = text(table_row(table.rows[3][1], widths, False, table))
    assert "kind3" in row
    assert text(table_row(table.rows[3][1], widths, True, table, "✗ ")) == f"▌✗ {row[1:]}"
    head = text(head_row(table, widths, 0, False, Symbols.BRAILLE))
    assert text(head_row(table, widths, 0, False, Symbols.BRAILLE, "  ")) == f"   {head[1:]}"


def noisy_sweep() -> tuple[Run, ...]:
    """Eight runs, four of each learning rate. The last points of two runs are outliers."""
    series, configs = [], []
    for number in range(8):
        rate = (1e-3, 1e-2)[number % 2]
        values = np.linspace(0, 0.5 + 0.2 * (number % 2), 100) + 0.001 * number
        values[-1] += {0: 0.6, 1: -0.6}.get(number, 0)
        series.append({"reward": (range(100), values.tolist()), "loss": (range(100), (1 - values).tolist())})
        configs.append({"lr": rate, "beta": (1, 4, 2, 3, 4, 1, 3, 2)[number], "seed": number})
    return runs_of(*series, configs=configs)


def test_a_result_is_the_level_that_compare_uses_unless_last_or_best_is_chosen() -> None:
    runs = noisy_sweep()
    [levels] = [metric.levels for metric in compare(runs, {"reward"}).metrics]
    table = hparam_table(runs)
    assert [values[1] for _, values in table.rows] == [level.value for level in levels if level]
    assert table.has_levels
    lasts = hparam_table(runs, table, "last(reward)")
    assert lasts.columns[:4] == ("run", "metric", "reward", "loss"), "the level stays beside the last value"
    assert [values[1] for _, values in lasts.rows] == [run.curve("reward").values[-1] for run in runs]
    bests = hparam_table(runs, table, "best(reward)")
    assert [values[1] for _, values in bests.rows] == [run.curve("reward").values.max() for run in runs]


def test_levels_stop_where_only_one_run_goes_on() -> None:
    runs = runs_of(*[{"reward": (range(end), [float(step) for step in range(end)])} for end in (10, 20, 40)])
    assert [values[1] for _, values in hparam_table(runs).rows] == pytest.approx([8.5, 17.0, 17.0])


def test_correlations_that_chance_explains_are_marked() -> None:
    table = hparam_table(noisy_sweep())
    row = correlation_row(table, rank_correlations(table, table.rows), 200)
    assert "  lr +0.87  beta " in text(row)
    assert text(row).count("(noise)") == 2
    [beta] = [index for index, (part, _) in enumerate(row) if "beta" in part]
    assert row[beta + 1][1] is Role.MUTED


def test_the_best_value_of_a_setting_is_that_of_equal_runs() -> None:
    """beta raises the reward by 1; the learning rate by 2, of which one pair is noisy."""
    cells = [(lr, beta) for lr in (1, 2) for beta in (1, 4)] * 2
    runs = runs_of(
        *[{"reward": ([*range(20)], [2.0 * lr + (beta == 4) + 0.01 * n] * 20)} for n, (lr, beta) in enumerate(cells)],
        configs=[{"lr": lr, "beta": beta, "seed": n} for n, (lr, beta) in enumerate(cells)],
    )
    table = hparam_table(runs)
    effects = effects_in(table, table.rows)
    assert [(effect.name, effect.best, effect.pairs) for effect in effects] == [("lr", 2, 4), ("beta", 4, 4)]
    row = text(effects_row(table, effects, 200))
    assert row.startswith(" best of equal runs:  lr 2 +2.020 to 1 (4 pairs)  beta 4 +1.010 to 1 (4 pairs)")
    assert text(effects_row(table, effects, 52)).endswith(" to 1 (4 pairs)  …")
    assert effects_row(table, (), 200) == ()


def test_settings_are_compared_at_a_step_that_all_runs_have_reached() -> None:
    """lr 3 is ahead at step 60, where its runs end; the others go on and reach more; one run has crashed at once."""
    rates, lengths = (1, 1, 2, 2, 3, 3, 3), (100, 100, 100, 100, 60, 60, 5)
    series = [
        {"reward": (range(end), [rate * step + number % 2 + step % 3 for step in range(end)])}
        for number, (rate, end) in enumerate(zip(rates, lengths, strict=True))
    ]
    configs = [{"lr": rate, "seed": number} for number, rate in enumerate(rates)]
    table = hparam_table(runs_of(*series, configs=configs))
    at_60 = [float(np.mean(own["reward"][1][54:60])) for own in series[:6]]
    assert table.comparable[:6] == pytest.approx(at_60)
    assert table.comparable[6] is None
    levels = [values[table.columns.index("reward")] for _, values in table.rows]
    assert tuple(levels[:6]) == table.comparable[:6], "the table has the levels that settings are compared by"
    assert table.until == 59


@pytest.mark.parametrize(("metric", "falls"), [("loss", True), ("best(loss)", True), ("reward", False), ("", None)])
def test_results_know_which_values_are_better(metric: str, falls: bool | None) -> None:
    table = hparam_table(noisy_sweep(), metric=metric)
    if falls is not None:
        assert table.is_falling(1) is falls
    assert not table.is_falling(table.columns.index("lr"))
    assert not table.is_falling(0)
