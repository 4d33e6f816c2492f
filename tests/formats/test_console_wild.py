"""Console text of people's own scripts, as it is found in public repositories: shapes that lack a step, name it twice,
or place it between other words."""

from __future__ import annotations

from pathlib import Path

import pytest

import tuimon


def test_results_without_a_step_are_dropped_when_rows_name_one(tmp_path: Path) -> None:
    """The lines are read as counted while nothing else is known, and not once a row names its step."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"inner loss: {number}.5\n" for number in range(5)))
    (run,) = tuimon.read(tmp_path)
    assert list(run.metrics) == ["inner loss"]
    with log.open("a") as file:
        file.write("Step 10: loss=0.5\nStep 20: loss=0.25\n")
    (run,) = tuimon.read(tmp_path)
    assert list(run.metrics) == ["loss"]


def test_metrics_that_begin_far_below_the_head_are_found(tmp_path: Path) -> None:
    warnings = "WARNING:tensorflow:From base.py:198: retry is deprecated and will be removed\n" * 200
    rows = "".join(
        f"{'-' * 30}\n| epoch             | {e}   |\n| test/success_rate | 0.{e} |\n{'-' * 30}\n" for e in range(5)
    )
    (tmp_path / "openai_run1.txt").write_text(warnings + rows)
    (run,) = tuimon.read(tmp_path)
    assert run["test/success_rate"].values.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]


def test_prose_with_a_long_head_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("All work and no play makes Jack a dull boy, 12 times a day.\n" * 500)
    with pytest.raises(tuimon.NothingFound):
        tuimon.read(tmp_path)


def test_table_of_several_values_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "train_log.txt").write_text("".join(f"{e} {e}.5 0.25\n" for e in range(8)))
    (run,) = tuimon.read(tmp_path)
    assert run["column 2"].steps.tolist() == [*range(8)]
    assert run["column 2"].values.tolist() == [e + 0.5 for e in range(8)]
    assert run["column 3"].values.tolist() == [0.25] * 8


def test_step_in_the_last_column(tmp_path: Path) -> None:
    (tmp_path / "loss.log").write_text("".join(f"{e}.5 {100 * e}\n" for e in range(8)))
    (run,) = tuimon.read(tmp_path)
    assert run["loss"].steps.tolist() == [100 * e for e in range(8)]
    assert run["loss"].values.tolist() == [e + 0.5 for e in range(8)]


def test_table_of_tabs_with_names_of_words_and_no_step(tmp_path: Path) -> None:
    rows = "".join(f"{e}.5\t0.25\t\n" for e in range(8))
    (tmp_path / "train_log.txt").write_text("total loss\tscore loss\t\n" + rows)
    (run,) = tuimon.read(tmp_path)
    assert list(run.metrics) == ["total loss", "score loss"]
    assert run["total loss"].values.tolist() == [e + 0.5 for e in range(8)]


def test_global_counters_precede_those_of_a_phase(tmp_path: Path) -> None:
    rows = "".join(f"{p},{e},{5 * p + e},{e}.5\n" for p in range(2) for e in range(5))
    (tmp_path / "log.csv").write_text("phase,episode,global_episode,total_reward\n" + rows)
    (run,) = tuimon.read(tmp_path)
    assert run["total_reward"].steps.tolist() == [*range(10)]


def test_console_lines_in_a_file_named_as_a_table(tmp_path: Path) -> None:
    lines = "".join(f"Epoch: [{e}/9], training loss: {e}.5, training accuracy: 50.0%\n" for e in range(1, 10))
    (tmp_path / "train_log.csv").write_text(lines)
    (run,) = tuimon.read(tmp_path)
    assert run["training loss"].values.tolist() == [e + 0.5 for e in range(1, 10)]


def test_the_best_round_of_lightgbm_is_not_read_again(tmp_path: Path) -> None:
    lines = "".join(f"[{number}]\tvalid_1's auc: 0.{number}\tvalid_1's l2: {number}.5\n" for number in (10, 20, 30))
    best = "Early stopping, best iteration is:\n[13]\ttraining's l2: 9.5\tvalid_1's auc: 0.13\tvalid_1's l2: 13.50\n"
    (tmp_path / "train.log").write_text(lines + best)
    (run,) = tuimon.read(tmp_path)
    assert run["valid_1's auc"].steps.tolist() == [10, 20, 30]
    assert run.state == "finished"
    assert run.progress.evidence.startswith("Early stopping, best iteration")
