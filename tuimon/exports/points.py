"""Points in batches, for exports that stream them.

`source_batches` yields all points unmerged, in file order, with their source, in constant memory. `curve_batches`
yields merged curves: attempts are joined and superseded points left out. If the points of the store are on disk, this
needs memory for one metric if that has several attempts or sources or comes from a log of machines, otherwise for one
batch. Steps that are clock ticks (the system metrics of W&B) are converted to seconds. In curves, measurements from a
log of machines (nvidia-smi) have the training steps at their wall times; what identifies them is the wall time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import lacks_training_steps, training_steps_at
from tuimon.model.points import Fact, Floats, Ids, Item, Points, Steps, Topic
from tuimon.store import Curve, Run, Snapshot
from tuimon.text import clean
from tuimon.vocabulary import classify, meanings
from tuimon.vocabulary.names import section_of

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


_JSON_NUMBERS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def csv_lines(batch: Batch, shown: bool) -> str:
    """Return a batch as CSV, a row for each point; an unknown wall time is an empty cell. shown: see `csv_cell`."""
    heads = [f"{csv_cell(batch.owner, shown)},{csv_cell(name, shown)}" for name in batch.names]
    rows = zip(*_columns(batch), strict=True)
    return "".join(
        f"{heads[of]},{step},{value},{time if math.isfinite(time) else ''}\r\n" for of, step, value, time in rows
    )


def json_lines(batch: Batch, owner: str) -> str:
    """Return a batch as a line of JSON for each point, with "NaN" and null. owner: "run" or "source"."""
    heads = [f'{{"{owner}": {json.dumps(batch.owner)}, "metric": {json.dumps(name)}' for name in batch.names]
    return "".join(
        f'{heads[of]}, "step": {step}, "value": {_JSON_NUMBERS.get(repr(value), value)}'
        f', "wall_time": {time if math.isfinite(time) else "null"}}}\n'
        for of, step, value, time in zip(*_columns(batch), strict=True)
    )


def _columns(batch: Batch) -> tuple[list[int], list[float], list[float], list[float]]:
    """Return index in `names`, step (in seconds if it is a clock tick), value and wall time of each point."""
    steps: list[float] = batch.steps.tolist()
    if batch.rates:
        seconds = batch.seconds
        for row in np.flatnonzero(np.isfinite(seconds)).tolist():
            steps[row] = float(seconds[row])
    return batch.metric.tolist(), steps, batch.values.tolist(), batch.wall_times.tolist()


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
