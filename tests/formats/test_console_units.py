"""Units that console text prints after numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.json_points import facts, feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Item


def units(items: Sequence[Item]) -> dict[str, str]:
    return {name: known["unit"] for fact in facts(items, "units") for name, known in fact.items()}


def read(text: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return the values and the units of the metrics of a log."""
    items = feed(ConsoleDecoder(), text.encode())
    return {name: [float(value) for _, value in points] for name, points in series(items).items()}, units(items)


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


def test_a_unit_is_emitted_once() -> None:
    decoder = ConsoleDecoder()
    lines = [f"step {step}/60 loss: 0.{step:03}, step_time: {step}ms\n".encode() for step in range(1, 60)]
    items = [item for line in lines for item in decoder.feed(line)]
    assert facts(items, "units") == [{"step_time": {"unit": "ms"}}]
    assert facts(items[:1], "units")  # before the first points


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


def test_numbers_without_an_exact_factor_are_a_metric_of_their_own() -> None:
    values, known = read("step 1 loss: 0.5, rate: 3 img/s\nstep 2 loss: 0.5, rate: 7 tok/s\n")
    assert values == {"loss": [0.5, 0.5], "rate": [3.0], "rate (tok/s)": [7.0]}
    assert known == {"rate": "img/s", "rate (tok/s)": "tok/s"}


@pytest.mark.parametrize("switch", [0, 1, 40, 41])
def test_lines_of_one_statement_are_converted_too(switch: int) -> None:
    """Lines that are read with one expression, whose first number may be 0 in any unit."""
    lines = [f"step {step} loss: 0.25 gpu: {step}.0{'ms' if step <= switch else 's'}\n" for step in range(200)]
    values, known = read("".join(["step 0 loss: 0.25 gpu: 0.5ms\n", *lines]))
    assert values["gpu"] == [0.5, *(float(step if step <= switch else 1000 * step) for step in range(200))]
    assert known == {"gpu": "ms"}


def test_units_of_trainers() -> None:
    deepspeed = "timer.py: epoch=0/micro_step=1/global_step=1, CurrSamplesPerSec=2.5, MemAllocated=0.07GB\n"
    assert read(deepspeed) == ({"CurrSamplesPerSec": [2.5], "MemAllocated": [0.07]}, {"MemAllocated": "GB"})
    prime = "16:03:09 SUCCESS Step 3 | 10.21s | Throughput 8123 tokens/s | Peak Mem. 61.3 GiB\n"
    assert read(prime)[1] == {"time/step": "s", "perf/throughput": "tokens/s", "perf/peak_memory": "GiB"}


def test_units_of_tasks() -> None:
    lines = "".join(f"[rank{rank}]: step 1 loss: 0.5, gpu: 2.5GB\n" for rank in range(2))
    assert read(lines)[1] == {"gpu": "GB", "rank1/gpu": "GB"}
