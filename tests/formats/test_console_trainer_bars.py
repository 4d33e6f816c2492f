"""Rows of the Hugging Face Trainer between progress bars, byte for byte as its ProgressCallback and tqdm write them:
each row has the step at which it was logged, wherever the log is cut and whenever it is read while it grows."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize(("count", "steps"), [(2, [175, 200]), (8, [158, 164, 170, 176, 182, 188, 194, 200])])
def test_rows_of_one_epoch_lie_between_the_bars_around_them(count: int, steps: list[int]) -> None:
    text = "".join(
        "{'loss': 0.5, 'epoch': 0.1}\n" * rows_above
        + f"\r{bar // 10:3}%|#         | {bar}/1000 [00:10<01:30,  4.13s/it]\n"
        for bar, rows_above in ((0, 0), (50, 1), (100, 1), (150, 1), (200, count))
    )
    found = [step for name, step, *_ in rows(feed(ConsoleDecoder(), text.encode())) if name == "loss"]
    assert found == [50, 100, 150, *steps]


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
