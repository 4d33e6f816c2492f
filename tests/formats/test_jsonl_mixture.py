"""Random JSON lines of mixed layouts, with output of trainers and damage of crashes in between: reading by columns
gives the points of each row alone. `test_jsonl` says which these are."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import damage, feed, rows

from tuimon.formats._shared import lines as _lines
from tuimon.formats._shared import row_reader as _row_reader
from tuimon.formats._shared.rows import (
    LONG_TEXT,
    STEP_KEYS,
    TIME_KEYS,
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


def row_by_row(data: bytes) -> list[Point]:
    """Return the points of rows that are decoded one at a time, each from its own feed."""
    decoder = jsonl.decoder()
    items = [item for line in data.splitlines(keepends=True) for item in decoder.feed(line)]
    return rows([*items, *decoder.flush()])


class Log:
    """Random lines, and the number of damaged ones."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.data = b""
        self.count = 0
        self.lost = 0
        self.odd = rng.choice([0, 0.02, 0.3])
        self.layouts = [rng.sample(KEYS, rng.randint(1, 9)) for _ in range(rng.choice([1, 2, 6]))]

    def row(self) -> bytes:
        layout = list(self.rng.choice(self.layouts))
        if self.rng.random() < self.odd:
            self.rng.shuffle(layout)
        number, self.count = self.count, self.count + 1
        row = {key: number if key in STEP_KEYS else self.rng.uniform(-9, 9) for key in layout}
        row |= {key: self.rng.choice(ODD) for key in layout if self.rng.random() < self.odd}
        text = json.dumps(row, ensure_ascii=False)
        if self.rng.random() < self.odd / 4:  # the same key again
            text = text[:-1] + ", " + text[1:].replace("9", "8")
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


@given(st.randoms(use_true_random=True))
def test_rows_give_the_same_points_as_each_row_alone(rng: random.Random) -> None:
    log = Log(rng)
    data = b"".join(log.line() + rng.choice([b"\n", b"\n", b"\r\n"]) for _ in range(rng.choice([1, 20, 150])))
    cuts = [rng.randrange(len(data)) for _ in range(rng.choice([0, 1, 5, 50]))]
    with pytest.MonkeyPatch.context() as patch:  # small files take the code paths of large ones
        patch.setattr(_lines, "_PIECE", rng.choice([100, 1000, 1 << 20]))
        patch.setattr(_row_reader, "_MAX_LAYOUTS", rng.choice([1, 3, 1024]))
        items = feed(jsonl.decoder(), data, cuts)
    assert rows(items) == row_by_row(data)
    assert len(damage(items)) == log.lost
