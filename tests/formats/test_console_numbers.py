"""Numbers of console text in every notation, with a name or a unit beside them: each is read whole or not at all."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.json_points import facts, feed, series

from tuimon.formats.console._decoder import ConsoleDecoder

HEADS = ("step {}: ", "[{:03}/099] ", "Epoch {}/99 - ", "{} | ", "Iter {}, ")
BEFORE = ("name {}", "name: {}", "name={}", "{} name/s", "name {} img/s", "name: {} tok/s", "({} name/s)")
JOINTS = (" ", " | ", ", ", " - ")


def read(text: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return the values and the units of the metrics of a log."""
    items = feed(ConsoleDecoder(), text.encode())
    values = {name: [float(value) for _, value in points] for name, points in series(items).items()}
    return values, {name: known["unit"] for fact in facts(items, "units") for name, known in fact.items()}


@st.composite
def printed(draw: st.DrawFn) -> tuple[str, float]:
    """A number in one of many notations, and its value."""
    whole = draw(st.integers(0, 10**9))
    fraction = draw(st.integers(0, 999))
    notation = draw(st.sampled_from(("comma", "comma and point", "quote", "underscore", "factor", "exponent", "times")))
    if notation == "comma":
        return f"{whole:,}", whole
    if notation == "comma and point":
        return f"{whole:,}.{fraction}", float(f"{whole}.{fraction}")
    if notation == "quote":
        return f"{whole:,}".replace(",", "'"), whole
    if notation == "underscore":
        return f"{whole:_}", whole
    small = whole % 1000
    if notation == "factor":
        factor = draw(st.sampled_from("kKMG"))
        exponent = {"k": 3, "K": 3, "M": 6, "G": 9}[factor]
        return f"{small}.{fraction}{draw(st.sampled_from(('', ' ')))}{factor}", float(f"{small}.{fraction}e{exponent}")
    exponent = draw(st.integers(-9, 9))
    if notation == "exponent":
        return f"{small}.{fraction}{draw(st.sampled_from('eE'))}{exponent:+03}", float(f"{small}.{fraction}e{exponent}")
    return f"{small}.{fraction} x 10^{exponent}", float(f"{small}.{fraction}e{exponent}")


@given(st.sampled_from(HEADS), st.sampled_from(BEFORE), st.sampled_from(JOINTS), printed(), st.booleans())
def test_a_number_is_read_whole_or_not_at_all(
    head: str, before: str, joint: str, number: tuple[str, float], first: bool
) -> None:
    text, value = number
    parts = [before.format(text), "loss 0.25"]
    lines = [head.format(step) + joint.join(parts if first else parts[::-1]) for step in range(1, 4)]
    points, _ = read("\n".join(lines) + "\n")
    others = [values for name, values in points.items() if name not in ("loss", "epoch")]
    assert {number for values in others for number in values} <= {value}
    assert set(points.get("loss", [])) <= {0.25}


def test_a_number_within_a_name_that_changes_gives_no_metric_per_value() -> None:
    lines = [f"step {step}: loss: 0.5 | image {step % 97} score: 0.25\n" for step in range(1, 200)]
    points, _ = read("".join(lines))
    assert len(points["loss"]) == 199
    assert len(points) < 20


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
    values = {value for found in read(lines)[0].values() for value in found}
    missing = [field for field in fields if field in FIELDS and FIELDS[field] not in values]
    assert not missing, (line, missing)


# ---------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("part", "unit"),
    [
        ("gpu: 160ms", "ms"), ("gpu: 160 ms", "ms"), ("gpu 160ms", "ms"), ("gpu: 1,060 img/s", "img/s"),
        ("gpu=2.40GB", "GB"), ("gpu: 2.40 GiB", "GiB"), ("gpu 1,234.3 samples/s", "samples/s"), ("gpu=81.2%", "%"),
        ("gpu: 1.5sec", "s"), ("gpu: 12.5 tok/s", "tok/s"), ("gpu=3tokens/sec", "tokens/s"), ("gpu: 300W", "W"),
        ("gpu: 61.3/80 GB", "GB"), ("gpu 9.8GiB / 15.9GiB (62%)", "GiB"), ("gpu: 0.4 s/it", "s"),
        ("gpu 40 ms/step", "ms"),
        ("gpu: 160", None), ("gpu: 160, s", None), ("gpu 0.5 min 0.2", None), ("gpu: 0.5 min 0.2", None),
    ],
)  # fmt: skip
def test_the_printed_unit_of_a_metric(part: str, unit: str | None) -> None:
    assert read(f"step 1 loss: 0.25, {part}\n")[1].get("gpu") == unit


@pytest.mark.parametrize(
    ("first", "then", "value"),
    [
        ("950ms", "1.1s", 1100.0), ("1.5s", "950ms", 0.95), ("50s", "1.5min", 90.0), ("90min", "1.5h", 90.0),
        ("900MB", "1.1GB", 1100.0), ("1.1GB", "900MB", 0.9), ("900kB", "1MB", 1000.0), ("512MiB", "1.5GiB", 1536.0),
        ("1GB", "1GiB", 1.073741824), ("250us", "0.7ms", 700.0),
    ],
)  # fmt: skip
def test_later_numbers_are_converted_to_the_first_unit(first: str, then: str, value: float) -> None:
    values, known = read(f"step 1 loss: 0.5, gpu: {first}\nstep 2 loss: 0.5, gpu: {then}\n")
    assert values["gpu"][1] == value
    assert first.endswith(known["gpu"])
