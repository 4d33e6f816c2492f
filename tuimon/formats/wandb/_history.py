"""Conversion of W&B history rows to columns: a run can have millions of values, each a number as JSON text.

    HistoryRecord   item=1*  step=2 {num=1}
    item            key=1 | nested_key=2*   value_json=16 (tag bytes 82 01)

Between two values there are only the tag 82 01, a length, and the head of the next item: `0a <length> 12 <length>
<key>`. So a row is split at 82 01, each head is looked up by its bytes, and all values of _AT_ONCE rows are parsed as
one JSON array. A row where this fails (a length that happens to be 82 01, an item without a value) is read field by
field.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.protobuf import BYTES, Message, fields, signed, varint
from tuimon.model.points import Damage, Floats, Ids, Item, PointsBuilder, Steps

_TAG = b"\x82\x01"
_NUMBERS = {int, float}
_SPANNING = {str, list, dict}
_FIRST = itemgetter(0)
_KNOWN_HEADS = 1 << 16  # heads remembered: about twenty per metric, as a head includes the length of its item

_AT_ONCE = 256
"""Rows whose values are parsed together."""
_WHOLE = 2.0**53  # limit up to which every whole number is exact as a float

Waiting: TypeAlias = tuple[bytes, int, int]
"""An undecoded HistoryRecord, and the offset and length of its record."""
Rows: TypeAlias = tuple[list[int], list[float], list[int], list[int | None]]
"""Metric ids and values; the number of values of each row, and its step if it has one."""


def item_path(item: Message) -> list[str]:
    """Return the key of a history, summary, config or stats item, one part for each level of nesting."""
    return item.texts(2) or [item.text(1)]


def item_value(item: Message) -> Any:
    """Return the JSON value of an item. Raises FormatError if it is not JSON."""
    return parse(item.data(16))


def store_item(document: dict[str, Any], item: Message) -> None:
    """Store the value of an item in a JSON document, which gets the objects that its key names. Raises FormatError if
    the value is not JSON."""
    *parents, key = item_path(item)
    for parent in parents:
        inner = document.get(parent)
        if not isinstance(inner, dict):
            inner = document[parent] = {}
        document = inner
    document[key] = item_value(item)


def number_leaves(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield (name, number) for a JSON value that is a number, or for each number in nested objects, with names joined
    by ".".

    Text, booleans, null and lists are skipped.
    """
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((f"{name}.{key}", inner) for key, inner in reversed(value.items()))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, float(value)


class HistoryRows:
    """Collects the rows of one `.wandb` file; `take` returns them as one batch of points."""

    def __init__(self) -> None:
        self._points = PointsBuilder()
        self._metric_id = self._points.id
        self._heads: dict[bytes, int] = {}
        self._step_id = self._metric_id("_step")
        self._time_id = self._metric_id("_timestamp")
        self._waiting: list[Waiting] = []
        self._damage: list[Item] = []
        self._training_step = TrainingStep()

    def use_step_metric(self, name: str) -> None:
        """Use this metric as the step of the rows from here on. The metric "_step" keeps their numbers."""
        self._read_waiting()
        self._training_step.metric = self._metric_id(name)

    def add(self, row: bytes, offset: int, length: int) -> None:
        """Add a row; one that is malformed becomes damage."""
        self._waiting.append((row, offset, length))
        if len(self._waiting) >= _AT_ONCE:
            self._read_waiting()

    def add_stats(self, stats: dict[str, float], step: int, wall_time: float) -> None:
        """Add values by name that share a step of their own, which is not a training step."""
        self._read_waiting()
        if stats:
            ids = np.array([self._metric_id(name) for name in stats], np.uint32)
            columns = np.full(len(ids), step), np.array(list(stats.values())), np.full(len(ids), wall_time)
            self._points.add_columns(ids, *columns)

    def _read_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        together = self._together(waiting)
        parts = [together] if together else [self._together([row]) or self._alone(*row) for row in waiting]
        columns = ([*chain.from_iterable(column)] for column in zip(*parts, strict=True))
        all_ids, all_values, all_counts, all_steps = columns
        ids, values, counts = np.array(all_ids, np.uint32), np.array(all_values, np.float64), np.array(all_counts)
        if not len(ids):
            return
        row = np.repeat(np.arange(len(counts)), counts)
        steps = np.array([step or 0 for step in all_steps])
        if None in all_steps:
            logged, known = _first_of(self._step_id, ids, values, row, len(counts))
            whole = np.where(known & (np.abs(logged) < 2.0**63), logged, 0.0).astype(np.int64)
            steps = np.where([step is not None for step in all_steps], steps, whole)
        steps = self._training_step.of_rows(ids, values, row, steps)
        wall_times = _first_of(self._time_id, ids, values, row, len(counts))[0]
        self._points.add_columns(ids, steps[row], values, wall_times[row])

    def _together(self, rows: list[Waiting]) -> Rows | None:
        """Read rows by a single parser call; return None if one of them must be read by itself."""
        ids: list[int] = []
        texts: list[bytes] = []
        counts: list[int] = []
        steps: list[int | None] = []
        try:
            for row, _, _ in rows:
                row_ids, row_texts, step = self._split(row)
                ids += row_ids
                texts += row_texts
                counts.append(len(row_ids))
                steps.append(step)
            values = parse(b"[%b]" % b",".join(texts))
        except FormatError:
            return None
        if len(values) != len(ids):
            return None
        if set(map(type, values)) <= _NUMBERS:
            return ids, values, counts, steps
        if any(type(v) in _SPANNING and not _is_text(v, text) for v, text in zip(values, texts, strict=True)):
            return None
        return *self._only_numbers(ids, values, counts), steps

    def _alone(self, row: bytes, offset: int, length: int) -> Rows:
        """Read one row field by field; items whose value is not JSON are skipped."""
        ids: list[int] = []
        values: list[Any] = []
        step: int | None = None
        try:
            for field, wire, start, end in fields(row, 0, len(row)):
                if wire == BYTES and field == 1:
                    item = Message(row[start:end])
                    with suppress(FormatError):
                        values.append(item_value(item))
                        ids.append(self._metric_id(".".join(item_path(item))))
                elif wire == BYTES and field == 2:
                    step = Message(row[start:end]).integer(1)
        except FormatError:
            self._damage.append(Damage(offset, length, "record not readable"))
            return [], [], [], []
        return *self._only_numbers(ids, values, [len(ids)]), [step]

    def _split(self, row: bytes) -> tuple[list[int], list[bytes], int | None]:
        """Split a row into metric ids, JSON texts and step. Raises FormatError if it must be read field by field."""
        head, *parts = row.split(_TAG)
        try:
            if max(map(_FIRST, parts)) < 128:
                texts = [part[1 : part[0] + 1] for part in parts]
                heads = [part[part[0] + 1 :] for part in parts]
            else:
                spans = [varint(part, 0, len(part)) for part in parts]
                texts = [part[start : start + size] for part, (size, start) in zip(parts, spans, strict=True)]
                heads = [part[start + size :] for part, (size, start) in zip(parts, spans, strict=True)]
        except (IndexError, ValueError) as error:
            raise FormatError("row without a value") from error
        rest = heads.pop()
        heads.insert(0, head)
        try:
            ids = list(map(self._heads.__getitem__, heads))
        except KeyError:
            ids = [self._learn(head) for head in heads]
        if not parts[-1].endswith(texts[-1] + rest):
            raise FormatError("row split wrongly")
        return ids, texts, _step(rest)

    def _learn(self, head: bytes) -> int:
        """Return the metric that a head names. Raises FormatError if it is not one whole head."""
        metric = self._heads.get(head)
        if metric is None:
            if head[:1] != b"\x0a":
                raise FormatError("not the head of an item")
            length, start = varint(head, 1, len(head))
            if length <= len(head) - start:
                raise FormatError("an item without a value before this one")
            metric = self._metric_id(".".join(item_path(Message(head[start:]))))
            if len(self._heads) < _KNOWN_HEADS:
                self._heads[head] = metric
        return metric

    def _only_numbers(
        self, ids: list[int], values: list[Any], counts: list[int]
    ) -> tuple[list[int], list[float], list[int]]:
        """Drop text, null and booleans, and replace nested objects by one metric for each number in them.

        counts: number of values of each row.
        """
        kept: list[tuple[int, float]] = []
        left: list[int] = []
        entries = zip(ids, values, strict=True)
        for count in counts:
            before = len(kept)
            for metric, value in islice(entries, count):
                if type(value) in _NUMBERS:
                    kept.append((metric, value))
                elif type(value) is dict:
                    leaves = number_leaves(self._points.names[metric], value)
                    kept += [(self._metric_id(name), number) for name, number in leaves]
            left.append(len(kept) - before)
        return [metric for metric, _ in kept], [value for _, value in kept], left

    def take(self) -> list[Item]:
        """Return the rows so far as [Points] or [], followed by the damage among them."""
        self._read_waiting()
        damage, self._damage = self._damage, []
        return [*self._points.take(), *damage]


class TrainingStep:
    """Training step of each row, by a metric that counts steps."""

    def __init__(self) -> None:
        self.metric: int | None = None
        """Id of the metric; None to use the numbers of the rows."""
        self._last: int | None = None

    def of_rows(self, ids: Ids, values: Floats, row: npt.NDArray[np.int64], numbers: Steps) -> Steps:
        """Return the step of each row: the metric's value, else the step of the previous row, else the row's number.
        `ids`, `values`, `row`: one element per point, in the order of the rows."""
        if self.metric is None:
            return numbers
        logged, known = _first_of(self.metric, ids, values, row, len(numbers))
        whole = known & (np.abs(logged) < _WHOLE)
        whole &= np.where(whole, logged, 0.5) % 1 == 0
        latest = np.maximum.accumulate(np.where(whole, np.arange(len(numbers)), -1))
        before = numbers if self._last is None else np.full(len(numbers), self._last)
        steps = np.where(latest >= 0, np.where(whole, logged, 0.0).astype(np.int64)[latest], before)
        if whole.any():
            self._last = int(steps[-1])
        return steps


def _first_of(
    metric: int, ids: Ids, values: Floats, row: npt.NDArray[np.int64], rows: int
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return (first value of a metric in each row or NaN, which rows have one)."""
    first, known = np.full(rows, np.nan), np.zeros(rows, np.bool_)
    points = np.flatnonzero(ids == metric)[::-1]  # reversed: the first of several wins
    first[row[points]], known[row[points]] = values[points], True
    return first, known


def _step(rest: bytes) -> int | None:
    """Return the step in the bytes after the last item of a row: nothing, or HistoryStep as the last field."""
    if not rest:
        return None
    if rest == b"\x12\x00":  # proto3 leaves out a zero
        return 0
    if rest[0] == 0x12 and len(rest) == rest[1] + 2 and rest[2] == 0x08:
        step, end = varint(rest, 3, len(rest))
        if end == len(rest):
            return signed(step)
    raise FormatError("more than a step after the last item")


def _is_text(value: Any, text: bytes) -> bool:
    """Return whether a value is that of its own text: "1,[2" and "3]" are JSON only together."""
    try:
        return bool(parse(text) == value)
    except FormatError:
        return False
