"""Runs that are one training are joined by their series; similar ones stay apart."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.event_points import event, records, scalar

from tuimon.monitor.local import LocalMonitor
from tuimon.store import Run

STEPS = 40
Row = dict[str, float]


def training(seed: int, steps: int = STEPS) -> list[Row]:
    """The rows of a training: noisy metrics, and a schedule that is the same for all seeds."""
    chance = random.Random(seed)
    return [
        {"loss": 5 / (step + 1) + chance.random(), "reward": chance.gauss(1, 0.3), "lr": 1e-3 * (1 - step / steps)}
        for step in range(steps)
    ]


def write_events(path: Path, rows: list[Row], start: float = 1_795_000_000.0, prefix: str = "") -> None:
    path.mkdir(parents=True, exist_ok=True)
    values = [
        event(step, *(scalar(prefix + name, value) for name, value in row.items()), wall=start + step)
        for step, row in enumerate(rows)
    ]
    (path / "events.out.tfevents.1795000000.host.1.0").write_bytes(b"".join(records(values)))


def write_lines(path: Path, rows: list[Row], start: float = 1_795_000_000.0) -> None:
    write(path, (json.dumps({"step": step, "data": row, "timestamp": start + step}) for step, row in enumerate(rows)))


def write_table(path: Path, rows: list[Row]) -> None:
    lines = [",".join(map(repr, [step, *row.values()])) for step, row in enumerate(rows)]
    write(path, [",".join(["step", *rows[0]]), *lines])


def write_console(path: Path, rows: list[Row]) -> None:
    write(path, (f"step:{n} - loss:{row['loss']:.4f} - reward:{row['reward']:.3f}" for n, row in enumerate(rows)))


def write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def runs_below(path: Path) -> tuple[Run, ...]:
    monitor = LocalMonitor([path])
    monitor.update()
    return monitor.snapshot().runs


def test_four_places_of_one_training_are_one_run(tmp_path: Path) -> None:
    rows = training(1)
    write_events(tmp_path / "tensorboard_log" / "gsm8k" / "try_a", rows)
    write_lines(tmp_path / "metrics_out" / "exp7.jsonl", rows)
    write_table(tmp_path / "copies" / "table.csv", rows)
    write_console(tmp_path / "launcher" / "job.log", rows)
    [run] = runs_below(tmp_path)
    assert len({stream.info.format for stream in run.streams}) == 4
    assert len(run.curve("loss")) == STEPS
    assert any("2 of 2 common metrics are equal at 40 steps" in line for line in run.join_evidence)
    monitor = LocalMonitor([tmp_path])  # as export reads them
    monitor.read()
    [exported] = monitor.snapshot().runs
    assert (exported.name, exported.metrics) == (run.name, run.metrics)
    for name, steps, values, _ in exported.points():
        curve = run.curve(name)
        assert (steps.tolist(), values.tolist()) == (curve.steps.tolist(), curve.values.tolist())


@pytest.mark.parametrize(
    ("rows", "others"),
    [
        (training(1), training(2)),  # other values, the same schedule
        (training(1), [*training(1)[:3], *training(2)[3:]]),
        (training(1), [*training(1)[:30], *training(2)[30:]]),
        ([{"loss": row["loss"]} for row in training(1, 9)],) * 2,  # too few
    ],
    ids=["other values", "the same for 3 steps", "the same for 30 steps", "nine equal values"],
)
def test_trainings_that_are_not_equal_stay_apart(tmp_path: Path, rows: list[Row], others: list[Row]) -> None:
    write_events(tmp_path / "a", rows)
    write_table(tmp_path / "b" / "table.csv", others)
    assert len(runs_below(tmp_path)) == 2


def test_a_training_that_was_repeated_later_stays_apart(tmp_path: Path) -> None:
    """A deterministic training gives the same values again, but not at the same time."""
    write_events(tmp_path / "a", training(1), start=1_795_000_000.0)
    write_lines(tmp_path / "b" / "exp7.jsonl", training(1), start=1_795_900_000.0)
    assert len(runs_below(tmp_path)) == 2


def test_several_runs_of_one_format_are_not_joined_even_by_a_third(tmp_path: Path) -> None:
    for seeds in (range(2), range(2, 20)):
        for seed in seeds:
            write_events(tmp_path / f"seed{seed}", training(1))
        write_table(tmp_path / "c" / "table.csv", training(1))
        assert len(runs_below(tmp_path)) == seeds.stop + 1


def test_a_joined_run_stays_joined_while_its_files_grow(tmp_path: Path) -> None:
    rows = training(1)
    monitor = LocalMonitor([tmp_path])
    seen = []
    for count in (3, 12, 25, STEPS):
        write_events(tmp_path / "logs" / "one", rows[:count])
        write_table(tmp_path / "other" / "table.csv", rows[:count])
        for path in tmp_path.rglob("*.*"):
            os.utime(path)
        for _ in range(2):
            monitor.update()
        seen.append(len(monitor.snapshot().runs))
    assert seen == [2, 1, 1, 1]
    [run] = monitor.snapshot().runs
    assert run.curve("loss").steps.tolist() == list(range(STEPS))
    assert monitor.snapshot().run(run.joined_ids[0]) is run


def test_keras_writes_a_table_beside_its_event_files(tmp_path: Path) -> None:
    rows = [{"loss": row["loss"], "val_loss": row["reward"]} for row in training(4)]
    write_events(tmp_path / "logs" / "fit" / "train", [{"epoch_loss": row["loss"]} for row in rows])
    write_events(tmp_path / "logs" / "fit" / "validation", [{"epoch_loss": row["val_loss"]} for row in rows])
    write_table(tmp_path / "history" / "training.csv", rows)
    [run] = runs_below(tmp_path)
    assert len(run.curve("loss")) == len(run.curve("val_loss")) == STEPS
