"""Numbers in lines of metrics that give no point."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.text import is_text


def unread(*lines: str) -> str:
    decoder = ConsoleDecoder()
    decoder.feed("".join(f"{line}\n" for line in lines).encode())
    return decoder.unread()


def test_numbers_that_are_not_read_are_named() -> None:
    lines = [f"step {step}: loss: 0.5 vram {step}K, done" for step in range(1, 11)]
    assert unread(*lines) == "`vram 1K` (in all of the first 10 lines)"
    assert unread(*lines[:2]) == ""
    mixed = [*lines[:6], *(f"step {step}: loss: 0.5" for step in range(11, 15))]
    assert unread(*mixed) == "`vram 1K` (in 6 of the first 10 lines)"


def test_all_numbers_of_a_line_that_are_not_read_are_named() -> None:
    lines = [f"step {step}: loss: 0.5 vram {step}K, done at 1{step} tok/s so far" for step in range(1, 11)]
    assert unread(*lines) == "`vram 1K`, `11 tok/s` (in all of the first 10 lines)"


def test_factors_and_rates_per_device_are_named() -> None:
    lines = [f"step {step}: loss: 0.5 | cuda_memory: 42G | mem_per_gpu: 8.15K" for step in range(1, 11)]
    assert unread(*lines) == "`cuda_memory: 42G`, `mem_per_gpu: 8.15K` (in all of the first 10 lines)"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_with_letters_that_are_not_ascii_are_whole(encoding: str) -> None:
    decoder = ConsoleDecoder()
    read = series(
        decoder.feed("".join(f"Größe: 55µs step={step} loss=0.5 für\n" for step in range(9)).encode(encoding))
    )
    assert list(read) == ["Größe", "loss"]
    assert is_text("".join(f"Größe {step}: step={step} loss=0.5\n" for step in range(9)).encode(encoding))


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-22 10:00:00,871 INFO [train.py:895] Epoch {}/30 [120/500] loss: 0.5 acc=81.2% lr 1e-4 ETA 0:03:12",
        "step {}/500 loss: 0.5, tokens: 81,920, rate: 12.1k tok/s, gpu_mem: 2.40 GB after 3 tries",
        "[{}/30] loss 0.5 | VRAM 9.8/15.9GB (62%) | mem 61.3 / 80 GB | GPU 97% | 412 ms/it | 3k tok/s/gpu | ETA 2 min",
        "[{}] train-logloss:0.7 eval-logloss:0.72",
        "{{'loss': 0.5, 'epoch': {}}}",
    ],
)
def test_lines_that_are_read_whole(line: str) -> None:
    assert unread(*(line.format(number) for number in range(1, 20))) == ""


def test_a_bounded_number_of_lines_is_examined() -> None:
    lines = [f"step {step}: loss: 0.5 vram {step}K, done" for step in range(1, 500)]
    decoder = ConsoleDecoder()
    for line in lines:
        decoder.feed(f"{line}\n".encode())
    assert decoder.unread() == "`vram 1K` (in all of the first 64 lines)"


FIELDS = {
    "ppl 10.1": 10.1, "lr 3.0e-04": 3e-4, "gnorm=0.81": 0.81, "acc: 71.2%": 71.2, "top 5 acc 0.625": 0.625,
    "‖g‖: 0.8125": 0.8125, "412 ms/it": 412.0, "413ms/step": 413.0, "0.411 s/it": 0.411, "time 414 ms": 414.0,
    "415 ms": 415.0, "18.2k tok/s": 18200.0, "18.4k tok/s/gpu": 18400.0, "tokens/s 18.6k": 18600.0, "4.3 it/s": 4.3,
    "mem 61.3/80 GB": 61.3, "mem: 61.5GB/80.0GB": 61.5, "ram 61.7 / 80 GB": 61.7, "VRAM 10.8/15.9GB (62%)": 10.8,
    "peak 9.6GB (60%)": 9.6, "7.25 GB": 7.25, "swap 512M": 512e6, "tokens: 1.2B": 1.2e9, "seen 81,920": 81920.0,
    "GPU 98%": 98.0, "step_time=0.41s": 0.41,
}  # fmt: skip
"""Spellings of a name or a unit with a number, and the value."""
IGNORED = ("eta=3:12:00", "ETA 2.5 min", "elapsed 0:10:00", "phase warmup", "batch 16", "warmup", "done 3/40")


@given(
    st.sampled_from(("it {}/50 | ", "step {}: ", "[it {}] ", "[{}/500] ", "2026-11-25 10:00:01 INFO step {} - ")),
    st.sampled_from((" | ", ", ", "  ", "; ", " - ", "\t")),  # one blank leaves open whose unit "5 tokens/s 7" names
    st.lists(st.sampled_from(sorted({*FIELDS, *IGNORED})), min_size=1, max_size=7, unique=True),
    st.integers(0, 7),
    st.sampled_from(("loss 2.31", "loss: 2.31", "loss=2.31")),
)
def test_each_number_with_a_name_or_a_unit_is_read_or_named(
    head: str, separator: str, fields: list[str], place: int, loss: str
) -> None:
    line = separator.join([*fields[:place], loss, *fields[place:]])
    lines = "".join(f"{head.format(step)}{line}\n" for step in range(1, 11))
    decoder = ConsoleDecoder()
    points = series(feed(decoder, lines.encode()))
    values = {float(value) for _, value in (point for found in points.values() for point in found)}
    said = decoder.unread()
    for field in fields:
        if field in FIELDS and FIELDS[field] not in values and not decoder.remark:
            digits = max(re.findall(r"\d[\d.,]*(?:e-\d+)?", field), key=len)
            assert digits in said, (line, field, said)
