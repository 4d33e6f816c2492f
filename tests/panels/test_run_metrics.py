"""Metrics of runs that spell them differently: by name, by concept, by words."""

from __future__ import annotations

import pytest
from support.made_run import runs_of, text
from support.tables import column_of

from tuimon.analysis.run_filter import parse
from tuimon.model.views import Symbols
from tuimon.panels.lists.run_metrics import (
    METRIC,
    metric_of,
    metric_with_words,
    value_of,
)
from tuimon.panels.lists.run_selection import FilterFields, filter_problem, list_runs
from tuimon.panels.lists.runs import Listing, run_columns

STEPS = (0, 1, 2)
RUNS = runs_of(
    {"loss": (STEPS, [3, 2, 1]), "val_loss": (STEPS, [0.9, 0.4, 0.6])},
    {"train/loss": (STEPS, [3, 2, 1]), "eval/loss": (STEPS, [0.9, 0.2, 0.3])},
    {"test_loss": (STEPS, [0.9, 0.8, 0.7]), "reward": (STEPS, [0.1, 0.9, 0.5])},
    {"my_metric": (STEPS, [5, 6, 7])},
)
KERAS, TRAINER, TORCH, PART = RUNS


@pytest.mark.parametrize("wanted", ["val_loss", "eval/loss", "test_loss", "EVAL/LOSS", "loss.val", "validation loss"])
def test_validation_losses_are_one_metric_in_every_spelling(wanted: str) -> None:
    assert [value_of(run, wanted) for run in RUNS] == [0.6, 0.3, 0.7, None]


def test_best_value_follows_the_direction_of_the_metric() -> None:
    assert value_of(KERAS, "best(val_loss)") == 0.4
    assert value_of(TORCH, "best(reward)") == value_of(TORCH, "best_reward") == 0.9
    assert value_of(KERAS, "best_nosuch") is None


def test_unknown_quantities_are_joined_by_name_only() -> None:
    assert metric_of(PART, "my_metric") is not None
    assert metric_of(PART, "other_metric") is None
    assert metric_of(KERAS, "my_metric") is None


def test_words_find_a_metric_of_any_run() -> None:
    assert metric_with_words(RUNS, "my") == "my_metric"
    assert metric_with_words(RUNS, "Validation Loss") == "val_loss"
    assert metric_with_words(RUNS, "val loss") == "val_loss"
    assert metric_with_words(RUNS, "nosuch") == metric_with_words(RUNS, " ") == ""


def test_the_best_value_of_a_metric_can_be_a_column() -> None:
    assert metric_with_words(RUNS, "best(val loss)") == metric_with_words(RUNS, "best(val loss") == "best(val_loss)"
    assert metric_with_words(RUNS, "best(nosuch)") == metric_with_words(RUNS, "best(") == ""
    listing = Listing(0.0, Symbols.BRAILLE, metric="best(val_loss)")
    assert list_runs(RUNS, listing, None, METRIC)[:3] == (TRAINER, KERAS, TORCH)
    column = column_of(run_columns(listing), METRIC)
    assert [text(column.show(run, 8)) for run in RUNS[:3]] == ["0.4000", "*0.2000", "*0.7000"]
    assert column.head == "best(val_loss)"


def test_filter_and_sort_by_any_metric() -> None:
    listing = Listing(0.0, Symbols.BRAILLE, metric="val_loss")
    wanted = parse("val_loss<0.65")
    assert list_runs(RUNS, listing, wanted, METRIC) == (TRAINER, KERAS)
    assert list_runs(RUNS, listing, None, METRIC)[:3] == (TRAINER, KERAS, TORCH)
    assert list_runs(RUNS, listing, None, METRIC, reverse=True)[:3] == (TORCH, KERAS, TRAINER)
    assert FilterFields(TORCH, listing, {}).metric("best(reward)") == 0.9
    assert column_of(run_columns(listing), METRIC).head == "val_loss"


def test_unknown_metric_of_a_filter_is_named() -> None:
    listing = Listing(0.0, Symbols.BRAILLE)
    assert "val_loss" in filter_problem(RUNS, listing, parse("val_los<1"), 0)
    assert filter_problem(RUNS, listing, parse("val_loss<0.1"), 0) == ""


def test_runs_are_sorted_by_the_numbers_in_their_names() -> None:
    runs = runs_of(*[{"loss": (STEPS, [3, 2, 1])}] * 11)
    listed = list_runs(runs, Listing(0.0, Symbols.BRAILLE), sort="name")
    assert [run.name for run in listed[1:3]] == ["run1", "run2"]
    assert listed[-1].name == "run10"
