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


def test_rounded_steps_of_lerobot_go_on_evenly(tmp_path: Path) -> None:
    """lerobot/utils/utils.py, format_big_number: "1K" is printed for each step from 1000 to 1400."""
    rounded = [f"{step}" if step < 1000 else f"{step / 1000:.0f}K" for step in range(200, 4000, 200)]
    rows = (f"step:{text} smpl:{text} ep:{8 * row} loss:{row}.5\n" for row, text in enumerate(rounded))
    (tmp_path / "train.log").write_text("".join(rows))
    (run,) = tuimon.read(tmp_path)
    assert run["loss"].steps.tolist() == [*range(200, 4000, 200)]


def test_rounded_steps_alone_are_read_as_written(tmp_path: Path) -> None:
    rows = (f"step:{row // 2 + 1}K ep:{8 * row} loss:{row}.5\n" for row in range(6))
    (tmp_path / "train.log").write_text("".join(rows))
    (run,) = tuimon.read(tmp_path)
    assert set(run["loss"].steps.tolist()) == {1000, 2000, 3000}


def test_nan_within_a_name_is_no_number(tmp_path: Path) -> None:
    rows = (
        f"iteration {step}/ 9 | lm loss: nan | number of nan iterations: {step} | grad norm: 0.5 |\n" for step in (1, 2)
    )
    (tmp_path / "train.log").write_text("".join(rows))
    (run,) = tuimon.read(tmp_path)
    assert run["number of nan iterations"].values.tolist() == [1.0, 2.0]
    assert run["lm loss"].steps.tolist() == [1, 2]


def test_place_of_a_call_is_no_metric(tmp_path: Path) -> None:
    """mindformers/core/callback/callback.py: the call stands within the field of the logger's name."""
    head = "2024-05-01 10:00:01,123 - mindformers[core/callback.py:538] - INFO - "
    rows = (f"{head}{{ Epoch:[  1/  3], step:[{step:5d}/  500], loss: {step}.5, lr: 1e-05\n" for step in (1, 2, 3))
    (tmp_path / "info.log").write_text("".join(rows))
    (run,) = tuimon.read(tmp_path)
    assert set(run.metrics) == {"loss", "lr", "epoch"}
