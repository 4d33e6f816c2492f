"""Runs with one metric of unknown meaning, such as the trials of a hyperparameter search."""

from __future__ import annotations

import math

import pytest
from support.made_run import run_of, runs_of, snapshot_of, text

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.summary_text import as_text
from tuimon.model.points import Fact
from tuimon.model.views import Symbols
from tuimon.panels.lists.hparam_rows import hparam_table, rank_correlations
from tuimon.panels.lists.run_rows import head_row, layout
from tuimon.panels.lists.run_selection import list_runs
from tuimon.panels.lists.runs import Listing, columns_of, headed, useful_columns

VALUES = (0.5, 0.9375, 0.75)
CONFIGS = [{"alpha": alpha, "penalty": "l2"} for alpha in (0.1, 0.2, 0.3)]
SERIES = [{"value": ([0, 1], [0.0, value])} for value in VALUES]


def test_run_list_and_settings_have_the_value_of_each_trial() -> None:
    runs, listing = runs_of(*SERIES, configs=CONFIGS), Listing(1.8e9, Symbols.BRAILLE)
    columns = headed(columns_of(listing), runs)
    useful = useful_columns(runs, listing)
    assert "objective" in useful
    assert "value" in text(head_row(layout(120, useful, 10, columns), "", False, Symbols.BRAILLE, 120))
    assert [run.name for run in list_runs(runs, listing, sort="objective")] == ["run1", "run2", "run0"]
    table = hparam_table(runs)
    assert table.columns == ("run", "objective", "alpha")
    assert [row[1:] for _, row in table.rows] == [(0.5, 0.1), (0.9375, 0.2), (0.75, 0.3)]


def test_summary_of_trials_has_values_and_parameters() -> None:
    lines = list(as_text(snapshot_of(*SERIES, configs=CONFIGS), 1.8e9))
    assert lines[0].split()[-2:] == ["value", "alpha"]
    assert [line.split()[-2:] for line in lines[1:4]] == [["0.5000", "0.1"], ["0.9375", "0.2"], ["0.7500", "0.3"]]


def test_runs_with_a_loss_have_no_objective() -> None:
    runs = runs_of({"loss": ([1, 2], [2.0, 1.0])}, {"a": ([1], [1.0]), "b": ([1], [1.0])})
    assert "objective" not in useful_columns(runs, Listing(1.8e9, Symbols.BRAILLE))


def test_a_pruned_trial_is_not_called_finished() -> None:
    run = run_of(SERIES[0], [Fact("state", {"state": "pruned", "evidence": "Optuna: pruned"})])
    claim = progress_of(run, 1.8e9).claim
    assert (claim.word, claim.reason, claim.evidence) == ("ended", "logged", "Optuna: pruned")


def test_rank_correlation_of_numbers_with_the_objective() -> None:
    values, alphas = (0.1, 0.4, 0.4, 0.9, 0.8), (1e-5, 1e-4, 1e-3, 1e-1, 1e-2)
    configs = [{"alpha": alpha, "penalty": "l1" if alpha < 1e-3 else "l2"} for alpha in alphas]
    table = hparam_table(runs_of(*[{"value": ([1], [value])} for value in values], configs=configs))
    assert table.head(1) == "value"
    [correlation] = rank_correlations(table, table.rows)
    # ranks of alpha 1 2 3 5 4, of the values 1 2.5 2.5 5 4
    assert (correlation.name, correlation.count) == ("alpha", 5)
    assert correlation.rho == pytest.approx(9.5 / math.sqrt(10 * 9.5))
    assert rank_correlations(table, table.rows[:4]) == []
