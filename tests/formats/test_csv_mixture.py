"""Random CSV tables (odd and quoted cells, rows without a step, repeated headers, added columns): the points
are those that Python's csv reader and the rules of _decoder and _header give."""

from __future__ import annotations

import csv
import io
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import damage, feed, rows

from tuimon.formats._shared import lines as _lines
from tuimon.formats._shared.row_steps import COUNTERS, OverallSteps
from tuimon.formats._shared.rows import STEP_NAMES, number, seconds
from tuimon.formats.tables import _rows as table_rows
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.formats.tables._header import TIME_NAMES

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
    """Return the points of each row below one header."""
    steps = [name for name in STEP_NAMES if name in map(str.lower, header)]
    index = bool(steps) and "" in header
    if not steps and not header[0]:
        steps = [""]
    by_name = {name.lower(): name for name in header}
    counted = bool(COUNTERS & set(steps)) and "epoch" in by_name
    overall = OverallSteps()
    result: list[list[Point]] = []
    times = [by_name[name] for name in TIME_NAMES if name in by_name]
    named = bool(times)
    if not times and cells:
        times = [name for name, cell in zip(header, cells[0], strict=True) if cell.startswith("2026-")][:1]
    step_before: int | None = None
    others: set[int] = set()
    """Steps that are not epochs; of two of them on, a row that names only an epoch has the step of the row before."""
    for line in cells:
        row = dict(zip(header, line, strict=True))
        texts = {key: cell.strip(" ").replace("0,5", "0.5") for key, cell in row.items()}
        points = {key: known + 0.0 for key in row if (known := number(texts[key], key)) is not None}
        if index:
            points.pop("", None)
        wall_time = math.nan
        for name in times:
            time = seconds(points.get(name, row[name]) if named else row[name])
            if time is not None:
                wall_time, _ = time, points.pop(name, None)
                break
        step: int | None = None
        epoch = np.array([points.get("epoch", math.nan)])
        counter = np.array([False])
        for name in list(steps):
            logged = points.get(by_name[name], math.nan)
            if abs(logged) < 2**53 and not logged.is_integer():
                steps.remove(name)
            elif abs(logged) < 2**53 and step is None:
                step, counter[0] = int(logged), name in COUNTERS
                others |= {step} if name != "epoch" else set()
                is_same = name == "epoch" and counted and bool(overall.same_epoch(epoch, counter)[0])
                by_epoch = name == "epoch" and len(others) > 1 and not is_same
                if "/" not in name and not by_epoch:
                    del points[by_name[name]]
                if is_same or by_epoch:
                    step = None
        if counted and step is not None:
            step = int(overall.convert(np.array([step]), epoch, counter)[0])
        step_before = step_before if step is None else step
        position = sum(map(bool, result)) if step_before is None else step_before
        result.append([(name, position, repr(value), repr(wall_time)) for name, value in points.items()])
    return result


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


@settings(max_examples=100)
@given(st.randoms(use_true_random=True))
def test_consecutive_tables_give_the_points_of_each(rng: random.Random) -> None:
    tables = Tables(rng)
    header = tables.header()
    data = b""
    read: list[tuple[list[str], list[list[str]]]] = []
    """The headers that differ from the one before, and the rows below each: a repeated header is skipped."""
    for _ in range(rng.choice([1, 2, 4])):
        cells = tables.table(header, rng.choice([1, 5, 60]))
        data += tables.text(header, cells)
        if not read or read[-1][0] != header:
            read.append((header, []))
        read[-1][1].extend(cells)
        if tables.odd:
            header = rng.choice([header, [*header, "new" + "w" * len(header)], [*header[:1], *header[:0:-1]]])
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(rng, patch)
        decoder = TableDecoder()
        items = feed(decoder, data, [rng.randrange(len(data)) for _ in range(rng.choice([0, 1, 5, 50]))])
        items += decoder.end()
    assert rows(items) == [point for table in read for row in points_of(*table) for point in row]
    assert damage(items) == []
