"""W&B history rows to columns, fast: a run can have millions of values, each the JSON text of a number.

    HistoryRecord   item=1*  step=2 {num=1}
    item            key=1 | nested_key=2*   value_json=16 (tag bytes 82 01)

Between two values lie only the tag 82 01, a length, and the head of the next item: `0a <length> 12 <length> <key>`. So
a row is split at 82 01, each head is looked up by its bytes, and all values of the row are parsed as one JSON array.
A row where that does not come out exactly (a length that happens to be 82 01, an item without a value) is read field
by field.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from tuimon.errors import FormatError
from tuimon.formats._json import parse
from tuimon.formats._message import Message
from tuimon.formats._protobuf import BYTES, fields, signed, varint
from tuimon.model.points import Item, Points

_TAG = b"\x82\x01"
_NUMBERS = {int, float}
_KNOWN_HEADS = 1 << 16
"""How many heads are remembered: about twenty a metric, as a head holds the length of its item."""

Row: TypeAlias = tuple[list[int], list[Any], int | None]
"""Metric ids, JSON values, and the step if the row has one."""


def item_path(item: Message) -> list[str]:
    """The key of a history, summary, config or stats item, one part for each level of nesting."""
    return item.texts(2) or [item.text(1)]


def item_value(item: Message) -> Any:
    """The JSON value of an item. Raises FormatError where it is none."""
    return parse(item.data(16))


def number_leaves(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """(name, number) of a JSON value that is a number, or of each number in a nested object, names joined by ".".
    Text, booleans, null and lists are no numbers."""
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((f"{name}.{key}", inner) for key, inner in reversed(value.items()))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, float(value)


class HistoryRows:
    """Collects the rows of one `.wandb` file; `take` gives them as one batch of points."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._ids: dict[str, int] = {}
        self._heads: dict[bytes, int] = {}
        self._step_id = self._metric_id("_step")
        self._time_id = self._metric_id("_timestamp")
        self._metric = array("I")
        self._values = array("d")
        self._counts = array("q")
        self._steps = array("q")
        self._wall_times = array("d")

    def _metric_id(self, name: str) -> int:
        found = self._ids.get(name)
        if found is None:
            found = self._ids[name] = len(self.names)
            self.names.append(name)
        return found

    def add(self, row: bytes) -> None:
        """The bytes of a HistoryRecord. Raises FormatError where they are none; nothing is kept then."""
        try:
            ids, values, step = self._split(row)
        except FormatError:
            ids, values, step = self._read(row)
        if not _NUMBERS.issuperset(map(type, values)):
            ids, values = self._only_numbers(ids, values)
        try:
            wall_time = values[ids.index(self._time_id)]
        except ValueError:
            wall_time = float("nan")
        if step is None:
            logged = values[ids.index(self._step_id)] if self._step_id in ids else 0.0
            step = int(logged) if abs(logged) < 2**63 else 0
        self._append(ids, values, step, wall_time)

    def add_stats(self, stats: dict[str, float], step: int, wall_time: float) -> None:
        """Values on a clock of their own: by name, and the step that they share."""
        self._append([self._metric_id(name) for name in stats], list(stats.values()), step, wall_time)

    def _append(self, ids: list[int], values: list[float], step: int, wall_time: float) -> None:
        self._metric.extend(ids)
        self._values.extend(values)
        self._counts.append(len(ids))
        self._steps.append(step)
        self._wall_times.append(wall_time)

    def _split(self, row: bytes) -> Row:
        """The fast way. Raises FormatError where the row has to be read field by field."""
        head, *parts = row.split(_TAG)
        try:
            ends = [part[0] + 1 for part in parts]
            if max(ends) <= 128:
                texts = [part[1:end] for part, end in zip(parts, ends, strict=True)]
                heads = [part[end:] for part, end in zip(parts, ends, strict=True)]
            else:
                spans = [varint(part, 0, len(part)) for part in parts]
                texts = [part[at : at + size] for part, (size, at) in zip(parts, spans, strict=True)]
                heads = [part[at + size :] for part, (size, at) in zip(parts, spans, strict=True)]
        except (IndexError, ValueError) as error:
            raise FormatError("row without a value") from error
        rest = heads.pop()
        heads.insert(0, head)
        try:
            ids = list(map(self._heads.__getitem__, heads))
        except KeyError:
            ids = [self._learn(head) for head in heads]
        values = parse(b"[%b]" % b",".join(texts))
        if len(values) != len(ids) or not parts[-1].endswith(texts[-1] + rest):
            raise FormatError("row split wrongly")
        return ids, values, _step(rest)

    def _learn(self, head: bytes) -> int:
        """The metric that a head names. Raises FormatError where it is not one whole head."""
        found = self._heads.get(head)
        if found is None:
            if head[:1] != b"\x0a":
                raise FormatError("not the head of an item")
            length, at = varint(head, 1, len(head))
            if length <= len(head) - at:
                raise FormatError("an item without a value before this one")
            found = self._metric_id(".".join(item_path(Message(head[at:]))))
            if len(self._heads) < _KNOWN_HEADS:
                self._heads[head] = found
        return found

    def _read(self, row: bytes) -> Row:
        """Field by field; an item whose value is no JSON is left out."""
        ids: list[int] = []
        values: list[Any] = []
        step: int | None = None
        for field, wire, start, end in fields(row, 0, len(row)):
            if wire != BYTES:
                continue
            if field == 1:
                item = Message(row[start:end])
                try:
                    values.append(item_value(item))
                except FormatError:
                    continue
                ids.append(self._metric_id(".".join(item_path(item))))
            elif field == 2:
                step = Message(row[start:end]).integer(1)
        return ids, values, step

    def _only_numbers(self, ids: list[int], values: list[Any]) -> tuple[list[int], list[float]]:
        """Text, null and booleans left out, nested objects as one metric for each number in them."""
        kept: list[int] = []
        numbers: list[float] = []
        for metric, value in zip(ids, values, strict=True):
            for name, number in number_leaves(self.names[metric], value):
                kept.append(self._metric_id(name))
                numbers.append(number)
        return kept, numbers

    def take(self) -> list[Item]:
        """The rows so far as [Points], or []; none are left afterwards."""
        if not self._metric:
            return []
        counts = np.array(self._counts)
        points = Points(
            self.names,
            np.array(self._metric, np.uint32),
            np.repeat(np.array(self._steps), counts),
            np.array(self._values),
            np.repeat(np.array(self._wall_times), counts),
        )
        for column in (self._metric, self._values, self._counts, self._steps, self._wall_times):
            del column[:]
        return [points]


def _step(rest: bytes) -> int | None:
    """The step in what follows the last item of a row: nothing, or HistoryStep as the last field."""
    if not rest:
        return None
    if rest == b"\x12\x00":  # proto3 leaves out a zero
        return 0
    if rest[0] == 0x12 and len(rest) == rest[1] + 2 and rest[2] == 0x08:
        step, end = varint(rest, 3, len(rest))
        if end == len(rest):
            return signed(step)
    raise FormatError("more than a step after the last item")
