"""Rows of the Hugging Face Trainer between its progress bars, byte for byte as its ProgressCallback and tqdm write
them: each row has the step at which it was logged, however the log is cut and looked at while it grows."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from json_points import feed, rows

from tuimon.formats.console import ConsoleDecoder
from tuimon.model.points import Item

Point = tuple[str, int, str]


class Trainer:
    """transformers/trainer_callback.py (ProgressCallback) on tqdm/std.py (display, moveto, write)."""

    def __init__(self, chance: random.Random, drawn: float = 0.5) -> None:
        """drawn: the share of the steps at which the bar is drawn, which is not done more often than every 0.1 s."""
        self.chance = chance
        self.drawn = drawn
        self.text = ""
        self.truth: list[Point] = []
        self.ends: list[int] = []
        """Where the row ends in the text that a point is in."""
        self.total = chance.choice([20, 60])
        self.epochs = chance.choice([1, 3])
        self.bars: list[tuple[int, int]] = []
        """(done, total) of the training's bar, and of an evaluation's below it."""

    def draw(self, place: int) -> None:
        done, total = self.bars[place]
        share = done / total
        bar = f"{share:4.0%}|{'#' * int(10 * share):10}| {done}/{total} [00:10<01:30, {self.chance.random():5.2f}it/s]"
        self.text += "\n" * place + "\r" + bar + "  " * self.chance.randrange(2) + "\x1b[A" * place

    def clear(self, place: int) -> None:
        self.text += "\n" * place + "\r" + " " * 40 + "\r" + "\x1b[A" * place

    def log(self, row: dict[str, float], step: int) -> None:
        places = list(range(len(self.bars)))
        self.chance.shuffle(places)  # the order of a set
        for place in places:
            self.clear(place)
        self.text += f"{row}\n"
        self.ends += [len(self.text)] * len(row)
        for place in places:
            self.draw(place)
        self.truth += [(name, step, repr(value)) for name, value in row.items()]

    def evaluate(self, step: int) -> None:
        batches = self.chance.choice([1, 7, 100])
        for done in range(0, batches + 1, max(1, batches // 7)):
            self.bars[1:] = [(done, batches)]
            self.draw(1)
        self.log({"eval_loss": self.chance.random(), "epoch": self.epochs * step / self.total}, step)
        del self.bars[1:]
        self.clear(1)

    def train(self) -> None:
        every, evaluated = self.chance.choice([1, 5, 7]), self.chance.choice([5, 10, 20, 1000])
        first = self.chance.choice([0, 0, 10])  # resumed
        for step in (0, *range(first, self.total + 1)):
            self.bars[:1] = [(step, self.total)]
            if step in (0, first) or self.chance.random() < self.drawn:
                self.draw(0)
            if step > first and step % every == 0:
                self.log({"loss": self.chance.uniform(-1, 1), "epoch": self.epochs * step / self.total}, step)
            if step > first and step % evaluated == 0:
                self.evaluate(step)
        self.log({"train_runtime": 12.5, "train_loss": 0.5, "epoch": float(self.epochs)}, self.total)


def looked_at(data: bytes, cuts: list[int]) -> list[Item]:
    """What a reader has that looks at the log whenever it has grown to a cut: see tuimon.reader.follow."""
    decoder, found = ConsoleDecoder(), list[Item]()
    for begin, end in pairwise(sorted({0, *cuts, len(data)})):
        found += decoder.feed(data[begin:end])
        if not decoder.disproved:
            found += decoder.flush()
        if decoder.disproved:
            decoder = ConsoleDecoder()
            found = [*decoder.feed(data[:end]), *decoder.flush()]
    return found


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=True))
def test_each_row_has_the_step_at_which_it_was_logged(chance: random.Random) -> None:
    trainer = Trainer(chance)
    trainer.train()
    data = trainer.text.encode()
    anywhere = [chance.randrange(len(data)) for _ in range(chance.choice([0, 5, 100]))]
    behind_brackets = [at + 1 for at, byte in enumerate(data) if byte in b"]}" and chance.random() < 0.3]
    found = rows(looked_at(data, [*anywhere, *chance.choice([[], behind_brackets])]))
    assert sorted((name, step, value) for name, step, value, _ in found) == sorted(trainer.truth)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=True))
def test_a_training_that_was_killed_and_begun_again_in_the_same_log(chance: random.Random) -> None:
    killed, again = Trainer(chance, drawn=1.0), Trainer(chance)
    killed.train()
    again.train()
    end = chance.choice([*killed.ends, chance.randrange(len(killed.text))])
    wanted = [point for point, row_end in zip(killed.truth, killed.ends, strict=True) if row_end <= end + 1]
    found = rows(feed(ConsoleDecoder(), f"{killed.text[:end]}\nloading the model\n{again.text}".encode()))
    assert sorted(point[:3] for point in found) == sorted(wanted + again.truth)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 200), max_size=30))
def test_a_line_is_not_at_its_end_behind_any_bracket(cuts: list[int]) -> None:
    """A look between two blocks of a buffered output."""
    lines = [
        "step 1: loss=0.5 [0.6] lr=0.1",
        "{'loss': 0.25, 'extra': {'a': 1}, 'step': 2}",
        "{'loss': 1.0,",
        " 'x': {'a': [1]}, 'step': 3}",
    ]
    data = "".join(f"{line}\n" for line in lines).encode()
    wanted = [("loss", 1, "0.5"), ("lr", 1, "0.1"), ("loss", 2, "0.25"), ("loss", 3, "1.0")]
    brackets = [at + 1 for at, byte in enumerate(data) if byte in b"]}"]
    found = rows(looked_at(data, [*(cut for cut in cuts if cut < len(data)), *brackets]))
    assert [(name, step, value) for name, step, value, _ in found] == wanted
