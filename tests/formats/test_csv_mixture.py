"""Random CSV tables (odd and quoted cells, rows without a step, repeated headers, added columns): reading by columns
gives the points of each row alone. `test_csv` says which these are."""

from __future__ import annotations

import csv
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import damage, feed, rows

from tuimon.formats._shared import lines as _lines
from tuimon.formats._shared.rows import STEP_NAMES
from tuimon.formats.tables import _rows as table_rows
from tuimon.formats.tables._decoder import TableDecoder

NAMES = [
    "epoch",
    "step",
    "Iteration",
    "time/total_timesteps",
    "timestamp",
    "Wall time",
    "train/loss",
    "lr",
    "a b",
    "nan",
]
NAMES += ["run_id", "naïve", 'say "x"', "acc"]
ODD = [
    "",
    "",
    "NA",
    "null",
    "nan",
    "NaN",
    "-nan",
    "inf",
    "-Infinity",
    "+1",
    "007",
    " 1.5 ",
    "0,5",
    "1 2",
    "1_0",
    "n",
    "an",
]
ODD += [
    "-0",
    "-0.0",
    "1e400",
    ".5",
    "5.",
    "1E-7",
    "1e",
    "18446744073709551616",
    'say "hi"',
    "a;b",
    "é",
    "2026-11-21 12:00:05",
]
ODD += ["0.5", "1790000000123", "9007199254740993"]

Point = tuple[str, int, str, str]
"""Metric, step, value, wall time; floats by repr, so that NaN equals NaN."""


def row_by_row(data: bytes) -> list[Point]:
    """Return the points of rows that are decoded one at a time, each from its own feed."""
    decoder = TableDecoder()
    items = [item for line in data.splitlines(keepends=True) for item in decoder.feed(line)]
    return rows([*items, *decoder.flush(), *decoder.end()])


class Tables:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.odd = rng.choice([0, 0.02, 0.3])
        self.quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        self.separator = rng.choice([",", ",", ";", "\t"])
        self.end = rng.choice(["\n", "\r\n"])

    def header(self) -> list[str]:
        names = self.rng.sample(NAMES, self.rng.randint(3, 9))
        return ["", *names] if self.rng.random() < 0.2 else names  # as pandas writes its index

    def cells(self, name: str, row: int) -> str:
        if self.rng.random() < self.odd:
            return self.rng.choice(ODD)
        return str(row) if name.lower() in STEP_NAMES else repr(self.rng.uniform(-9, 9))

    def table(self, header: list[str], count: int) -> list[list[str]]:
        return [[self.cells(name, index) for name in header] for index in range(count)]

    def text(self, header: list[str], cells: list[list[str]]) -> bytes:
        file = io.StringIO()
        csv.writer(file, delimiter=self.separator, lineterminator=self.end, quoting=self.quoting).writerows(
            [header, *cells]
        )
        return file.getvalue().encode()


def use_small_blocks(rng: random.Random, patch: pytest.MonkeyPatch) -> None:
    """Use the code paths of large files for small ones too."""
    patch.setattr(_lines, "_PIECE", rng.choice([100, 1000, 1 << 20]))
    patch.setattr(table_rows, "_BLOCK", rng.choice([1, 4, 32]))


@given(st.randoms(use_true_random=True))
def test_tables_in_any_pieces_give_the_points_of_each_row_alone(rng: random.Random) -> None:
    tables = Tables(rng)
    header = tables.header()
    data = b""
    for _ in range(rng.choice([1, 2, 4])):
        cells = tables.table(header, rng.choice([1, 5, 60]))
        data += tables.text(header, cells)
        if tables.odd:
            header = rng.choice([header, [*header, "new" + "w" * len(header)], [*header[:1], *header[:0:-1]]])
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(rng, patch)
        decoder = TableDecoder()
        items = feed(decoder, data, [rng.randrange(len(data)) for _ in range(rng.choice([0, 1, 5, 50]))])
        items += decoder.end()
    assert rows(items) == row_by_row(data)
    assert damage(items) == []
