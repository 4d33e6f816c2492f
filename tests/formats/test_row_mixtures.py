"""Random JSON lines and tables of mixed layouts, with odd values, damage of crashes and added columns: reading by
columns gives the points of each row alone, which `cases` says."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import damage, feed, rows

from tuimon.formats._shared import lines as _lines
from tuimon.formats._shared import row_reader as _row_reader
from tuimon.formats._shared.rows import LONG_TEXT, STEP_KEYS, STEP_NAMES, TIME_KEYS
from tuimon.formats.json import lines as jsonl
from tuimon.formats.tables import _rows as table_rows
from tuimon.formats.tables._decoder import TableDecoder


def assert_same_as_row_by_row(make: Any, data: bytes, rng: random.Random, lost: int) -> None:
    """Compare the points of a text in any pieces with those of its lines, each from its own feed."""
    with pytest.MonkeyPatch.context() as patch:  # small files take the code paths of large ones
        patch.setattr(_lines, "_PIECE", rng.choice([100, 1000, 1 << 20]))
        patch.setattr(_row_reader, "_MAX_LAYOUTS", rng.choice([1, 3, 1024]))
        patch.setattr(table_rows, "_BLOCK", rng.choice([1, 4, 32]))
        decoder = make()
        items = feed(decoder, data, [rng.randrange(len(data)) for _ in range(rng.choice([0, 1, 5, 50]))])
        items += decoder.end()
    alone = make()
    single = [item for line in data.splitlines(keepends=True) for item in alone.feed(line)]
    assert rows(items) == rows([*single, *alone.flush(), *alone.end()])
    assert len(damage(items)) == lost


# ---------------------------------------------------------------------- JSON lines

KEYS = [*STEP_KEYS, *TIME_KEYS, "loss", "a/b", "données", "run_id", "total_steps", "config", "data", "text", "prompt"]
ODD = [
    *(math.nan, math.inf, -math.inf, -0.0, 0, 7, -3, 2**53 + 1, 2**62 + 1, 2**63, 2**64, 10**30, 10**400, 1e22),
    *(None, True, "0.5", "NaN", "-Infinity", "1_000", "text", "", "x" * (LONG_TEXT + 1), [1], [], [{"a": 1}], 5.0),
    *("5/10", "12", 1.79e9, 1_790_000_000_123, "2026-11-21 12:00:00", {"loss": 0.5, "a": {"b": math.nan}}, {}),
]
EMPTY = [b"", b"  ", b"\t\r"]
NO_ROWS = [b"5", b"null", b"[1, 2]", b'"text"']
BROKEN = [b"garbage", b"\0\0\0", b"{", b'{"a": }', b'{"step": 5, "loss": 1.5']


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
def test_json_lines_give_the_points_of_each_row_alone(rng: random.Random) -> None:
    log = Log(rng)
    data = b"".join(log.line() + rng.choice([b"\n", b"\n", b"\r\n"]) for _ in range(rng.choice([1, 20, 150])))
    assert_same_as_row_by_row(jsonl.decoder, data, rng, log.lost)


# ---------------------------------------------------------------------- tables

COLUMNS = [
    *("epoch", "step", "Iteration", "time/total_timesteps", "timestamp", "Wall time", "train/loss", "lr", "a b", "nan"),
    *("run_id", "naïve", 'say "x"', "acc"),
]
CELLS = [
    *("", "", "NA", "null", "nan", "NaN", "-nan", "inf", "-Infinity", "+1", "007", " 1.5 ", "0,5", "1 2", "1_0", "n"),
    *("an", "-0", "-0.0", "1e400", ".5", "5.", "1E-7", "1e", "18446744073709551616", 'say "hi"', "a;b", "é"),
    *("2026-11-21 12:00:05", "0.5", "1790000000123", "9007199254740993"),
]


class Tables:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.odd = rng.choice([0, 0.02, 0.3])
        self.quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        self.separator = rng.choice([",", ",", ";", "\t"])
        self.end = rng.choice(["\n", "\r\n", "\r\r\n"])

    def header(self) -> list[str]:
        names = self.rng.sample(COLUMNS, self.rng.randint(3, 9))
        return ["", *names] if self.rng.random() < 0.2 else names  # as pandas writes its index

    def cells(self, name: str, row: int) -> str:
        if self.rng.random() < self.odd:
            return self.rng.choice(CELLS)
        return str(row) if name.lower() in STEP_NAMES else repr(self.rng.uniform(-9, 9))

    def table(self, header: list[str], count: int) -> list[list[str]]:
        return [[self.cells(name, index) for name in header] for index in range(count)]

    def text(self, header: list[str], cells: list[list[str]]) -> bytes:
        file = io.StringIO()
        csv.writer(file, delimiter=self.separator, lineterminator=self.end, quoting=self.quoting).writerows(
            [header, *cells]
        )
        return file.getvalue().encode()


@given(st.randoms(use_true_random=True))
def test_tables_give_the_points_of_each_row_alone(rng: random.Random) -> None:
    tables = Tables(rng)
    header = tables.header()
    data = b""
    for _ in range(rng.choice([1, 2, 4])):
        cells = tables.table(header, rng.choice([1, 5, 60]))
        data += tables.text(header, cells)
        if tables.odd:
            header = rng.choice([header, [*header, "new" + "w" * len(header)], [*header[:1], *header[:0:-1]]])
    assert_same_as_row_by_row(TableDecoder, data, rng, 0)
