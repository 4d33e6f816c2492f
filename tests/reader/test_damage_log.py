"""Damaged parts of a log, as they are counted for the user."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tuimon.analysis.log_files import damage_of, reading_remark
from tuimon.exports.summary_text import facts_of
from tuimon.model.points import Damage
from tuimon.monitor.local import open_run
from tuimon.reader.damage_log import MAX_DAMAGE, DamageLog

DATA = Path(__file__).parent.parent / "data"
ROW = b'{"step": %d, "loss": 0.5}\n'


def test_noise_between_rows_is_one_part(tmp_path: Path) -> None:
    noise = random.Random(7).randbytes(3072)
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"".join(ROW % step for step in range(5)) + noise + b"\n" + ROW % 5 + b"torn\n" + ROW % 6)
    (run,) = open_run(path).runs
    assert run.streams[0].status is not None
    assert run.streams[0].status.damaged_bytes == 3072 + 1 + 5
    assert damage_of(run) == "2 damaged parts, 3.0 KiB"


@pytest.mark.parametrize(
    "source",
    ["tensorboard/lightning", "wandb/python_0_17.wandb", "swanlab/gpu_0_10.swanlab", "visualdl/run/train"],
)
def test_file_that_ends_within_a_record(tmp_path: Path, source: str) -> None:
    given = DATA / source
    original = given if given.is_file() else next(given.glob("*.*"))
    log = tmp_path / original.name

    def damage_of_first(size: int, age: float) -> str:
        log.write_bytes(original.read_bytes()[:size])
        os.utime(log, times=(time.time() - age,) * 2)
        return damage_of(open_run(tmp_path).runs[0])

    size = original.stat().st_size
    assert damage_of_first(size, 7200) == ""
    assert damage_of_first(size - 3, 60) == "", "it may be renewed"
    assert damage_of_first(size - 3, 7200).startswith("ends within a record, ")
    with log.open("ab"):
        assert damage_of(open_run(tmp_path).runs[0]) == "", "a process holds it open"


def test_parts_beyond_the_limit_are_counted() -> None:
    log = DamageLog()
    for part in range(2 * MAX_DAMAGE):
        for record in range(3):
            log.add(Damage(100 * part + 10 * record, 10, "not JSON"))
    assert (log.count, log.size, len(log.parts)) == (2 * MAX_DAMAGE, 2 * MAX_DAMAGE * 30, MAX_DAMAGE)
    assert {(damage.length, damage.records) for damage in log.parts} == {(30, 3)}


_FIRST = '{"step": 0, "loss": 3}\n{"step": 1, "loss": 2}\n'
_TRAIN = '{"mode": "train", "epoch": 1, "iter": 50, "lr": 1, "loss": 1}\n'


TAKES = "take the step of the row before"
COUNTED = "no step recognised: {} rows have their number as step"
FRACTION = "2 rows have a step that is not a whole number of 64 bits, and the step of the row before instead"


def _fractions(*steps: float) -> str:
    return "".join(f'{{"step": {step}, "epoch": {step / 8}, "loss": 0.5}}\n' for step in steps)


@pytest.mark.parametrize(
    ("name", "text", "steps", "remark"),
    [
        ("a.jsonl", _FIRST + '{"loss": 2}\n{"loss": 3}\n{"step": 4, "loss": 4}\n', [0, 1, 1, 1, 4],
         f"2 rows without a step {TAKES}"),
        ("a.csv", "step,loss\n0,1\n1,1\n,2\n4,3\n5,4\n", [0, 1, 1, 4, 5],
         f"1 row without a step {TAKES.replace('take', 'takes')}"),
        ("a.csv", "loss,reward\n1,1\n2,2\n3,3\n4,4\n5,5\n", [0, 1, 2, 3, 4], COUNTED.format(5)),
        ("a.jsonl", '{"loss": 1, "lr": 1}\n' * 3, [0, 1, 2], COUNTED.format(3)),
        ("a.log", "loss: 1.5\nloss: 1.4\nloss: 1.3\n", [1, 2, 3], COUNTED.format(3)),
        ("a.log", "{'loss': 1.5, 'epoch': 0.1}\n" * 3, [1, 2, 3], COUNTED.format(3)),
        ("a.log", "step 1 loss: 1.5\nstep 2 loss: 1.4\n", [1, 2], ""),
        ("a.jsonl", _FIRST + '{"note": "saved"}\n{"step": 2, "loss": 4}\n', [0, 1, 2], ""),
        ("a.log.json", _TRAIN + '{"mode": "val", "epoch": 1, "iter": 9, "acc": 2}\n', [50], ""),
        ("metrics.jsonl", _fractions(1, 2.5, 3, 4.5), [1, 1, 3, 3], FRACTION),
        ("metrics.jsonl", _fractions(0.0, 1.0, 2.0), [0, 1, 2], ""),
    ],
)  # fmt: skip
def test_rows_without_a_step_are_counted(tmp_path: Path, name: str, text: str, steps: list[int], remark: str) -> None:
    (tmp_path / name).write_text(text)
    (run,) = open_run(tmp_path).runs
    assert run.curve("loss").steps.tolist() == steps
    assert run.streams[0].status is not None
    assert run.streams[0].status.message == remark
    assert reading_remark(run) == dict(facts_of(run, 0.0)).get("remark", "") == remark
