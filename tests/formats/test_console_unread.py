"""Numbers in lines of metrics that give no point."""

from __future__ import annotations

import pytest

from tuimon.formats.console.text import ConsoleDecoder


def unread(*lines: str) -> str:
    decoder = ConsoleDecoder()
    decoder.feed("".join(f"{line}\n" for line in lines).encode())
    return decoder.unread()


def test_numbers_that_are_not_read_are_named() -> None:
    lines = [f"step {step}: loss: 0.5 tokens {1000 * step:,}, done" for step in range(1, 11)]
    assert unread(*lines) == "`tokens 1,000` (in all of the first 10 lines)"
    assert unread(*lines[:2]) == ""
    mixed = [*lines[:6], *(f"step {step}: loss: 0.5" for step in range(11, 15))]
    assert unread(*mixed) == "`tokens 1,000` (in 6 of the first 10 lines)"


def test_all_numbers_of_a_line_that_are_not_read_are_named() -> None:
    lines = [f"step {step}: loss: 0.5 tokens {1000 * step:,}, done at 1{step} tok/s so far" for step in range(1, 11)]
    assert unread(*lines) == "`tokens 1,000`, `11 tok/s` (in all of the first 10 lines)"


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-22 10:00:00,871 INFO [train.py:895] Epoch {}/30 [120/500] loss: 0.5 acc=81.2% lr 1e-4 ETA 0:03:12",
        "step {}/500 loss: 0.5, tokens: 81,920, rate: 12.1k tok/s, gpu_mem: 2.40 GB after 3 tries",
        "[{}] train-logloss:0.7 eval-logloss:0.72",
        "{{'loss': 0.5, 'epoch': {}}}",
    ],
)
def test_lines_that_are_read_whole(line: str) -> None:
    assert unread(*(line.format(number) for number in range(1, 20))) == ""


def test_a_bounded_number_of_lines_is_examined() -> None:
    lines = [f"step {step}: loss: 0.5 tokens {1000 * step:,}, done" for step in range(1, 500)]
    decoder = ConsoleDecoder()
    for line in lines:
        decoder.feed(f"{line}\n".encode())
    assert decoder.unread() == "`tokens 1,000` (in all of the first 64 lines)"
