"""A run as tables: a row a step, a column a metric, for the training and for the validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tuimon.exports.points import csv_cell, csv_number
from tuimon.model.points import Steps
from tuimon.store import Curve, Run
from tuimon.store.tally import Indices
from tuimon.vocabulary import classify
from tuimon.vocabulary.names import section_of

_ROWS = 2048
"""Written at once."""


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    curve: Curve
    keys: Indices
    """Which row of the table each point stands in, ascending."""
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
    rows, found = _table(curves)
    columns = [_Column(curve, keys, _is_whole(curve)) for curve, keys in zip(curves, found, strict=True)]
    yield ",".join(["step", *map(csv_cell, heads)]) + "\r\n"
    for start in range(0, len(rows), _ROWS):
        end = min(start + _ROWS, len(rows))
        cells = [rows[start:end].astype(str).tolist(), *(_cells(column, start, end) for column in columns)]
        yield "".join(",".join(row) + "\r\n" for row in zip(*cells, strict=True))


def _table(curves: list[Curve]) -> tuple[Steps, list[Indices]]:
    """(the step of each row, for each curve the rows of its points). The k-th point of a step is in its k-th row."""
    steps = np.unique(np.concatenate([curve.steps for curve in curves]))
    places, most = [], np.ones(len(steps), np.int64)
    for curve in curves:
        place = np.searchsorted(steps, curve.steps)
        again = np.arange(len(place)) - np.searchsorted(place, place, "left")
        np.maximum.at(most, place, again + 1)
        places.append((place, again))
    first = np.cumsum(most) - most
    return np.repeat(steps, most), [first[place] + again for place, again in places]


def _is_whole(curve: Curve) -> bool:
    values = curve.values[np.isfinite(curve.values)]
    return bool((values == np.floor(values)).all() and (np.abs(values) < 2**53).all())


def _cells(column: _Column, start: int, end: int) -> list[str]:
    found = [""] * (end - start)
    low, high = np.searchsorted(column.keys, [start, end])
    values = column.curve.values[low:high].tolist()
    for row, value in zip((column.keys[low:high] - start).tolist(), values, strict=True):
        found[row] = csv_number(value, column.whole)
    return found
