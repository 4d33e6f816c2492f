"""Tables with one row per step: of training or validation of a run, or of the metrics of several runs side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from tuimon.exports.points import csv_cell
from tuimon.model.points import Steps
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify, meanings
from tuimon.vocabulary.names import section_of

_STEPS = 2048
"""Steps per block of written rows."""


class _Column(Struct, frozen=True, eq=False):
    curve: Curve
    whole: bool
    """True if all finite values are whole numbers, which are written without a decimal point."""


def history_lines(
    run: Run, split: str, wanted: Callable[[str], bool], curve_of: Callable[[Run, str], Curve] = Run.curve
) -> Iterator[str] | None:
    """Yield the CSV of one split ("train" or "val"); return None if none of its metrics has a point.

    Every metric is a column even if its first point comes late. A step that was logged twice has two rows. A metric
    of a section of a JSON document has its name within the section. Metrics with their own step axis are left out.
    """
    known = meanings(run.metrics)
    names = [n for n in run.metrics if known[n].split == split and n in run.main_metrics and wanted(n)]
    if not any(classify(name).panel != "progress" for name in names):
        return None
    curves = [curve_of(run, name) for name in names]
    return table_lines(curves, _heads(names)) if any(map(len, curves)) else None


def _heads(names: list[str]) -> list[str]:
    short = [section_of(name)[1] for name in names]
    pairs = zip(short, names, strict=True)
    return [brief if short.count(brief) == 1 and brief != "step" else name for brief, name in pairs]


def table_lines(curves: list[Curve], heads: list[str], shown: bool = False) -> Iterator[str]:
    """Yield the CSV of curves, each a column with its head; the column of the steps is the first.

    shown: replace control characters in the heads, for output to a terminal.
    """
    columns = [_Column(curve, _is_whole(curve)) for curve in curves]
    yield ",".join(["step", *(csv_cell(head, shown) for head in heads)]) + "\r\n"
    steps = _all_steps(curves)
    for start in range(0, len(steps), _STEPS):
        cells = _table(steps[start : start + _STEPS], columns)
        yield "".join(",".join(row) + "\r\n" for row in zip(*cells, strict=True))


def _all_steps(curves: list[Curve]) -> Steps:
    """Return the distinct steps of all curves, ascending. Metrics that are logged together have equal steps."""
    steps = np.empty(0, np.int64)
    for curve in curves:
        if not np.array_equal(steps, curve.steps):
            steps = np.union1d(steps, curve.steps)
    return steps


def _table(steps: Steps, columns: list[_Column]) -> Iterator[list[str]]:
    """Yield the cells of the step column and of each metric. The k-th point of a step is in its k-th row."""
    positions, row_counts = [], np.ones(len(steps), np.int64)
    for column in columns:
        points = slice(*_range(column.curve.steps, steps))
        index = np.searchsorted(steps, column.curve.steps[points])
        repetition = np.arange(len(index)) - np.searchsorted(index, index, "left")
        np.maximum.at(row_counts, index, repetition + 1)
        positions.append((points, index, repetition))
    first_row = np.cumsum(row_counts) - row_counts
    yield np.repeat(steps, row_counts).astype(str).tolist()
    for column, (points, index, repetition) in zip(columns, positions, strict=True):
        cells = [""] * int(row_counts.sum())
        values = column.curve.values[points].tolist()
        for row, value in zip((first_row[index] + repetition).tolist(), values, strict=True):
            cells[row] = str(int(value)) if column.whole and math.isfinite(value) else repr(value)
        yield cells


def _range(steps: Steps, within: Steps) -> tuple[int, int]:
    """Return the half-open index range of the points from the first to the last step of `within`."""
    return int(np.searchsorted(steps, within[0], "left")), int(np.searchsorted(steps, within[-1], "right"))


def _is_whole(curve: Curve) -> bool:
    values = curve.values[np.isfinite(curve.values)]
    return bool((values == np.floor(values)).all() and (np.abs(values) < 2**53).all())
