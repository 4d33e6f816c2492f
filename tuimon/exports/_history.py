"""A run as tables: a row a step, a column a metric, for the training and for the validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from tuimon.exports.points import csv_cell, csv_number
from tuimon.model.points import Steps
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify
from tuimon.vocabulary.names import section_of

_STEPS = 2048
"""Written at once."""


class _Column(Struct, frozen=True, eq=False):
    curve: Curve
    whole: bool
    """Whether all its values are whole numbers."""


def history_lines(run: Run, split: str, wanted: Callable[[str], bool]) -> Iterator[str] | None:
    """CSV of one half of the data ("train" | "val"); None where nothing of it was logged.

    Every metric is a column, though its first point may come late; a step that was logged twice has two rows. Of a
    JSON document's section the column has the name that it has there. Metrics with steps of their own are left out.
    """
    names = [n for n in run.metrics if classify(n).split == split and n in run.main_metrics and wanted(n)]
    if not any(classify(name).panel != "progress" for name in names):
        return None
    return _lines([run.curve(name) for name in names], _heads(names))


def _heads(names: list[str]) -> list[str]:
    short = [section_of(name)[1] for name in names]
    return [one if short.count(one) == 1 and one != "step" else name for one, name in zip(short, names, strict=True)]


def _lines(curves: list[Curve], heads: list[str]) -> Iterator[str]:
    columns = [_Column(curve, _is_whole(curve)) for curve in curves]
    yield ",".join(["step", *map(csv_cell, heads)]) + "\r\n"
    steps = _all_steps(curves)
    for start in range(0, len(steps), _STEPS):
        cells = _table(steps[start : start + _STEPS], columns)
        yield "".join(",".join(row) + "\r\n" for row in zip(*cells, strict=True))


def _all_steps(curves: list[Curve]) -> Steps:
    """Every step that one of them has, once, ascending. Metrics that are logged together share their steps."""
    found = np.empty(0, np.int64)
    for curve in curves:
        if not np.array_equal(found, curve.steps):
            found = np.union1d(found, curve.steps)
    return found


def _table(steps: Steps, columns: list[_Column]) -> Iterator[list[str]]:
    """The cells of the steps and of each column. The k-th point of a step stands in its k-th row."""
    places, most = [], np.ones(len(steps), np.int64)
    for column in columns:
        points = slice(*_range(column.curve.steps, steps))
        place = np.searchsorted(steps, column.curve.steps[points])
        again = np.arange(len(place)) - np.searchsorted(place, place, "left")
        np.maximum.at(most, place, again + 1)
        places.append((points, place, again))
    first = np.cumsum(most) - most
    yield np.repeat(steps, most).astype(str).tolist()
    for column, (points, place, again) in zip(columns, places, strict=True):
        cells = [""] * int(most.sum())
        values = column.curve.values[points].tolist()
        for row, value in zip((first[place] + again).tolist(), values, strict=True):
            cells[row] = csv_number(value, column.whole)
        yield cells


def _range(steps: Steps, within: Steps) -> tuple[int, int]:
    """From the first point to behind the last whose step is among those."""
    return int(np.searchsorted(steps, within[0], "left")), int(np.searchsorted(steps, within[-1], "right"))


def _is_whole(curve: Curve) -> bool:
    values = curve.values[np.isfinite(curve.values)]
    return bool((values == np.floor(values)).all() and (np.abs(values) < 2**53).all())
