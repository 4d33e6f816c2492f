"""CSV tables of everything at once (odd and quoted cells, rows without a step, headers that come again, columns that
come later): the points are those that Python's csv reader and the rules of _table and _table_header give."""

from __future__ import annotations

import csv
import io
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_points import damage, feed, rows

from tuimon.formats import _lines, _table_rows
from tuimon.formats._rows import number, seconds
from tuimon.formats._table import TableDecoder
from tuimon.formats._table_header import STEP_NAMES, TIME_NAMES
from tuimon.model.points import Item, SegmentStart

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


def points_of(header: list[str], cells: list[list[str]]) -> list[list[Point]]:
    """The points of each row below one header."""
    steps = [name for name in STEP_NAMES if name in map(str.lower, header)]
    if len(steps) > 1 and "" in steps:
        steps.remove("")
    by_name = {name.lower(): name for name in header}
    found: list[list[Point]] = []
    step_before: int | None = None
    for line in cells:
        row = dict(zip(header, line, strict=True))
        points = {key: known + 0.0 for key in row if (known := number(row[key].strip(" "), key)) is not None}
        wall_time = math.nan
        for name in (by_name[name] for name in TIME_NAMES if name in by_name):
            time = seconds(points.get(name, row[name]))
            if time is not None:
                wall_time, _ = time, points.pop(name, None)
                break
        step: int | None = None
        for name in list(steps):
            logged = points.get(by_name[name], math.nan)
            if abs(logged) < 2**53 and not logged.is_integer():
                steps.remove(name)
            elif abs(logged) < 2**53 and step is None:
                step = int(logged)
                if "/" not in name:
                    del points[by_name[name]]
        step_before = step_before if step is None else step
        at = sum(map(bool, found)) if step_before is None else step_before
        found.append([(name, at, repr(value), repr(wall_time)) for name, value in points.items()])
    return found


class Tables:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.odd = chance.choice([0, 0.02, 0.3])
        self.quoting = chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        self.separator = chance.choice([",", ",", ";", "\t"])
        self.end = chance.choice(["\n", "\r\n"])

    def header(self) -> list[str]:
        names = self.chance.sample(NAMES, self.chance.randint(3, 9))
        return ["", *names] if self.chance.random() < 0.2 else names  # as pandas writes its index

    def cells(self, name: str, at: int) -> str:
        if self.chance.random() < self.odd:
            return self.chance.choice(ODD)
        return str(at) if name.lower() in STEP_NAMES else repr(self.chance.uniform(-9, 9))

    def table(self, header: list[str], count: int) -> list[list[str]]:
        return [[self.cells(name, at) for name in header] for at in range(count)]

    def text(self, header: list[str], cells: list[list[str]]) -> bytes:
        file = io.StringIO()
        csv.writer(file, delimiter=self.separator, lineterminator=self.end, quoting=self.quoting).writerows(
            [header, *cells]
        )
        return file.getvalue().encode()


def small_blocks(chance: random.Random, patch: pytest.MonkeyPatch) -> None:
    """Small files go the ways of large ones."""
    patch.setattr(_lines, "_PIECE", chance.choice([100, 1000, 1 << 20]))
    patch.setattr(_table_rows, "_BLOCK", chance.choice([1, 4, 32]))


@settings(max_examples=100)
@given(st.randoms(use_true_random=True))
def test_tables_behind_each_other_give_the_points_of_each(chance: random.Random) -> None:
    tables = Tables(chance)
    header = tables.header()
    data, wanted = b"", []
    for _ in range(chance.choice([1, 2, 4])):
        cells = tables.table(header, chance.choice([1, 5, 60]))
        data += tables.text(header, cells)
        wanted += [point for row in points_of(header, cells) for point in row]
        if tables.odd:
            header = chance.choice([header, [*header, "new" + "w" * len(header)], [*header[:1], *header[:0:-1]]])
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(chance, patch)
        items = feed(TableDecoder(), data, [chance.randrange(len(data)) for _ in range(chance.choice([0, 1, 5, 50]))])
    assert rows(items) == wanted
    assert damage(items) == []


@settings(max_examples=60)
@given(st.randoms(use_true_random=True))
def test_a_table_that_grows_columns_tells_each_row_once(chance: random.Random) -> None:
    """It is seen after some rows, and in the middle of being written anew."""
    tables = Tables(chance)
    names = chance.sample(NAMES, len(NAMES))
    decoder, items, known = TableDecoder(), list[Item](), 0
    header, body = names[:2], list[dict[str, str]]()
    for at in range(chance.choice([2, 20, 60])):
        more = names[len(header) : len(header) + (chance.random() < 0.2)]
        body.append({name: tables.cells(name, at) for name in [*header, *more] if chance.random() < 0.8})
        header = header + more
        data = tables.text(header, [[row.get(name, "") for name in header] for row in body])
        if more or not known:
            decoder.restart()
            cut = chance.randrange(len(data))
            if chance.random() < 0.3:
                items += decoder.feed(data[:cut])
                decoder.restart()
            items += [*decoder.feed(data[:cut]), *decoder.feed(data[cut:])]
        else:
            items += decoder.feed(data[known:])
        known = len(data)
    items += decoder.flush()
    assert not any(isinstance(item, SegmentStart) for item in items)
    wanted = points_of(header, [[row.get(name, "") for name in header] for row in body])
    assert sorted(rows(items)) == sorted(point for row in wanted for point in row)
