"""Exported points: steps that are a clock are told in seconds, those of the training as they are."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from log_writer import number

from tuimon.exports import points
from tuimon.formats.wandb import SYSTEM, WandbDecoder
from tuimon.model.points import Fact, Points
from tuimon.monitor.local import open_run
from tuimon.reader import Collector

WANDB = Path(__file__).parent / "data" / "wandb"
NAME = "run-vd7v5k5i.wandb"


def wanted() -> dict[str, list[tuple[float, str]]]:
    """What wandb's own reader gives; the steps of system metrics are seconds since the first of them."""
    with gzip.open(WANDB / "truth.json.gz", "rt", encoding="utf-8") as file:
        truth = json.load(file)
    series = {key.partition("::")[2]: truth[key] for key in truth if key.startswith(NAME)}
    return {metric: [(step, repr(number(value))) for step, value, _ in rows] for metric, rows in series.items()}


def read(text: str) -> dict[str, list[tuple[float, str]]]:
    found: dict[str, list[tuple[float, str]]] = {}
    for row in map(json.loads, text.splitlines()):
        found.setdefault(row["metric"], []).append((row["step"], repr(float(row["value"]))))
    return found


def test_by_source_system_metrics_are_in_seconds() -> None:
    collector = Collector([str(WANDB / NAME)])
    list(collector.find())
    stream = io.StringIO()
    points.write_sources(collector.in_file_order(), stream, "jsonl")
    assert read(stream.getvalue()) == wanted()


@pytest.mark.parametrize("file_format", ["jsonl", "csv"])
def test_as_curves_too(file_format: str) -> None:
    stream = io.StringIO()
    points.write_curves(open_run(WANDB / NAME), stream, file_format)
    metric = f"{SYSTEM}cpu"
    if file_format == "jsonl":
        assert read(stream.getvalue())[metric] == wanted()[metric]
    else:
        rows = [line.split(",") for line in stream.getvalue().splitlines()]
        assert [float(row[2]) for row in rows if row[1] == metric] == [step for step, _ in wanted()[metric]]
        assert {row[2] for row in rows if row[1] == "train/loss"} == {str(step) for step, _ in wanted()["train/loss"]}


@pytest.mark.parametrize("piece", [977, 40_000, 1 << 20])
def test_a_clock_is_told_before_its_first_point(piece: int) -> None:
    data, decoder = (WANDB / NAME).read_bytes(), WandbDecoder()
    told: dict[str, Any] = {}
    seen: set[str] = set()
    for start in range(0, len(data), piece):
        for item in decoder.feed(data[start : start + piece]):
            if isinstance(item, Fact) and item.topic == "metrics":
                told |= item.value
            elif isinstance(item, Points):
                seen |= {item.names[index] for index in set(item.metric.tolist())}
                assert {name for name in seen if name.startswith(SYSTEM)} <= set(told)
    clocks = {name for name, known in told.items() if known.get("steps_per_second") == 1000}
    assert clocks == {name for name in seen if name.startswith(SYSTEM)}
