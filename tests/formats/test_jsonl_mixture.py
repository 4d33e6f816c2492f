"""Random JSON lines of mixed layouts, with output of trainers and damage of crashes in between: reading by columns
gives what the rules of _shared.rows give for each row alone, after _texts has removed the texts of metrics' rows."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import damage, feed, rows

from tuimon.formats._shared import lines as _lines
from tuimon.formats._shared import row_reader as _row_reader
from tuimon.formats._shared.row_steps import COUNTERS, OverallSteps
from tuimon.formats._shared.rows import (
    LONG_TEXT,
    NUMBERS_BESIDE,
    SAMPLE_KEYS,
    STEP_KEYS,
    STEP_NAMES,
    TIME_KEYS,
    flatten,
    is_of_training,
    number,
    seconds,
    step_of,
    with_elements,
)
from tuimon.formats.json import lines as jsonl

KEYS = [*STEP_KEYS, *TIME_KEYS, "loss", "a/b", "données", "run_id", "total_steps", "config", "data", "text", "prompt"]
ODD = [
    *(math.nan, math.inf, -math.inf, -0.0, 0, 7, -3, 2**53 + 1, 2**62 + 1, 2**63, 2**64, 10**30, 10**400, 1e22),
    *(None, True, "0.5", "NaN", "-Infinity", "1_000", "text", "", "x" * (LONG_TEXT + 1), [1], [], [{"a": 1}], 5.0),
    *("5/10", "12", 1.79e9, 1_790_000_000_123, "2026-11-21 12:00:00", {"loss": 0.5, "a": {"b": math.nan}}, {}),
]
EMPTY = [b"", b"  ", b"\t\r"]
NO_ROWS = [b"5", b"null", b"[1, 2]", b'"text"']
BROKEN = [b"garbage", b"\0\0\0", b"{", b'{"a": }', b'{"step": 5, "loss": 1.5']

Point = tuple[str, int, str, str]
"""Metric, step, value, wall time; floats by repr, so that NaN equals NaN."""


def one_by_one(given_rows: list[dict[str, Any]]) -> list[Point]:
    result: list[Point] = []
    step_before: int | None = None
    count = 0
    overall = OverallSteps()
    named: set[int] = set()
    """Steps that are not epochs; of two of them on, a row that names only an epoch has the step of the row before."""
    names = [name for name in STEP_NAMES if name != "total_steps"]
    for row in map(with_elements, map(flatten, given_rows)):
        samples = {key for key, value in row.items() if key in SAMPLE_KEYS and type(value) in (str, list)}
        to_read = {
            key
            for key, v in row.items()
            if (type(v) is str and len(v) > LONG_TEXT)
            or (type(v) is list and v and type(v[0]) is dict and str in map(type, v[0].values()))
        }
        points = {
            key: known for key, value in row.items() if key not in samples and (known := number(value, key)) is not None
        }
        if not any(key in row for key in names):
            if samples or to_read:
                continue
        elif samples:
            beside = points.keys() - {*names, *TIME_KEYS}
            of_training = [*filter(is_of_training, beside)]
            if not of_training and len(beside) < NUMBERS_BESIDE * len(samples | to_read):
                continue
        times = [key for key in TIME_KEYS if seconds(row.get(key)) is not None]
        wall_time = seconds(row[times[0]]) if times else math.nan
        points = {key: value for key, value in points.items() if key not in times[:1]}
        for key in names:
            step = step_of(row.get(key))
            if step is not None and not (key == "epoch" and type(row[key]) is float):
                epoch = np.array([step[0] if key == "epoch" else number(row.get("epoch"), "epoch")], np.float64)
                counted = np.array([key in COUNTERS])
                is_same = key == "epoch" and bool(overall.same_epoch(epoch, counted)[0])
                if key == "epoch" and len(named) > 1 and not is_same:
                    points.pop(key, None)
                    points[key] = float(step[0])
                    break
                named |= {step[0]} if key != "epoch" else set()
                if not is_same:
                    step_before = int(overall.convert(np.array([step[0]]), epoch, counted)[0])
                if "/" not in key:
                    points.pop(key, None)
                break
        position = count if step_before is None else step_before
        result += [(key, position, repr(value), repr(wall_time)) for key, value in points.items()]
        count += bool(points)
    return result


def as_parsed(digits: str) -> int | float:
    """Return an integer as orjson does: as a float if it needs more than 64 bits."""
    return int(digits) if -(2**63) <= int(digits) < 2**64 else float(digits)


class Log:
    """Random lines, the rows in them, and the number of damaged ones."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.data = b""
        self.rows: list[dict[str, Any]] = []
        self.lost = 0
        self.odd = rng.choice([0, 0.02, 0.3])
        self.layouts = [rng.sample(KEYS, rng.randint(1, 9)) for _ in range(rng.choice([1, 2, 6]))]

    def row(self) -> bytes:
        layout = list(self.rng.choice(self.layouts))
        if self.rng.random() < self.odd:
            self.rng.shuffle(layout)
        number = len(self.rows)
        row = {key: number if key in STEP_KEYS else self.rng.uniform(-9, 9) for key in layout}
        row |= {key: self.rng.choice(ODD) for key in layout if self.rng.random() < self.odd}
        text = json.dumps(row, ensure_ascii=False)
        if self.rng.random() < self.odd / 4:  # the same key again
            text = text[:-1] + ", " + text[1:].replace("9", "8")
        self.rows.append(json.loads(text, parse_int=as_parsed))
        return text.encode()

    def line(self) -> bytes:
        if self.rng.random() >= self.odd:
            return self.row()
        kind = self.rng.randrange(5)
        if kind == 0:
            return self.row() + b" " + self.row()  # two writers
        if kind == 1:
            self.lost += 1
            return b"\0\0" + self.row() + b"\0"
        if kind == 2:
            self.lost += 1
            return self.rng.choice(BROKEN)
        return self.rng.choice(EMPTY + NO_ROWS)


@settings(max_examples=100)
@given(st.randoms(use_true_random=True))
def test_rows_give_the_same_points_as_each_row_alone(rng: random.Random) -> None:
    log = Log(rng)
    data = b"".join(log.line() + rng.choice([b"\n", b"\n", b"\r\n"]) for _ in range(rng.choice([1, 20, 150])))
    cuts = [rng.randrange(len(data)) for _ in range(rng.choice([0, 1, 5, 50]))]
    with pytest.MonkeyPatch.context() as patch:  # small files take the code paths of large ones
        patch.setattr(_lines, "_PIECE", rng.choice([100, 1000, 1 << 20]))
        patch.setattr(_row_reader, "_MAX_LAYOUTS", rng.choice([1, 3, 1024]))
        items = feed(jsonl.decoder(), data, cuts)
    assert rows(items) == one_by_one(log.rows)
    assert len(damage(items)) == log.lost
