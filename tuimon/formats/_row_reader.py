"""Rows of metrics -> points, by columns: rows with the same keys are one matrix, so that Python does nothing a value.

What keys and values mean is said in _rows. A row of 20 numbers takes some 4.5 µs, of which orjson has half
(tests/bench/json_lines.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.formats._rows import (
    NUMBERS_BESIDE,
    SAMPLE_KEYS,
    STEP_KEYS,
    TIME_KEYS,
    TOTAL_KEYS,
    Row,
    flatten,
    is_sample,
    is_text,
    number,
    same,
    seconds,
    step_of,
    trimmed,
)
from tuimon.model.points import Fact, Floats, Item, Points, Steps

_MAX_LAYOUTS = 1024
_PLAIN = {int, float}
_STEPS = frozenset(STEP_KEYS)
_Mask: TypeAlias = npt.NDArray[np.bool_]
_Rows: TypeAlias = npt.NDArray[np.intp]


class Names:
    """The name table of a decoder: ids count from 0 in the order of first sight."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._ids: dict[str, int] = {}

    def id(self, name: str) -> int:
        found = self._ids.get(name)
        if found is None:
            found = self._ids[name] = len(self.names)
            self.names.append(name)
        return found


class _Layout(Struct):
    """What the keys of a row say. Columns are numbered in the order of the keys."""

    steps: list[int]
    times: list[int]
    totals: list[int]
    ids: npt.NDArray[np.int64]
    """(columns,): id of the metric; -1 until it has its first point."""


class _Group(Struct):
    """The rows of a batch that have the same keys in the same order."""

    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    """Row by row: row i, column j is values[i * columns + j]."""
    kinds: set[type] = field(default_factory=set)
    """Of all values."""


class _Batch:
    """What is known of each row of a batch; all arrays have one element a row."""

    def __init__(self, size: int) -> None:
        self.steps: Steps = np.zeros(size, np.int64)
        self.has_step: _Mask = np.zeros(size, np.bool_)
        self.wall_times: Floats = np.full(size, np.nan)
        self.totals: Floats = np.full(size, np.nan)
        self.parts: list[tuple[_Rows, npt.NDArray[np.int64], Floats]] = []
        """(row, metric id, value) of the points of each layout."""


UNKNOWN_STEP = -(2**63)
"""For `RowReader(step_before=…)`: told apart from every step that is logged."""


class RowReader:
    """Turns the rows of one log (or one section of a document) into points, in file order, whatever the batches.

    step_before: of the row before the first one, where that is not the first of the log.
    """

    def __init__(self, names: Names, prefix: str = "", step_before: int | None = None) -> None:
        self._names = names
        self._prefix = prefix
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._count = 0  # rows that gave points
        self._last_step = step_before
        self._total: int | None = None
        self._config: Row | None = None

    def read(self, rows: Sequence[Row]) -> list[Item]:
        """At most one Points, then facts: config and progress (a new total of steps)."""
        facts: list[Item] = []
        groups = _group(rows)
        if any(dict in group.kinds for group in groups.values()):
            facts = self._configs(rows)
            groups = _group([flatten(row) for row in rows])
        batch = _Batch(len(rows))
        for keys, group in groups.items():
            if keys:
                self._read_group(keys, group, batch)
        return self._points(batch) + facts + self._progress(batch)

    def _read_group(self, keys: tuple[str, ...], group: _Group, batch: _Batch) -> None:
        """The points of the rows that have one layout, and their steps, times and totals."""
        layout = self._layout(keys)
        count, columns = len(group.rows), len(keys)
        rows = np.array(group.rows, np.intp)
        if group.kinds <= _PLAIN:
            values = np.array(group.values, np.float64).reshape(count, columns)
            present: _Mask = np.ones((count, columns), np.bool_)
            sample: _Mask = np.zeros(count, np.bool_)
        else:
            values, present, sample = _mixed(keys, group.values, count)
        for column in layout.times:
            times = np.array([seconds(v) or np.nan for v in group.values[column::columns]])
            fresh = np.isnan(batch.wall_times[rows]) & ~np.isnan(times) & ~sample
            batch.wall_times[rows[fresh]] = times[fresh]
            present[fresh, column] = False
        for column in layout.steps:
            missing = ~batch.has_step[rows] & ~sample
            if not missing.any():
                break
            self._read_steps(keys[column], group.values[column::columns], rows, missing, batch)
            if "/" not in keys[column]:
                present[missing & batch.has_step[rows], column] = False
        for column in layout.totals:
            known = present[:, column]
            batch.totals[rows[known]] = values[known, column]
        some = present.any(axis=0)
        for column in np.flatnonzero(some & (layout.ids < 0)).tolist():
            layout.ids[column] = self._names.id(self._prefix + keys[column])
        if (present.all(axis=0) == some).all():  # as nearly always: a third of the cost
            chosen = np.flatnonzero(some)
            part = np.repeat(rows, len(chosen)), np.tile(layout.ids[chosen], count), values[:, chosen].ravel()
        else:
            at, column_of = np.nonzero(present)
            part = rows[at], layout.ids[column_of], values[at, column_of]
        if len(part[0]):
            batch.parts.append(part)

    def _layout(self, keys: tuple[str, ...]) -> _Layout:
        layout = self._layouts.get(keys)
        if layout is None:
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[keys] = _Layout(
                steps=[keys.index(key) for key in STEP_KEYS if key in keys],
                times=[keys.index(key) for key in TIME_KEYS if key in keys],
                totals=[keys.index(key) for key in TOTAL_KEYS if key in keys],
                ids=np.full(len(keys), -1, np.int64),
            )
        return layout

    @staticmethod
    def _read_steps(key: str, column: list[Any], rows: _Rows, missing: _Mask, batch: _Batch) -> None:
        """Fills in the steps of the rows where they are `missing` from one column."""
        if set(map(type, column)) == {int} and min(column) >= -(2**63) and max(column) < 2**63:
            batch.steps[rows[missing]] = np.array(column, np.int64)[missing]
            batch.has_step[rows[missing]] = True
            return
        for index in np.flatnonzero(missing).tolist():
            found = step_of(column[index])
            if found and not (key == "epoch" and type(column[index]) is float):
                batch.steps[rows[index]] = found[0]
                batch.has_step[rows[index]] = True
                if found[1] is not None:
                    batch.totals[rows[index]] = found[1]

    def _points(self, batch: _Batch) -> list[Item]:
        if not batch.parts:
            self._fill_steps(batch, np.empty(0, np.intp))
            return []
        row, metric, values = (np.concatenate(part) for part in zip(*batch.parts, strict=True))
        if len(batch.parts) > 1:
            order = np.argsort(row, kind="stable")
            row, metric, values = row[order], metric[order], values[order]
        self._fill_steps(batch, row)
        return [Points(self._names.names, metric.astype(np.uint32), batch.steps[row], values, batch.wall_times[row])]

    def _fill_steps(self, batch: _Batch, row: _Rows) -> None:
        """Rows without a step get the step of the row before; without any such, their number."""
        gave = np.zeros(len(batch.steps), np.bool_)
        gave[row] = True
        latest = np.maximum.accumulate(np.where(batch.has_step, np.arange(len(gave)), -1))
        before: Any = self._count + np.cumsum(gave) - 1 if self._last_step is None else self._last_step
        batch.steps = np.where(latest >= 0, batch.steps[latest], before)
        if batch.has_step.any():
            self._last_step = int(batch.steps[-1])
        self._count += int(gave.sum())

    def _configs(self, rows: Sequence[Row]) -> list[Item]:
        facts: list[Item] = []
        for row in rows:
            config = row.get("config")
            if type(config) is dict and config and not same(config, self._config):
                self._config = config
                facts.append(Fact("config", trimmed(config)))
        return facts

    def _progress(self, batch: _Batch) -> list[Item]:
        facts: list[Item] = []
        for index in np.flatnonzero((batch.totals > 0) & np.isfinite(batch.totals)).tolist():
            if (total := int(batch.totals[index])) != self._total:
                self._total = total
                facts.append(Fact("progress", {"step": int(batch.steps[index]), "total": total}))
        return facts


def with_step(items: Iterable[Item]) -> list[Item]:
    """The points among the items that do not have the unknown step."""
    found: list[Item] = []
    for points in items:
        if isinstance(points, Points) and (known := points.steps != UNKNOWN_STEP).any():
            columns = points.metric[known], points.steps[known], points.values[known], points.wall_times[known]
            found.append(Points(points.names, *columns))
    return found


def _group(rows: Iterable[Row]) -> dict[tuple[str, ...], _Group]:
    groups: dict[tuple[str, ...], _Group] = {}
    for index, row in enumerate(rows):
        keys = tuple(row)
        group = groups.get(keys)
        if group is None:
            group = groups[keys] = _Group()
        group.rows.append(index)
        group.values.extend(row.values())
    for group in groups.values():
        group.kinds = set(map(type, group.values))
    return groups


def _mixed(keys: tuple[str, ...], flat: list[Any], count: int) -> tuple[Floats, _Mask, _Mask]:
    """(values, which of them are points) as (rows, columns), where not all values are numbers; (rows,): samples."""
    values = np.full((count, len(keys)), np.nan)
    present: _Mask = np.ones((count, len(keys)), np.bool_)
    samples: _Mask = np.zeros(count, np.bool_)
    texts = np.zeros(count, np.int64)
    stepped = not _STEPS.isdisjoint(keys)
    asked = not stepped or not SAMPLE_KEYS.isdisjoint(keys)
    for column, key in enumerate(keys):
        entries = flat[column :: len(keys)]
        kinds = set(map(type, entries))
        if kinds <= _PLAIN:
            values[:, column] = entries
            continue
        numbers = [number(value, key) for value in entries]
        values[:, column] = np.array(numbers, np.float64)  # None becomes NaN
        present[:, column] = [value is not None for value in numbers]
        if asked and (str in kinds or list in kinds):
            of_sample = np.array([is_sample(key, value) for value in entries])
            readable = np.array([is_text(value) for value in entries])
            present[of_sample, column] = False
            texts += of_sample | readable
            samples |= of_sample if stepped else of_sample | readable
    if stepped and samples.any():
        beside = [column for column, key in enumerate(keys) if key not in _STEPS and key not in TIME_KEYS]
        samples &= present[:, beside].sum(axis=1) < NUMBERS_BESIDE * texts
    present[samples] = False
    return values, present, samples
