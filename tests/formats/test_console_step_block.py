"""Console text in which the step has a line of its own, and other lines whose step was misread or not read."""

from __future__ import annotations

import math

import pytest
from support.json_points import feed, series

from tuimon.formats.console.text import ConsoleDecoder


def read(text: str, ended: bool = False) -> dict[str, list[tuple[int, float]]]:
    decoder = ConsoleDecoder()
    items = [*feed(decoder, text.encode()), *(decoder.end() if ended else ())]
    return {name: [(step, float(value)) for step, value in points] for name, points in series(items).items()}


@pytest.mark.parametrize(
    ("head", "joint"), [("Step {}/90:", ": "), ("--- Iteration {} ---", " = "), ("[update {}]", "="), ("step {}", ": ")]
)
def test_lines_below_a_step_belong_to_it(head: str, joint: str) -> None:
    blocks = [
        f"{head.format(step)}\n  lr{joint}1e-05\n  train/loss{joint}0.{step}\n  acc{joint}93.{step}%\nsaved model.pt\n"
        for step in (10, 20, 30)
    ]
    assert read("".join(blocks)) == {
        "lr": [(10, 1e-5), (20, 1e-5), (30, 1e-5)],
        "train/loss": [(10, 0.10), (20, 0.20), (30, 0.30)],
        "acc": [(10, 93.10), (20, 93.20), (30, 93.30)],
    }


@pytest.mark.parametrize(
    "text",
    [
        "Step 1/9\nRUN pip install: 3.5\n",  # docker build
        "Step 3:\nx = 0.5\ny = 1.5\n",  # a solution of a language model
        "Step 3\nepochs: 5\n\nloss is fine\n",
        "Step 3:\nlr: 0.5\nsaved model.pt\nx: 0.5\n",  # no longer the block
    ],
)
def test_a_block_without_a_result_of_training_gives_no_point(text: str) -> None:
    assert read(text) == {}


@pytest.mark.parametrize(
    "line",
    [
        "[update {}/900] | train-auc: 0.5 | test-auc: 0.6",
        "[round {}/900] | train-auc: 0.5 | test-auc: 0.6",
        "[{}/900] | train-auc 0.5 | test-auc 0.6",
        "2026-09-21T14:13:20.000Z INFO trainer: {{'step': {}, 'train-auc': 0.5, 'test-auc': 0.6}}",
        "2026-09-21T14:13:20.000Z INFO trainer: [{}/900] train-auc 0.5 test-auc 0.6",
        "global_step {}: {{'train-auc': '0.5', 'test-auc': '0.6'}}",
    ],
)
def test_step_of_a_line_is_read_and_not_counted(line: str) -> None:
    steps = (100, 150, 200, 250)
    text = "".join(line.format(step) + "\n" for step in steps)
    assert read(text) == {"train-auc": [(step, 0.5) for step in steps], "test-auc": [(step, 0.6) for step in steps]}


def test_usual_names_need_no_loss_beside_them() -> None:
    assert read("train-error: 0.5, eval-error: 0.6, step: 7\n") == {"train-error": [(7, 0.5)], "eval-error": [(7, 0.6)]}
    assert read("[3]\tloss/train:0.5\tgnorm:1.5\n") == {"loss/train": [(3, 0.5)], "gnorm": [(3, 1.5)]}
    assert read("[3]\tloss:inf\tgnorm:inf\n") == {"loss": [(3, math.inf)], "gnorm": [(3, math.inf)]}
    assert read("| iter | train-rmse |\n|---|---|\n| 4 | 0.5 |\n") == {"train-rmse": [(4, 0.5)]}
    assert read("step 5  loss=nan  0.499 s/it\n")["s/it"] == [(5, 0.499)]


def bar(done: int, loss: str = "") -> str:
    return f"\r{done}%|##  | {done}/100 [00:01<00:09, 5.0it/s{loss and f', loss={loss}'}]"


def test_bar_of_a_resumed_training_goes_on_at_its_count() -> None:
    begun = "".join(bar(done, "0.5") for done in (10, 20, 30))
    resumed = read(f"{begun}\n{bar(25, '0.4')}{bar(35, '0.4')}{bar(45, '0.4')}\n")
    assert [step for step, _ in resumed["loss"]] == [10, 20, 30, 25, 35, 45]
    again = read(f"{begun}\n{bar(0)}{bar(10, '0.4')}{bar(20, '0.4')}\n")
    assert [step for step, _ in again["loss"]] == [10, 20, 30, 40, 50]


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        ("step=30 loss=0.25 acc=0.71", {"loss": 0.25, "acc": 0.71}),
        ("step=30 loss=0.25 acc=0.7", {"loss": 0.25}),
        ("step=30 loss=0.25 ac", {"loss": 0.25}),
        ("step=30 loss=0.2", {}),
        ("step=3", {}),
    ],
)
def test_number_that_is_cut_at_the_end_of_a_log_is_no_point(last: str, wanted: dict[str, float]) -> None:
    points = read(f"step=29 loss=0.26 acc=0.70\n{last}", ended=True)
    assert {name: values[1:] for name, values in points.items() if values[1:]} == {
        name: [(30, value)] for name, value in wanted.items()
    }
