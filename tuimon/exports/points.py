"""Points in batches, for exports that stream them.

`source_batches` yields all points unmerged, in file order, with their source, in constant memory. `curve_batches`
yields merged curves: attempts are joined and superseded points left out. If the points of the store are on disk, this
needs memory for one metric if that has several attempts or sources or comes from a log of machines, otherwise for one
batch. Steps that are clock ticks (the system metrics of W&B) are converted to seconds. In curves, measurements from a
log of machines (nvidia-smi) have the training steps at their wall times; what identifies them is the wall time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
import orjson
from msgspec import Struct

from tuimon.analysis.aligned_steps import lacks_training_steps, training_steps_at
from tuimon.model.points import Fact, Floats, Ids, Item, Points, Steps, Topic
from tuimon.store import Run, Snapshot
from tuimon.text import clean

ROWS = 1 << 16
"""Maximum number of points in a batch."""


class Batch(Struct, frozen=True, eq=False):
    """Consecutive points of one run or source; arrays of equal length, at least 1."""

    owner: str
    """Name of the run or source."""
    names: Sequence[str]
    metric: Ids
    """Index in `names` of each point."""
    steps: Steps
    values: Floats
    wall_times: Floats
    """Seconds since the epoch; NaN if unknown."""
    rates: Mapping[int, float]
    """Index of a metric whose steps are clock ticks -> ticks per second."""

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def seconds(self) -> Floats:
        """Steps that are clock ticks, in seconds; NaN for all other points."""
        seconds = np.full(len(self), np.nan)
        for index, rate in self.rates.items():
            rows = self.metric == index
            seconds[rows] = self.steps[rows] / rate
        return seconds


def source_batches(
    items: Iterable[tuple[str, Item]], wanted: Collection[tuple[str, str]] | None = None
) -> Iterator[Batch]:
    """Yield every point of every source in file order.

    items: pairs of a source and a decoded item. wanted: (source, name in its file) of each series to yield, or None for
    all.
    """
    clocks: dict[tuple[str, str], float] = {}
    for source, item in items:
        if isinstance(item, Fact):
            clocks.update(((source, metric), rate) for metric, rate in _clocks(item))
        if not isinstance(item, Points):
            continue
        rates = (
            {i: clocks[source, name] for i, name in enumerate(item.names) if (source, name) in clocks} if clocks else {}
        )
        rows = None
        if wanted is not None:
            chosen = np.array([(source, name) in wanted for name in item.names], np.bool_)
            rows = np.flatnonzero(chosen[item.metric])
        columns = (item.metric, item.steps, item.values, item.wall_times)
        if rows is not None and len(rows) < len(item):
            columns = (item.metric[rows], item.steps[rows], item.values[rows], item.wall_times[rows])
        yield from _cut(source, item.names, *columns, rates)


def curve_batches(snapshot: Snapshot, wanted: Callable[[str], bool] | None = None) -> Iterator[Batch]:
    """Yield the merged curve of each metric, run by run."""
    for run in snapshot.runs:
        clocks = {metric: rate for fact in run.facts(Topic.METRICS) for metric, rate in _clocks(fact)}
        pieces = run.points(wanted or (lambda name: True), ROWS)
        for name, of_metric in groupby(pieces, key=lambda piece: piece[0]):
            rates = {0: clocks[name]} if name in clocks else {}
            columns = (piece[1:] for piece in of_metric)
            of_machine = run.counts_no_steps or lacks_training_steps(run, name)
            for steps, values, wall_times in _trained(run, columns) if of_machine else columns:
                yield from _cut(run.name, (name,), np.zeros(len(steps), np.uint32), steps, values, wall_times, rates)


def _trained(run: Run, pieces: Iterable[tuple[Steps, Floats, Floats]]) -> Iterator[tuple[Steps, Floats, Floats]]:
    """Yield the points of a curve with the training steps at their wall times, or as they are if these are unknown, or
    with their numbers without a training."""
    steps, values, wall_times = map(np.concatenate, zip(*pieces, strict=True))
    trained = np.arange(len(steps)) if run.counts_no_steps else training_steps_at(run, wall_times)
    yield steps if trained is None else trained, values, wall_times


def in_steps(batches: Iterable[Batch], first: int, last: int) -> Iterator[Batch]:
    """Yield the points of the batches from step `first` to step `last`."""
    for batch in batches:
        rows = np.flatnonzero((batch.steps >= first) & (batch.steps <= last))
        if len(rows) == len(batch):
            yield batch
        elif len(rows):
            columns = batch.metric[rows], batch.steps[rows], batch.values[rows], batch.wall_times[rows]
            yield Batch(batch.owner, batch.names, *columns, batch.rates)


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
    """Yield (metric, ticks per second) of the metrics whose steps are clock ticks."""
    if fact.topic == Topic.METRICS:
        for metric, known in fact.value.items():
            if isinstance(known, Mapping) and (rate := known.get("steps_per_second")):
                yield metric, rate


# ---------------------------------------------------------------------- as text


class LineForm(Struct, frozen=True):
    """The texts before, between and after the numbers of a point in a line-based format."""

    head: Callable[[str, str], bytes]
    """Return the start of the line, up to the step, for (owner, metric)."""
    value: bytes
    """Text between step and value."""
    wall_time: bytes
    """Text between value and wall time."""
    end: bytes
    not_finite: Mapping[str, bytes]
    """str(value) -> text, for "nan", "inf" and "-inf"."""
    unknown: bytes
    """Text of an unknown wall time."""


class LineWriter:
    """Convert batches to lines. orjson writes each number as the shortest text that reads back as the same number."""

    def __init__(self, form: LineForm) -> None:
        self._form = form
        self._heads: dict[tuple[str, str], bytes] = {}

    def lines(self, batch: Batch) -> bytes:
        """Return all lines of a batch."""
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
        before_value, before_time, end = form.value, form.wall_time, form.end
        rows_of = zip(self._heads_of(batch), steps, values, times, strict=True)
        return b"".join([b"%b%b%b%b%b%b%b" % (h, s, before_value, v, before_time, t, end) for h, s, v, t in rows_of])

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
    """Quote text as in RFC 4180. Text that a spreadsheet would interpret as a formula (CWE-1236) gets an apostrophe.

    shown: replace control characters, for output to a terminal.
    """
    text = clean(text) if shown else text.encode("utf-8", "backslashreplace").decode()
    if text and text[0] in "=+-@\t\r":
        text = "'" + text
    if any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
