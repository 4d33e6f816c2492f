"""Rows of the Hugging Face Trainer between progress bars, byte for byte as its ProgressCallback and tqdm write them:
each row has the step at which it was logged, wherever the log is cut and whenever it is read while it grows."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest
from support.json_points import feed, rows, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Fact, Item

Point = tuple[str, int, str]


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


# ---------------------------------------------------------------- bars that are the only rows

BAR = "{}%|###   | {}/{} [00:01<00:01, 5.0it/s{}]"


def bars(name: str, *states: tuple[int, int, str]) -> str:
    return (
        "".join(f"\r{name}{BAR.format(done * 100 // total, done, total, text)}" for done, total, text in states) + "\n"
    )


def last_steps(text: str) -> tuple[list[int], bool]:
    """Return the steps of `loss` after a flush, and whether two more states of the bar make the log be read again."""
    decoder = ConsoleDecoder()
    items = [*decoder.feed(text.encode()), *decoder.flush()]
    steps = [step for step, _ in series(items).get("loss", [])]
    decoder.feed(bars("steps: ", (3, 9, ", loss=0.25"), (4, 9, ", loss=0.125")).encode())
    return steps, decoder.must_reread


def test_newest_state_of_a_bar_is_read_on_a_flush() -> None:
    once = bars("steps: ", (1, 9, ", loss=0.5"), (2, 9, ", loss=0.4"), (3, 9, ", loss=0.25")).rstrip()
    assert last_steps(once) == ([1, 2, 3], False)
    assert last_steps(once[:-1]) == ([1, 2], False), "the end of the bar is missing"
    assert last_steps(once.replace("0.25", "0.3")) == ([1, 2, 3], True), "drawn again with another value"
    twice = bars("steps: ", *((done, 9, f", loss={loss}") for done in (1, 2, 3) for loss in (0.5, 0.25)))
    assert last_steps(twice) == ([1, 2, 3], False)
    assert last_steps(twice[: twice.rindex("\r")]) == ([1, 2], False), "the counts before were drawn twice"
    assert last_steps(bars("steps: ", (1, 9, ", loss=0.5"))) == ([], False)
    assert last_steps(bars("steps: ", (1, 9, ", loss=0.5")) + bars("val: ", (1, 9, ", x_loss=1"))) == ([1], False)


def test_bars_of_a_growing_log_are_read_without_a_flush() -> None:
    decoder = ConsoleDecoder()
    decoder.feed(bars("steps: ", (1, 9, ", loss=0.5"), (2, 9, ", loss=0.4")).encode())
    assert decoder.held_back
    assert series(list(decoder.feed(b"")))["loss"] == [(1, "0.5")]
    assert not decoder.held_back


def test_lines_of_a_log_are_preferred_to_its_bars() -> None:
    bar, line = (
        bars("Epoch 1: ", (9, 10, ", loss=0.5, acc=0.1"), (10, 10, ", loss=0.4, acc=0.2")),
        "Epoch 1: loss=0.45\n",
    )
    decoder = ConsoleDecoder()
    items = [*decoder.feed(bar.encode()), *decoder.flush()]
    assert series(items)["loss"] == [(9, "0.5"), (10, "0.4")]
    assert not decoder.must_reread
    decoder.feed(line.encode())
    assert decoder.must_reread
