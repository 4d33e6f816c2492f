"""Numbers with a name or a unit beside them: in which spellings they are metrics."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.text import is_text


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_with_letters_that_are_not_ascii_are_whole(encoding: str) -> None:
    decoder = ConsoleDecoder()
    read = series(
        decoder.feed("".join(f"Größe: 55µs step={step} loss=0.5 für\n" for step in range(9)).encode(encoding))
    )
    assert list(read) == ["Größe", "loss"]
    assert is_text("".join(f"Größe {step}: step={step} loss=0.5\n" for step in range(9)).encode(encoding))


def test_a_number_in_angle_brackets_keeps_its_name() -> None:
    lines = "".join(f"step {step} loss <0.{step}5>\n" for step in range(1, 9))
    assert list(series(feed(ConsoleDecoder(), lines.encode()))) == ["loss"]


FIELDS = {
    "ppl 10.1": 10.1, "lr 3.0e-04": 3e-4, "gnorm=0.81": 0.81, "acc: 71.2%": 71.2, "top 5 acc 0.625": 0.625,
    "‖g‖: 0.8125": 0.8125, "412 ms/it": 412.0, "413ms/step": 413.0, "0.411 s/it": 0.411, "time 414 ms": 414.0,
    "18.2k tok/s": 18200.0, "18.4k tok/s/gpu": 18400.0, "tokens/s 18.6k": 18600.0, "4.3 it/s": 4.3,
    "mem 61.3/80 GB": 61.3, "mem: 61.5GB/80.0GB": 61.5, "ram 61.7 / 80 GB": 61.7, "VRAM 10.8/15.9GB (62%)": 10.8,
    "peak 9.6GB (60%)": 9.6, "swap 512M": 512e6, "tokens: 1.2B": 1.2e9, "seen 81,920": 81920.0,
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
@example("it {}/50 | ", "\t", ["done 3/40", "seen 81,920", "acc: 71.2%"], 0, "loss 2.31")
def test_each_number_with_a_name_or_a_unit_is_read(
    head: str, separator: str, fields: list[str], place: int, loss: str
) -> None:
    line = separator.join([*fields[:place], loss, *fields[place:]])
    lines = "".join(f"{head.format(step)}{line}\n" for step in range(1, 11))
    decoder = ConsoleDecoder()
    points = series(feed(decoder, lines.encode()))
    values = {float(value) for _, value in (point for found in points.values() for point in found)}
    missing = [field for field in fields if field in FIELDS and FIELDS[field] not in values]
    assert not missing, (line, missing)
