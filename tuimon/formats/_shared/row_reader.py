"""Conversion of rows of metrics to points by columns: rows with the same keys form one matrix, without Python per
value.

The meaning of keys and values is described in `rows`. A row of 20 numbers takes about 4.5 µs, half of it in orjson
(`python -m tests.bench formats`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.formats._shared.row_steps import RowSteps, StepBatch, StepUnit
from tuimon.formats._shared.rows import (
    BATCH_KEYS,
    CLOCK_KEYS,
    NUMBERS_BESIDE,
    SAMPLE_KEYS,
    STEP_KEYS,
    TIME_KEYS,
    TOTAL_KEYS,
    Row,
    flatten,
    is_clock,
    is_like_number,
    is_of_training,
    is_sample,
    is_text,
    number,
    same,
    seconds,
    step_columns,
    step_of,
    trimmed,
    with_elements,
)
from tuimon.model.points import Fact, Floats, Item, Names, Points, Topic

_MAX_LAYOUTS = 1024
_ROWS_EXAMINED = 64
"""Number of rows of a batch that are searched for texts like numbers."""
_NAMED = 5
"""Number of keys of such texts that are named; further ones are counted."""
_PLAIN = {int, float}
_Mask: TypeAlias = npt.NDArray[np.bool_]
_Rows: TypeAlias = npt.NDArray[np.intp]


class _Layout(Struct):
    """Meaning of a row's keys. Columns are numbered in the order of the keys."""

    steps: list[int]
    times: list[int]
    clocks: list[int]
    totals: list[int]
    epoch: int | None  # column of the epoch
    ids: npt.NDArray[np.int64]  # (columns,): id of the metric; -1 until it has its first point


class _Group(Struct):
    """The rows of a batch that have the same keys in the same order."""

    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)  # values of row i and column j at values[i * columns + j]
    kinds: set[type] = field(default_factory=set)  # types of all values


class _Batch(StepBatch):
    """Data of the rows of a batch; all arrays have one element per row."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.wall_times: Floats = np.full(size, np.nan)
        self.totals: Floats = np.full(size, np.nan)
        self.parts: list[tuple[_Rows, npt.NDArray[np.int64], Floats]] = []
        """(rows, metric ids, values) of the points of each layout."""


class RowReader:
    """Converts the rows of one log (or of one section of a document) to points, in file order, independently of the
    batches.

    `step_before`: step of the row before the first one, if reading starts within the log. `lists`: also read the
    elements of short lists; in documents, lists in rows are what was logged within an epoch. `unit`: reports whether
    the steps are epochs. `samples`: whether rows with texts may be samples, which have no points.
    """

    def __init__(
        self,
        names: Names,
        prefix: str = "",
        step_before: int | None = None,
        lists: bool = False,
        unit: StepUnit | None = None,
        samples: bool = True,
    ) -> None:
        self._unit = unit
        self._samples = samples
        self._lists = lists
        self._names = names
        self._prefix = prefix
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._steps = RowSteps(step_before, unit)
        self._batch_key: str | None = None
        """The key of BATCH_KEYS that is the counter within an epoch, "" for none, None until the first row with an
        epoch."""
        self._clocks: dict[str, bool] = {}
        """Whether the values of a key of CLOCK_KEYS are times, by the first of them."""
        self._not_steps = 0
        """Number of rows whose step has a fraction, or more than 64 bits."""
        self._unread: dict[str, str] = {}
        """The first text like a number that gave no point, by key."""
        self._total: int | None = None
        self._config: Row | None = None

    def read(self, rows: Sequence[Row]) -> list[Item]:
        """Return at most one Points, then facts: config and progress (a new total of steps, their unit)."""
        facts: list[Item] = []
        if self._batch_key is None:
            self.find_batch_key(rows)
        groups = _group(rows)
        if any(dict in group.kinds for group in groups.values()):
            facts = self._configs(rows)
            rows = [flatten(row) for row in rows]
            groups = _group(rows)
        if self._lists and any(list in group.kinds for group in groups.values()):
            groups = _group([with_elements(row) for row in rows])
        batch = _Batch(len(rows))
        for keys, group in groups.items():
            if keys:
                self._read_group(keys, group, batch)
        return self._points(batch) + facts + self._progress(batch)

    @property
    def remark(self) -> str:
        """Note for the user about the rows; "" without one."""
        if not self._not_steps:
            return self._steps.missing.remark
        rows = "1 row has" if self._not_steps == 1 else f"{self._not_steps} rows have"
        return f"{rows} a step that is not a whole number of 64 bits, and the step of the row before instead"

    @property
    def unread(self) -> str:
        """The first texts like numbers that gave no point, as "`big: 1,2`, `mem: 31.2GiB`"; "" if there are none."""
        named = [f"`{key}: {text}`" for key, text in list(self._unread.items())[:_NAMED]]
        more = len(self._unread) - len(named)
        return ", ".join(named) + (f"; {more} more" if more else "")

    def _note_unread(self, keys: tuple[str, ...], flat: list[Any], read: _Mask) -> None:
        """Note the texts like numbers among the values of some rows that were not read."""
        for column in np.flatnonzero(~read[:_ROWS_EXAMINED].all(axis=0)).tolist():
            key = keys[column]
            if key in self._unread or key in TIME_KEYS or step_columns([key]):
                continue
            rows = np.flatnonzero(~read[:_ROWS_EXAMINED, column]).tolist()
            values = (flat[row * len(keys) + column] for row in rows)
            if (text := next((value for value in values if is_like_number(value, key)), None)) is not None:
                self._unread[key] = text

    def tail_is_known(self, first_epoch: float | None) -> bool:
        """Return whether the steps of these rows are right although those before them were not read."""
        return self._steps.overall.known_from(first_epoch)

    def find_batch_key(self, rows: Sequence[Row]) -> None:
        """Decide from the first row with an epoch, if it is among these, whether a key of it counts batches."""
        row = next((row for row in rows if "epoch" in row), None)
        if row is not None:
            keys = (key for key in BATCH_KEYS if type(row.get(key)) is int and row[key] == 0)
            others = any(key in row for key in STEP_KEYS if key != "epoch")
            self._batch_key = "" if others else next(keys, "")

    def _read_group(self, keys: tuple[str, ...], group: _Group, batch: _Batch) -> None:
        """Read the points of rows with one layout, and their steps, times and totals."""
        layout = self._layout(keys)
        count, columns = len(group.rows), len(keys)
        rows = np.array(group.rows, np.intp)
        if group.kinds <= _PLAIN:
            values = np.array(group.values, np.float64).reshape(count, columns)
            present: _Mask = np.ones((count, columns), np.bool_)
            sample: _Mask = np.zeros(count, np.bool_)
        else:
            values, present, sample = _mixed(keys, group.values, count, self._samples)
            self._note_unread(keys, group.values, present | sample[:, None])
        if layout.epoch is not None:
            batch.epochs[rows] = values[:, layout.epoch]
        clocks = [column for column in layout.clocks if self._is_clock(keys[column], group.values[column::columns])]
        for column in (*layout.times, *clocks):
            times = np.array([seconds(v) or np.nan for v in group.values[column::columns]])
            fresh = np.isnan(batch.wall_times[rows]) & ~np.isnan(times) & ~sample
            batch.wall_times[rows[fresh]] = times[fresh]
            present[fresh, column] = False
        for column in layout.steps:
            missing = ~batch.has_step[rows] & ~sample
            if not missing.any():
                break
            self._read_steps(keys[column], group.values[column::columns], rows, missing, batch)
            batch.set(rows[missing & batch.has_step[rows]], keys[column])
            if "/" not in keys[column]:
                present[missing & batch.has_step[rows], column] = False
        for column in layout.totals:
            known = present[:, column]
            batch.totals[rows[known]] = values[known, column]
        used = present.any(axis=0)
        for column in np.flatnonzero(used & (layout.ids < 0)).tolist():
            layout.ids[column] = self._names.id(self._prefix + keys[column])
        if (present.all(axis=0) == used).all():  # the usual case, at a third of the cost
            chosen = np.flatnonzero(used)
            part = np.repeat(rows, len(chosen)), np.tile(layout.ids[chosen], count), values[:, chosen].ravel()
        else:
            row, column_of = np.nonzero(present)
            part = rows[row], layout.ids[column_of], values[row, column_of]
        if len(part[0]):
            batch.parts.append(part)

    def _is_clock(self, key: str, values: list[Any]) -> bool:
        if key not in self._clocks and (known := [value for value in values if value is not None]):
            self._clocks[key] = is_clock(known[0])
        return self._clocks.get(key, False)

    def _layout(self, keys: tuple[str, ...]) -> _Layout:
        layout = self._layouts.get(keys)
        if layout is None:
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            batch = [self._batch_key] if self._batch_key in keys and "epoch" in keys else []
            layout = self._layouts[keys] = _Layout(
                steps=[
                    *map(keys.index, batch),
                    *_step_columns(keys),
                ],
                times=[keys.index(key) for key in TIME_KEYS if key in keys],
                clocks=[keys.index(key) for key in CLOCK_KEYS if key in keys],
                totals=[keys.index(key) for key in TOTAL_KEYS if key in keys],
                epoch=keys.index("epoch") if "epoch" in keys else None,
                ids=np.full(len(keys), -1, np.int64),
            )
        return layout

    def _read_steps(self, key: str, column: list[Any], rows: _Rows, missing: _Mask, batch: _Batch) -> None:
        """Fill in the steps of the `missing` rows from one column."""
        if set(map(type, column)) == {int} and min(column) > -(2**63) and max(column) < 2**63:
            batch.steps[rows[missing]] = np.array(column, np.int64)[missing]
            batch.has_step[rows[missing]] = True
            return
        for index in np.flatnonzero(missing).tolist():
            step = step_of(column[index])
            if step and not (key.lower() == "epoch" and type(column[index]) is float):
                batch.steps[rows[index]] = step[0]
                batch.has_step[rows[index]] = True
                if step[1] is not None:
                    batch.totals[rows[index]] = step[1]
            elif key.lower() != "epoch" and type(column[index]) in (int, float) and math.isfinite(column[index]):
                self._not_steps += 1

    def _points(self, batch: _Batch) -> list[Item]:
        rows = self._steps.over_epochs(batch)
        batch.totals[rows] = np.nan
        if len(rows):
            epoch = self._names.id(f"{self._prefix}epoch")
            batch.parts.append((rows, np.full(len(rows), epoch, np.int64), batch.epochs[rows]))
        has_points = np.zeros(len(batch.steps), np.bool_)
        if not batch.parts:
            batch.steps = self._steps.fill(batch, has_points)
            return []
        row, metric, values = (np.concatenate(part) for part in zip(*batch.parts, strict=True))
        if len(batch.parts) > 1:
            order = np.argsort(row, kind="stable")
            row, metric, values = row[order], metric[order], values[order]
        has_points[row] = True
        batch.steps = self._steps.fill(batch, has_points)
        return [Points(self._names.names, metric.astype(np.uint32), batch.steps[row], values, batch.wall_times[row])]

    def _configs(self, rows: Sequence[Row]) -> list[Item]:
        facts: list[Item] = []
        for row in rows:
            config = row.get("config")
            if type(config) is dict and config and not same(config, self._config):
                self._config = config
                facts.append(Fact(Topic.CONFIG, trimmed(config)))
        return facts

    def _progress(self, batch: _Batch) -> list[Item]:
        """Return new units and totals of the steps in the order of their rows, as if each row were a batch."""
        facts = self._unit.take_by_row() if self._unit is not None else []
        for index in np.flatnonzero((batch.totals > 0) & np.isfinite(batch.totals)).tolist():
            if (total := int(batch.totals[index])) != self._total:
                self._total = total
                facts.append((index, Fact(Topic.PROGRESS, {"step": int(batch.steps[index]), "total": total})))
        return [fact for _, fact in sorted(facts, key=itemgetter(0))]


def _step_columns(keys: Sequence[str]) -> list[int]:
    return [column for column in step_columns(keys) if keys[column] not in TOTAL_KEYS]


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


def _mixed(keys: tuple[str, ...], flat: list[Any], count: int, may_be_samples: bool) -> tuple[Floats, _Mask, _Mask]:
    """Return (values, which of them are points, which rows are samples) for rows that do not only hold numbers. The
    first two are (rows, columns), the last is (rows,)."""
    values = np.full((count, len(keys)), np.nan)
    present: _Mask = np.ones((count, len(keys)), np.bool_)
    samples: _Mask = np.zeros(count, np.bool_)
    texts = np.zeros(count, np.int64)
    steps = _step_columns(keys)
    stepped = bool(steps)
    check_samples = may_be_samples and (not stepped or not SAMPLE_KEYS.isdisjoint(keys))
    for column, key in enumerate(keys):
        entries = flat[column :: len(keys)]
        kinds = set(map(type, entries))
        if kinds <= _PLAIN:
            values[:, column] = entries
            continue
        numbers = [number(value, key) for value in entries]
        values[:, column] = np.array(numbers, np.float64)  # None becomes NaN
        present[:, column] = [value is not None for value in numbers]
        if check_samples and (str in kinds or list in kinds):
            of_sample = np.array([is_sample(key, value) for value in entries])
            readable = np.array([is_text(value) for value in entries])
            present[of_sample, column] = False
            texts += of_sample | readable
            samples |= of_sample if stepped else of_sample | readable
    if stepped and samples.any():
        beside = [column for column, key in enumerate(keys) if column not in steps and key not in TIME_KEYS]
        of_training = [column for column in beside if is_of_training(keys[column])]
        samples &= present[:, beside].sum(axis=1) < NUMBERS_BESIDE * texts
        samples &= ~present[:, of_training].any(axis=1)
    present[samples] = False
    return values, present, samples
