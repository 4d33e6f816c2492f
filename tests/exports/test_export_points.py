"""Exported points equal the logged ones in every format; clock ticks are converted to seconds."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from support.log_writer import number
from support.made_run import store_of

from tuimon.commands import main
from tuimon.exports.points import Batch, csv_cell, csv_lines, curve_batches, json_lines
from tuimon.formats.wandb.run_file import SYSTEM, WandbDecoder
from tuimon.model.events import AttemptStarted
from tuimon.model.points import Fact, Points
from tuimon.monitor.local import open_run

WANDB = DATA / "wandb"
NAME = "run-vd7v5k5i.wandb"
FORMATS = ("csv", "jsonl", "parquet")

Series = dict[str, list[tuple[float, str]]]


def wanted() -> Series:
    """Points as read by wandb's own reader; steps of system metrics are seconds since the first of them."""
    with gzip.open(WANDB / "truth.json.gz", "rt", encoding="utf-8") as file:
        truth = json.load(file)
    series = {key.partition("::")[2]: truth[key] for key in truth if key.startswith(NAME)}
    return {metric: [(step, repr(number(value))) for step, value, _ in rows] for metric, rows in series.items()}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The points of a file of any format, read by an independent reader."""
    if path.suffix == ".jsonl":
        yield from map(json.loads, path.read_text().splitlines())
    elif path.suffix == ".csv":
        with path.open(newline="") as file:
            yield from csv.DictReader(file)
    else:
        for row in pyarrow.parquet.read_table(path).to_pylist():
            yield {**row, "step": row["seconds"] if row["step"] is None else row["step"]}


def exported(path: Path, target: Path, *options: str) -> list[dict[str, Any]]:
    assert main(["export", str(path), "-o", str(target), "--force", *options]) == 0
    return list(rows(target))


def series(points: list[dict[str, Any]]) -> Series:
    result: Series = {}
    for row in points:
        result.setdefault(row["metric"], []).append((float(row["step"]), repr(float(row["value"]))))
    return result


@pytest.mark.parametrize("file_format", FORMATS)
def test_by_source_system_metrics_are_in_seconds(file_format: str, tmp_path: Path) -> None:
    assert series(exported(WANDB / NAME, tmp_path / f"p.{file_format}", "--by-source")) == wanted()


@pytest.mark.parametrize("file_format", FORMATS)
def test_curves_of_system_metrics_are_in_seconds(file_format: str, tmp_path: Path) -> None:
    result = series(exported(WANDB / NAME, tmp_path / f"p.{file_format}"))
    for metric in (f"{SYSTEM}cpu", "train/loss"):
        assert result[metric] == wanted()[metric]


@pytest.mark.parametrize("piece", [977, 40_000, 1 << 20])
def test_a_clock_is_told_before_its_first_point(piece: int) -> None:
    data, decoder = (WANDB / NAME).read_bytes(), WandbDecoder()
    facts: dict[str, Any] = {}
    seen: set[str] = set()
    for start in range(0, len(data), piece):
        for item in decoder.feed(data[start : start + piece]):
            if isinstance(item, Fact) and item.topic == "metrics":
                facts |= item.value
            elif isinstance(item, Points):
                seen |= {item.names[index] for index in set(item.metric.tolist())}
                assert {name for name in seen if name.startswith(SYSTEM)} <= set(facts)
    clocks = {name for name, known in facts.items() if known.get("steps_per_second") == 1000}
    assert clocks == {name for name in seen if name.startswith(SYSTEM)}


@pytest.mark.parametrize(
    ("name", "options"),
    [("tensorboard", ()), ("tensorboard", ("--by-source",)), ("json", ()), ("csv", ("--by-source",))],
)
def test_all_formats_contain_the_same_points(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    """Three writers compared through three independent readers, bit by bit, with NaN and infinities."""
    owner = "source" if options else "run"
    first, *others = (
        [
            (row[owner], int(row["step"]), repr(float(row["value"])), repr(float(row["wall_time"] or "nan")))
            for row in exported(DATA / name, tmp_path / f"p.{file_format}", *options)
        ]
        for file_format in FORMATS
    )
    assert others == [first, first]
    assert len(first) > 100


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(-(2**63), 2**63 - 1),
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(0, 4e9) | st.just(math.nan),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_numbers_read_back_as_they_were(points: list[tuple[int, int, float, float]]) -> None:
    names = ("a", 'b"c,\n', "\ud800=d")
    metric, steps, values, times = (list(column) for column in zip(*points, strict=True))
    batch = Batch(
        "run", names, np.array(metric, np.uint32), np.array(steps, np.int64), np.array(values), np.array(times), {}
    )
    result = list(map(json.loads, json_lines(batch, "run").splitlines()))
    assert [row["metric"] for row in result] == [names[index] for index in metric]
    assert [row["step"] for row in result] == steps
    assert [repr(float(row["value"])) for row in result] == [repr(value) for value in values]
    wall_times = [math.nan if row["wall_time"] is None else row["wall_time"] for row in result]
    assert wall_times == pytest.approx(times, rel=0, abs=0, nan_ok=True)
    cells = list(csv.reader(io.StringIO(csv_lines(batch, False), newline=""), strict=True))
    assert [(int(step), repr(float(value))) for _, _, step, value, _ in cells] == [
        (row["step"], repr(float(row["value"]))) for row in result
    ]


@given(st.text(max_size=12))
def test_a_cell_reads_back_and_is_never_a_formula(text: str) -> None:
    cell = csv_cell(text)
    (row,) = list(csv.reader([cell + ",end"], strict=True)) if "\n" not in cell and "\r" not in cell else [[None, ""]]
    if row[0] is not None:
        assert row[0] in (text, "'" + text)
        assert row[0][:1] not in tuple("=+-@\t\r")


@pytest.mark.parametrize("options", [(), ("--by-source",)])
def test_metrics_can_be_chosen(options: tuple[str, ...], tmp_path: Path) -> None:
    everything = series(exported(WANDB / NAME, tmp_path / "all.jsonl", *options))
    some = series(exported(WANDB / NAME, tmp_path / "some.jsonl", *options, "--metric", "train/*", "--metric", "*cpu"))
    assert some == {name: rows for name, rows in everything.items() if name[:6] == "train/" or name[-3:] == "cpu"}
    assert some


@pytest.mark.parametrize(
    "name", ["tensorboard", "wandb", "exports", "mlflow", "store_resume", "store_purge", "swanlab"]
)
def test_points_in_pieces_equal_those_of_the_curves(name: str) -> None:
    for run in open_run(DATA / name).runs:
        pieces: dict[str, list[tuple[Any, ...]]] = {}
        for metric, *columns in run.points(rows=7):
            assert 0 < len(columns[0]) <= 7
            pieces.setdefault(metric, []).append(tuple(columns))
        assert tuple(pieces) == run.metrics
        for metric, result in pieces.items():
            curve = run.curve(metric)
            every = curve.steps, curve.values, curve.wall_times
            for column, asked in zip(zip(*result, strict=True), every, strict=True):
                np.testing.assert_array_equal(np.concatenate(column), asked)


def test_a_resumed_run_is_exported_one_curve_at_a_time() -> None:
    """Joining attempts takes 24 bytes per point, for one metric at a time."""
    metrics, count = 40, 20_000
    steps = [*range(count // 2), *range(count // 4, count // 4 + count // 2)]
    store = store_of({f"metric {i}": (steps, np.arange(count) * 0.5 + i) for i in range(metrics)})
    store.apply(AttemptStarted(0, count // 4, count // 2 - 1, 1, (count // 2,) * metrics))
    snapshot = store.snapshot()
    tracemalloc.start()
    try:
        written = sum(len(batch) for batch in curve_batches(snapshot))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written == metrics * (count - count // 4)
    assert peak < 8 * 24 * count
