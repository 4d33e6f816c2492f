"""Runs with one metric of unknown meaning, such as the trials of a hyperparameter search."""

from __future__ import annotations

from support.made_run import run_of, runs_of, snapshot_of, text
from support.tables import fitted_runs, run_rows

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.summary_text import as_text
from tuimon.model.points import Fact
from tuimon.model.views import Symbols
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.run_selection import list_runs
from tuimon.panels.lists.runs import Listing

VALUES = (0.5, 0.9375, 0.75)
CONFIGS = [{"alpha": alpha, "penalty": "l2"} for alpha in (0.1, 0.2, 0.3)]
SERIES = [{"value": ([0, 1], [0.0, value])} for value in VALUES]


def test_run_list_and_settings_have_the_value_of_each_trial() -> None:
    runs, listing = runs_of(*SERIES, configs=CONFIGS), Listing(1.8e9, Symbols.BRAILLE)
    assert "objective" in {column.id for column, _ in fitted_runs(runs, listing, 120)}
    assert "value" in text(run_rows(runs, listing, 120)[0])
    assert [run.name for run in list_runs(runs, listing, sort="objective")] == ["run1", "run2", "run0"]
    settings = different_settings(runs)
    assert (settings.names, list(settings.values.values())) == (("alpha",), [(0.1,), (0.2,), (0.3,)])


def test_summary_of_trials_has_values_and_parameters() -> None:
    lines = list(as_text(snapshot_of(*SERIES, configs=CONFIGS), 1.8e9))
    assert lines[0].split()[-2:] == ["value", "alpha"]
    assert [line.split()[-2:] for line in lines[1:4]] == [["0.5000", "0.1"], ["0.9375", "0.2"], ["0.7500", "0.3"]]


def test_runs_with_a_loss_have_no_objective() -> None:
    runs = runs_of({"loss": ([1, 2], [2.0, 1.0])}, {"a": ([1], [1.0]), "b": ([1], [1.0])})
    shown = {column.id for column, _ in fitted_runs(runs, Listing(1.8e9, Symbols.BRAILLE), 200)}
    assert "objective" not in shown


def test_a_pruned_trial_is_not_called_finished() -> None:
    run = run_of(SERIES[0], [Fact("state", {"state": "pruned", "evidence": "Optuna: pruned"})])
    progress = progress_of(run, 1.8e9)
    assert (progress.state, progress.reason, progress.fact) == ("ended", "logged", "Optuna: pruned")
