"""Runs with one metric of unknown meaning, such as the trials of a hyperparameter search."""

from __future__ import annotations

from support.made_run import run_of, snapshot_of

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.summary_text import as_text
from tuimon.model.points import Fact

VALUES = (0.5, 0.9375, 0.75)
CONFIGS = [{"alpha": alpha, "penalty": "l2"} for alpha in (0.1, 0.2, 0.3)]
SERIES = [{"value": ([0, 1], [0.0, value])} for value in VALUES]


def test_summary_of_trials_has_values_and_parameters() -> None:
    lines = list(as_text(snapshot_of(*SERIES, configs=CONFIGS), 1.8e9))
    assert lines[0].split()[-2:] == ["value", "alpha"]
    assert [line.split()[-2:] for line in lines[1:4]] == [["0.5000", "0.1"], ["0.9375", "0.2"], ["0.7500", "0.3"]]


def test_a_pruned_trial_is_not_called_finished() -> None:
    run = run_of(SERIES[0], [Fact("state", {"state": "pruned", "evidence": "Optuna: pruned"})])
    progress = progress_of(run, 1.8e9)
    assert (progress.state, progress.reason, progress.fact) == ("ended", "logged", "Optuna: pruned")
