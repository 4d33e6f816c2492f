"""The README's promise: the output of `export --by-source` equals, to the last bit, what was logged, or what
TensorBoard's own reader and Python's json module read from the same files."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA
from support.event_points import accumulated

from tuimon.commands import main

Series = dict[str, list[tuple[int, float]]]
EVENT_FILES = sorted(path for path in DATA.rglob("*tfevents*") if path.is_file())


def export(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["export", str(path), "--by-source", "--format", "jsonl", "--strict"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return [json.loads(line) for line in printed.out.splitlines()]


def series(points: Iterable[dict[str, Any]]) -> Series:
    numbers: Series = {}
    for point in points:
        numbers.setdefault(point["metric"], []).append((point["step"], float(point["value"])))
    return numbers


def same(ours: object, theirs: object) -> bool:
    """Compare by repr: NaN equals NaN, and 1.0 differs from 1.0000000000000002."""
    return repr(ours) == repr(theirs)


# ---------------------------------------------------------------------- TensorBoard


@pytest.mark.parametrize("path", EVENT_FILES, ids=lambda path: path.relative_to(DATA).as_posix())
def test_an_event_file_equals_tensorboards_own_reader(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours: dict[str, list[tuple[int, float, float]]] = {}
    for point in export(path, capsys):
        ours.setdefault(point["metric"], []).append((point["step"], float(point["value"]), point["wall_time"]))
    theirs = accumulated(path)
    assert theirs
    assert ours.keys() == theirs.keys()
    for tag in theirs:
        assert same(ours[tag], theirs[tag]), tag


# ---------------------------------------------------------------------- JSON


def read(rows: Iterable[dict[str, Any]], prefix: str = "") -> Series:
    """Read every number of every row."""
    numbers: Series = {}
    for row in rows:
        for key, value in row.items():
            if key != "step" and type(value) in (int, float):
                numbers.setdefault(prefix + key, []).append((row["step"], float(value)))
    return numbers


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def verl(path: Path) -> Series:
    return read({"step": row["step"], **row["data"]} for row in lines(path))


def trainer_state(path: Path) -> Series:
    return read(json.loads(path.read_text())["log_history"])


def rows_of_any_origin(path: Path) -> Series:
    document = json.loads(path.read_text())
    return read(document["train"], "train/") | read(document["eval"], "eval/")


def clearml(path: Path) -> Series:
    numbers: Series = {}
    for events in lines(path):
        for event in events:
            if event["type"] == "training_stats_scalar":
                numbers.setdefault(f"{event['metric']}/{event['variant']}", []).append((event["iter"], event["value"]))
    return numbers


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("json/verl/grpo-qwen1.5b.jsonl", verl),
        ("json/hf_trainer_nan/trainer_state.json", trainer_state),
        ("json/rows/results.json", rows_of_any_origin),
        ("clearml/metrics.jsonl", clearml),
    ],
)
def test_a_file_equals_what_the_standard_library_reads(
    name: str, reader: Callable[[Path], Series], capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = reader(DATA / name)
    points = export(DATA / name, capsys)
    ours = series(points)
    assert sum(map(len, theirs.values())) > 20
    assert ours.keys() == theirs.keys()
    for metric in theirs:
        assert same(ours[metric], [(step, float(value)) for step, value in theirs[metric]]), metric
    has_nan = {"json/hf_trainer_nan/trainer_state.json", "json/rows/results.json"}
    assert any(math.isnan(v) for series_points in ours.values() for _, v in series_points) == (name in has_nan)
    assert {point["source"] for point in points} == {Path(name).name}


# ---------------------------------------------------------------------- what was logged


LOGGED: dict[str, dict[str, list[list[Any]]]] = {
    f"{folder}/{path}": metrics
    for folder in ("csv", "json")
    for path, metrics in json.loads(gzip.decompress((DATA / folder / "truth.json.gz").read_bytes())).items()
}
"""File -> metric -> [[step, value], ...], as logged by the loops that wrote the files."""


@pytest.mark.parametrize("name", LOGGED)
def test_every_point_that_was_logged_is_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ours, logged = series(export(DATA / name, capsys)), LOGGED[name]
    assert ours.keys() == logged.keys()
    for metric, points in logged.items():
        steps, values = zip(*ours[metric], strict=True)
        assert list(steps) == [int(step) for step, _ in points]
        precision = 2e-7 if name.startswith("csv/sb3") else 0.0  # Stable-Baselines3 prints short float32
        wanted = [float(value) for _, value in points]
        assert list(values) == pytest.approx(wanted, rel=precision, abs=0.0, nan_ok=True)
