"""Rows of the Hugging Face Trainer between progress bars, byte for byte as its ProgressCallback and tqdm write them:
each row has the step at which it was logged, wherever the log is cut and whenever it is read while it grows."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import feed, rows

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Fact, Item

Point = tuple[str, int, str]


class Trainer:
    """Writes the output of ProgressCallback (transformers/trainer_callback.py) with tqdm (display, moveto, write)."""

    def __init__(self, rng: random.Random, drawn: float = 0.5) -> None:
        """drawn: fraction of the steps at which the bar is drawn; tqdm draws at most every 0.1 s."""
        self.rng = rng
        self.drawn = drawn
        self.text = ""
        self.truth: list[Point] = []
        self.ends: list[int] = []
        """(end of the row in the text, point) for each point."""
        self.total = rng.choice([20, 60])
        self.epochs = rng.choice([1, 3])
        self.bars: list[tuple[int, int]] = []
        """(done, total) of the bar of the training, and of an evaluation's below it."""

    def draw(self, place: int) -> None:
        done, total = self.bars[place]
        share = done / total
        bar = f"{share:4.0%}|{'#' * int(10 * share):10}| {done}/{total} [00:10<01:30, {self.rng.random():5.2f}it/s]"
        self.text += "\n" * place + "\r" + bar + "  " * self.rng.randrange(2) + "\x1b[A" * place

    def clear(self, place: int) -> None:
        self.text += "\n" * place + "\r" + " " * 40 + "\r" + "\x1b[A" * place

    def log(self, row: dict[str, float], step: int) -> None:
        places = list(range(len(self.bars)))
        self.rng.shuffle(places)  # the order of a set
        for place in places:
            self.clear(place)
        self.text += f"{row}\n"
        self.ends += [len(self.text)] * len(row)
        for place in places:
            self.draw(place)
        self.truth += [(name, step, repr(value)) for name, value in row.items()]

    def evaluate(self, step: int) -> None:
        batches = self.rng.choice([1, 7, 100])
        for done in range(0, batches + 1, max(1, batches // 7)):
            self.bars[1:] = [(done, batches)]
            self.draw(1)
        self.log({"eval_loss": self.rng.random(), "epoch": self.epochs * step / self.total}, step)
        del self.bars[1:]
        self.clear(1)

    def train(self) -> None:
        every, evaluated = self.rng.choice([1, 5, 7]), self.rng.choice([5, 10, 20, 1000])
        first = self.rng.choice([0, 0, 10])  # resumed
        for step in (0, *range(first, self.total + 1)):
            self.bars[:1] = [(step, self.total)]
            if step in (0, first) or self.rng.random() < self.drawn:
                self.draw(0)
            if step > first and step % every == 0:
                self.log({"loss": self.rng.uniform(-1, 1), "epoch": self.epochs * step / self.total}, step)
            if step > first and step % evaluated == 0:
                self.evaluate(step)
        self.log({"train_runtime": 12.5, "train_loss": 0.5, "epoch": float(self.epochs)}, self.total)


def items_read_at_cuts(data: bytes, cuts: list[int]) -> list[Item]:
    """Return the items of a reader that reads the log each time it has grown to a cut, as tuimon.reader.follow does."""
    decoder, result = ConsoleDecoder(), list[Item]()
    for begin, end in pairwise(sorted({0, *cuts, len(data)})):
        result += decoder.feed(data[begin:end])
        if not decoder.must_reread:
            result += decoder.flush()
        if decoder.must_reread:
            decoder = ConsoleDecoder()
            result = [*decoder.feed(data[:end]), *decoder.flush()]
    return result


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=True))
def test_each_row_has_the_step_at_which_it_was_logged(rng: random.Random) -> None:
    trainer = Trainer(rng)
    trainer.train()
    data = trainer.text.encode()
    anywhere = [rng.randrange(len(data)) for _ in range(rng.choice([0, 5, 100]))]
    after_brackets = [index + 1 for index, byte in enumerate(data) if byte in b"]}" and rng.random() < 0.3]
    actual = rows(items_read_at_cuts(data, [*anywhere, *rng.choice([[], after_brackets])]))
    assert sorted((name, step, value) for name, step, value, _ in actual) == sorted(trainer.truth)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=True))
def test_training_killed_and_restarted_in_the_same_log(rng: random.Random) -> None:
    killed, again = Trainer(rng, drawn=1.0), Trainer(rng)
    killed.train()
    again.train()
    end = rng.choice([*killed.ends, rng.randrange(len(killed.text))])
    wanted = [point for point, row_end in zip(killed.truth, killed.ends, strict=True) if row_end <= end + 1]
    actual = rows(feed(ConsoleDecoder(), f"{killed.text[:end]}\nloading the model\n{again.text}".encode()))
    assert sorted(point[:3] for point in actual) == sorted(wanted + again.truth)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=True))
def test_row_of_a_log_without_redrawn_bars_belongs_to_the_bar_before_it(rng: random.Random) -> None:
    """Each state of the bar is a line of its own, and one or two rows follow some of them."""
    first, every, total = rng.choice([0, 51]), rng.choice([1, 5, 7]), 60
    text, truth, begin = "", list[Point](), rng.choice(["", "\r"])
    for step in range(first + 1, total + 1):
        text += f"{begin}{step / total:4.0%}|{'#' * (step // 6):10}| {step}/{total} [00:10<01:30, 10.00it/s]\n"
        named = ["loss"] * (step % every == 0) + ["eval_loss"] * (rng.random() < 0.1)
        for name in named:
            text += f"{ {name: step / 8, 'epoch': step / 20} }\n"
            truth += [(name, step, repr(step / 8)), ("epoch", step, repr(step / 20))]
        text += "saving\n" * (rng.random() < 0.1)
    cuts = [rng.randrange(len(text)) for _ in range(rng.choice([0, 5, 100]))]
    actual = rows(items_read_at_cuts(text.encode(), cuts))
    assert sorted((name, step, value) for name, step, value, _ in actual) == sorted(truth)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 200), max_size=30))
def test_bracket_does_not_always_end_a_line(cuts: list[int]) -> None:
    """The log is read between two blocks of buffered output."""
    lines = [
        "step 1: loss=0.5 [0.6] lr=0.1",
        "{'loss': 0.25, 'extra': {'a': 1}, 'step': 2}",
        "{'loss': 1.0,",
        " 'x': {'a': [1]}, 'step': 3}",
    ]
    data = "".join(f"{line}\n" for line in lines).encode()
    wanted = [("loss", 1, "0.5"), ("lr", 1, "0.1"), ("loss", 2, "0.25"), ("loss", 3, "1.0")]
    brackets = [index + 1 for index, byte in enumerate(data) if byte in b"]}"]
    actual = rows(items_read_at_cuts(data, [*(cut for cut in cuts if cut < len(data)), *brackets]))
    assert [(name, step, value) for name, step, value, _ in actual] == wanted


def log_without_bars(per_epoch: int, every: int, rounded: str, header: str, resumed: int) -> tuple[str, list[Point]]:
    """Return the log of a training with disable_tqdm, killed after 3 rows that are trained again, and its points."""
    text, wanted = "", list[Point]()
    for steps in (range(resumed + 1, resumed + 30 * every + 1), range(resumed + 27 * every + 1, 2 * per_epoch + 1)):
        text += f"***** Running training *****\n{header}"
        for step in steps:
            epoch = float(format(step / per_epoch, rounded)) if rounded else step / per_epoch
            logged: list[dict[str, float]] = [{"loss": 1 / step, "epoch": epoch}] if step % every == 0 else []
            if step % (4 * every) == 0:
                logged.append({"eval_loss": 2 / step, "epoch": epoch})
            text += "".join(f"{row}\n" for row in logged)
            wanted += [(name, step, repr(value)) for row in logged for name, value in row.items()]
    return text, wanted


@pytest.mark.parametrize(
    ("per_epoch", "every", "rounded", "resumed"),
    [(500, 10, ".2f", 0), (500, 10, "", 0), (93, 1, "", 0), (937, 20, ".4g", 0), (400, 5, "", 200)],
)
def test_steps_computed_from_epochs_without_bars(per_epoch: int, every: int, rounded: str, resumed: int) -> None:
    header = f"  Num examples = 8,000\n  Num Epochs = 2\n  Total optimization steps = {2 * per_epoch:,}\n"
    text, wanted = log_without_bars(per_epoch, every, rounded, header, resumed)
    for cuts in ([], list(range(0, len(text), 97))):
        items = items_read_at_cuts(text.encode(), cuts)
        assert sorted((name, step, value) for name, step, value, _ in rows(items)) == sorted(wanted)
        assert [item.value["total"] for item in items if isinstance(item, Fact) and "total" in item.value] == [
            2 * per_epoch
        ]
    decoder = ConsoleDecoder()
    feed(decoder, text.encode())
    assert decoder.remark == "rows name no step: it is computed from their epochs"


@pytest.mark.parametrize(
    ("rounded", "header"),
    [
        (".1f", "  Num Epochs = 2\n  Total optimization steps = 1,000\n"),  # 50 steps to a digit
        ("", "  Num Epochs = 2\n  Total optimization steps = 735\n"),  # max_steps
        (
            "",
            "  Num examples = 8,000\n  Num Epochs = 1\n  Total train batch size (w. parallel, distributed & "
            "accumulation) = 16\n  Total optimization steps = 250\n",  # max_steps
        ),
    ],
)
def test_rows_are_counted_if_epochs_do_not_show_their_steps(rounded: str, header: str) -> None:
    text, wanted = log_without_bars(500, 10, rounded, header, 0)
    decoder = ConsoleDecoder()
    actual = rows(feed(decoder, text.encode()))
    assert [value for name, _, value, _ in actual if name == "loss"] == [x for name, _, x in wanted if name == "loss"]
    logged = sum(name == "loss" for name, *_ in wanted)
    assert decoder.remark == f"no step recognised: {logged} rows have their number as step"


BUFFERED = """
import sys

total, every, width = map(int, sys.argv[1:])


def draw(step):
    sys.stderr.write(f"\\r{step / total:4.0%}|{'#' * (10 * step // total):10}| {step}/{total} [00:10<01:30,  4.13s/it]")


def write(row):
    sys.stderr.write("\\r" + " " * 60 + "\\r")
    print(row)
    draw(step)


for step in range(total + 1):
    draw(step)
    if step and step % every == 0:
        write({"loss": step / 8, **{f"part{number}": 0.5 for number in range(width)}, "epoch": round(step / 1e4, 2)})
write({"train_runtime": 5.0, "epoch": 1.0})
"""
"""Writes rows to its output, which Python buffers because it is no terminal, and bars to its error output."""


@pytest.mark.parametrize(
    ("total", "every", "width"), [(300, 1, 60), (600, 5, 60), (1000, 10, 90), (400, 10, 9), (2000, 25, 180)]
)
def test_buffered_rows_have_the_steps_at_which_they_were_logged(total: int, every: int, width: int) -> None:
    command = [sys.executable, "-c", BUFFERED, *map(str, (total, every, width))]
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    output = subprocess.run(
        command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
    ).stdout
    for cuts in ([], range(0, len(output), 997)):
        found = rows(items_read_at_cuts(output, cuts))
        losses = [(step, value) for name, step, value, _ in found if name == "loss"]
        assert losses == [(step, repr(step / 8)) for step in range(every, total + 1, every)]
