"""The README's promise: the output of `export --by-source` equals, to the last bit, what TensorBoard's own reader and
Python's json and csv modules read from the same files."""

from __future__ import annotations

import csv
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


STEPS = ("step", "time/total_timesteps")
"""Keys of the step. Stable-Baselines3's is a metric of its own too."""


def read(rows: Iterable[dict[str, Any]], prefix: str = "") -> Series:
    """Read every number of every row."""
    numbers: Series = {}
    for row in rows:
        step = next(int(row[key]) for key in STEPS if key in row)
        for key, value in row.items():
            if key != "step" and type(value) in (int, float):
                numbers.setdefault(prefix + key, []).append((step, float(value)))
    return numbers


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def stable_baselines(path: Path) -> Series:
    return read(lines(path))


def verl(path: Path) -> Series:
    return read({"step": row["step"], **row["data"]} for row in lines(path))


def trainer_state(path: Path) -> Series:
    return read(json.loads(path.read_text())["log_history"])


def training_log(path: Path) -> Series:
    document = json.loads(path.read_text())
    numbers: Series = {}
    for section in ("train_history", "val_history"):
        numbers |= read(document[section], f"{section}/")
    return numbers


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


def table(path: Path) -> Series:
    with path.open(newline="") as file:
        rows = [{name: float(cell) for name, cell in row.items() if cell != ""} for row in csv.DictReader(file)]
    return read(rows)


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("json/sb3_ppo/ppo_seed2/progress.json", stable_baselines),
        ("json/verl/grpo-qwen1.5b.jsonl", verl),
        ("json/grpo_nan/output/checkpoint-20/trainer_state.json", trainer_state),
        ("json/hf_trainer_nan/trainer_state.json", trainer_state),
        ("json/training_log_json/qwen3vl_grpo/training_log.json", training_log),
        ("json/training_log_json/qwen3vl_lora_nan/training_log.json", training_log),
        ("json/rows/results.json", rows_of_any_origin),
        ("clearml/metrics.jsonl", clearml),
        ("csv/lightning/metrics.csv", table),
        ("csv/sb3/progress.csv", table),
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
    assert any(math.isnan(v) for series_points in ours.values() for _, v in series_points) == (
        name in has_nan or "lora_nan" in name
    )
    assert {point["source"] for point in points} == {Path(name).name}
