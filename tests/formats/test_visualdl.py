"""VisualDL records: values, times, settings, and any split of the bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuimon.formats import recognise
from tuimon.formats.visualdl import FORMAT, VisualDLDecoder
from tuimon.model.points import Fact, Points

[PATH] = (Path(__file__).parent.parent / "data" / "visualdl").rglob("vdlrecords*")


@pytest.mark.parametrize("size", [1 << 20, 1000, 7])
def test_points_and_settings(size: int) -> None:
    data = PATH.read_bytes()
    assert recognise(PATH.name, data[:4096]) is FORMAT
    decoder = VisualDLDecoder()
    items = [item for start in range(0, len(data), size) for item in decoder.feed(data[start : start + size])]
    points: dict[str, list[tuple[int, float, float]]] = {}
    for item in items:
        if isinstance(item, Points):
            for row, metric in enumerate(item.metric.tolist()):
                point = int(item.steps[row]), float(item.values[row]), float(item.wall_times[row])
                points.setdefault(item.names[metric], []).append(point)
    assert sorted(points) == ["acc", "loss"]
    assert [step for step, _, _ in points["loss"]] == list(range(40))
    assert points["loss"][1] == (1, 1.0, 1795000000.223)
    assert [item.value for item in items if isinstance(item, Fact)] == [{"lr": 0.1, "optimizer": "adam"}]


def test_length_that_is_damaged() -> None:
    [damage] = VisualDLDecoder().feed(b"\xff" * 100)
    assert (damage.offset, damage.reason) == (0, "not a record")  # type: ignore[union-attr]
