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
