"""Counters that begin again with each epoch, in JSON lines and tables."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.json_points import feed, series

from tuimon.formats.json import lines
from tuimon.formats.tables import csv
from tuimon.model.points import Item

COUNTERS: list[list[Any]] = tomllib.loads((Path(__file__).parent / "cases" / "counters.toml").read_text())["counters"]


def written(places: Sequence[tuple[float, int]], key: str = "iter") -> bytes:
    """Return JSON lines with a loss at each (epoch, count)."""
    rows = ({"epoch": epoch, key: count, "loss": float(index)} for index, (epoch, count) in enumerate(places))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def steps(items: Sequence[Item], name: str = "loss") -> list[int]:
    return [step for step, _ in series(items).get(name, [])]


@pytest.mark.parametrize(("name", "key", "places", "expected"), COUNTERS)
def test_steps_of_a_counter(name: str, key: str, places: list[tuple[float, int]], expected: list[int]) -> None:
    data = written(places, key)
    table = f"epoch,{key},loss\n" + "".join(f"{epoch},{count},{index}\n" for index, (epoch, count) in enumerate(places))
    for size in (len(data), 37, 1):
        assert steps(feed(lines.decoder(), data, range(0, len(data), size))) == expected, name
        assert steps(feed(csv.TableDecoder(), table.encode(), range(0, len(table), size))) == expected, name
    if key.startswith("batch") and places[0][1] == 0:
        assert not steps(lines.tail(data[:90], data[-80:]))


def test_preview_is_empty_if_its_steps_depend_on_the_epochs_before() -> None:
    restarting = [(epoch, step) for epoch in range(5) for step in range(100)]
    global_steps = [(epoch, 100 * epoch + step) for epoch in range(5) for step in range(100)]
    for places, expected in ((restarting, []), (global_steps, [499])):
        data = written(places)
        for size in (500, len(data) // 2):
            found = steps(lines.tail(data[:500], data[-size:]))[-1:]
            assert found == (expected if size > 500 else []), (size, found)
    data = written(restarting)
    assert steps(lines.tail(data[:500], data[500:1000])), "the first epoch"
