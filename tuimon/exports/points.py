"""Points in batches, on their way to a file: exactly what was logged, streamed, with a few thousand in hand at a time.

Unmerged (`source_batches`) they come in file order, each under its source, and memory does not depend on how many there
are. As curves (`curve_batches`) restarts are joined and what a later attempt superseded is left out: of a store whose
points are on disk that takes a metric of several attempts or sources at a time, and of any other a few thousand points
again. Steps that are a clock (W&B's system metrics) are in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import orjson
from msgspec import Struct

from tuimon.model.points import Fact, Floats, Ids, Item, Points, Steps
from tuimon.store import Snapshot
from tuimon.text import clean

ROWS = 1 << 16
"""Points of a batch, at most."""


class Batch(Struct, frozen=True, eq=False):
    """Consecutive points of one owner; arrays of one length, at least 1."""

    owner: str
    """Run or source."""
    names: Sequence[str]
    metric: Ids
    """Which of the names each point belongs to."""
    steps: Steps
    values: Floats
    wall_times: Floats
    """NaN where unknown."""
    rates: Mapping[int, float]
    """Index of a metric whose steps are a clock -> its ticks a second."""

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def seconds(self) -> Floats:
        """The steps of metrics whose steps are a clock, in seconds; NaN elsewhere."""
        found = np.full(len(self), np.nan)
        for index, rate in self.rates.items():
            rows = self.metric == index
            found[rows] = self.steps[rows] / rate
        return found


def source_batches(items: Iterable[tuple[str, Item]], wanted: Callable[[str], bool] | None = None) -> Iterator[Batch]:
    """Every point of every source, in file order. items: (source, decoded item)."""
    clocks: dict[tuple[str, str], float] = {}
    for source, item in items:
        if isinstance(item, Fact):
            clocks.update(((source, metric), rate) for metric, rate in _clocks(item))
        if not isinstance(item, Points):
            continue
        rates = (
            {at: clocks[source, name] for at, name in enumerate(item.names) if (source, name) in clocks}
            if clocks
            else {}
        )
        rows = None
        if wanted is not None:
            chosen = np.array([wanted(name) for name in item.names], np.bool_)
            rows = np.flatnonzero(chosen[item.metric])
        columns = (item.metric, item.steps, item.values, item.wall_times)
        if rows is not None and len(rows) < len(item):
            columns = (item.metric[rows], item.steps[rows], item.values[rows], item.wall_times[rows])
        yield from _cut(source, item.names, *columns, rates)


def curve_batches(snapshot: Snapshot, wanted: Callable[[str], bool] | None = None) -> Iterator[Batch]:
    """One curve a metric and run, run by run."""
    for run in snapshot.runs:
        clocks = {metric: rate for fact in run.facts("metrics") for metric, rate in _clocks(fact)}
        for name, steps, values, wall_times in run.points(wanted or (lambda name: True), ROWS):
            rates = {0: clocks[name]} if name in clocks else {}
            yield Batch(run.name, (name,), np.zeros(len(steps), np.uint32), steps, values, wall_times, rates)


def _cut(
    owner: str,
    names: Sequence[str],
    metric: Ids,
    steps: Steps,
    values: Floats,
    wall_times: Floats,
    rates: Mapping[int, float],
) -> Iterator[Batch]:
    for start in range(0, len(steps), ROWS):
        part = slice(start, start + ROWS)
        yield Batch(owner, names, metric[part], steps[part], values[part], wall_times[part], rates)


def _clocks(fact: Fact) -> Iterator[tuple[str, float]]:
    """(metric, ticks a second) of the metrics whose steps are a clock."""
    if fact.topic == "metrics":
        for metric, known in fact.value.items():
            if isinstance(known, Mapping) and (rate := known.get("steps_per_second")):
                yield metric, rate


# ---------------------------------------------------------------------- as text


class LineForm(Struct, frozen=True):
    """How a point is written on a line: what stands before, between and behind its numbers."""

    head: Callable[[str, str], bytes]
    """(owner, metric) -> what begins the line, up to the step."""
    value: bytes
    """Between step and value."""
    wall_time: bytes
    """Between value and wall time."""
    end: bytes
    not_finite: Mapping[str, bytes]
    """str of the number -> its text, for nan, inf and -inf."""
    unknown: bytes
    """For a wall time that is not known."""


class LineWriter:
    """Batches -> lines. Numbers are written by orjson: the shortest text that reads back as the same number."""

    def __init__(self, form: LineForm) -> None:
        self._form = form
        self._heads: dict[tuple[str, str], bytes] = {}

    def lines(self, batch: Batch) -> bytes:
        """All lines of a batch."""
        form = self._form
        steps = _texts(batch.steps)
        if batch.rates:
            seconds = batch.seconds
            rows = np.flatnonzero(np.isfinite(seconds))
            for row, text in zip(rows.tolist(), _texts(seconds[rows]), strict=True):
                steps[row] = text
        values = _texts(batch.values)
        for row in np.flatnonzero(~np.isfinite(batch.values)).tolist():
            values[row] = form.not_finite[str(float(batch.values[row]))]
        times = _texts(batch.wall_times)
        for row in np.flatnonzero(~np.isfinite(batch.wall_times)).tolist():
            times[row] = form.unknown
        between, behind, end = form.value, form.wall_time, form.end
        rows_of = zip(self._heads_of(batch), steps, values, times, strict=True)
        return b"".join([b"%b%b%b%b%b%b%b" % (h, s, between, v, behind, t, end) for h, s, v, t in rows_of])

    def _heads_of(self, batch: Batch) -> list[bytes]:
        present = np.unique(batch.metric).tolist()
        table = [b""] * (present[-1] + 1)
        for index in present:
            key = (batch.owner, batch.names[index])
            if key not in self._heads:
                self._heads[key] = self._form.head(*key)
            table[index] = self._heads[key]
        return [table[index] for index in batch.metric.tolist()] if len(present) > 1 else [table[-1]] * len(batch)


def _texts(numbers: Steps | Floats) -> list[bytes]:
    if not len(numbers):
        return []
    return orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")


def csv_cell(text: str, shown: bool = False) -> str:
    """RFC 4180 quoting, and no formula (CWE-1236): text that a spreadsheet would take for one is led by an apostrophe.

    For text alone: a number is never harmed. shown: on a terminal, which it must not command.
    """
    text = clean(text) if shown else text.encode("utf-8", "backslashreplace").decode()
    if text and text[0] in "=+-@\t\r":
        text = "'" + text
    if any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_number(value: float, whole: bool = False) -> str:
    """A number as a cell: nan, inf and -inf by name; without a point where it is one of whole numbers."""
    return str(int(value)) if whole and math.isfinite(value) else repr(value)
