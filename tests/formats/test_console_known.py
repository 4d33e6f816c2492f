"""The table of example lines, and the place where the message of a line begins."""

from __future__ import annotations

import pytest
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.families.trainers import Trainer, trainers
from tuimon.formats.console.shapes.roles import examine


@pytest.mark.parametrize(
    "prefix",
    [
        "2020-08-31 14:53:01,644 - train.py[line:175] - INFO: ",
        "02 Mar 10:00    INFO  ",
        "[12/25 14:21:20] ",
        "I0101 10:00:00.123456  1234 solver.cpp:228] ",
        "[2026-08-21 21:31:52 swin_tiny](main.py 278): INFO ",
        "2026-01-29 12:01:00.123 | INFO     | a.b.c:train:1051 - ",
        "WARNING:root:",
        "Mar  3, 2026 10:00:01 ",
    ],
)
def test_what_stands_before_the_message_is_no_metric(prefix: str) -> None:
    layout = examine(f"{prefix}epoch 3 train loss: 0.5")
    assert layout is not None
    assert [column.name for column in layout.columns] == ["train loss"]


@pytest.mark.parametrize(
    "line",
    [
        "best epoch 3 loss: 0.5",
        "saving step 3 with loss 0.5",
        "Resuming from epoch 3, loss: 0.5",
        "{'step': 0, 'reward': -0.67} of type {'step': Number} is not assignable",
        "run/metrics.csv 66 rows {'epoch': 36, 'lr': 30, 'loss': 0.5}",
        "GET /loss/3 HTTP/1.1 200 0.5",
        "loss.cpp: 12 warnings, 3.5 s",
        "=== STEP 7: Force numpy < 2.0 (vllm may pull newer) ===",
    ],
)
def test_other_lines_give_no_metrics(line: str) -> None:
    text = "".join(line.replace("0.5", f"0.{number}5") + "\n" for number in range(1, 9))
    assert series(feed(ConsoleDecoder(), text.encode())) == {}


@pytest.mark.parametrize("trainer", trainers(), ids=lambda trainer: trainer.id)
def test_an_example_of_a_trainer_gives_its_points(trainer: Trainer) -> None:
    text = trainer.example.strip("\n") if trainer.example.startswith("\n") else trainer.example
    read = series(feed(ConsoleDecoder(), f"{text}\n".encode()))
    assert read == {name: [(step, str(float(value)))] for name, (step, value) in trainer.points.items()}


@pytest.mark.parametrize(
    ("first", "later"), [("Epoch 1", "Epoch 1.5"), ("Epoch 1/9", "Epoch 2/9.5"), ("Epoch 1 step 2", "Epoch .2 step 3")]
)
def test_a_fraction_where_other_lines_have_a_step_is_none(first: str, later: str) -> None:
    text = "".join(f"{head}: loss=0.{number}\n" for number, head in enumerate([first, first, later, later, first], 1))
    values = [value for points in series(feed(ConsoleDecoder(), text.encode())).values() for _, value in points]
    assert {"0.1", "0.2", "0.5"} <= set(values)
