"""Items that a decoder returns, in the order of the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Ids: TypeAlias = npt.NDArray[np.uint32]
Steps: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]


class Points(Struct, frozen=True, eq=False):
    """A batch of points of one stream, in file order. All arrays have the same length n >= 1.

    NaN and infinities are values like any other. A missing value (null) is not a point.
    """

    names: Sequence[str]
    """Metric names exactly as written, indexed by `metric[i]`. Append-only; a decoder always returns the same list."""
    metric: Ids
    """uint32 (n,): metric of each point."""
    steps: Steps
    """int64 (n,): training step as logged; not necessarily ascending."""
    values: Floats
    """float64 (n,)."""
    wall_times: Floats
    """float64 (n,): seconds since the epoch, NaN if the log does not say."""

    def __len__(self) -> int:
        return len(self.steps)

    def select(self, index: slice | npt.NDArray[np.bool_]) -> Points:
        """Return the points of a slice or mask."""
        return Points(self.names, self.metric[index], self.steps[index], self.values[index], self.wall_times[index])


class SegmentStart(Struct, frozen=True):
    """The writer started again here: a new segment of every series begins."""

    step: int | None
    """First step of the segment, or None if the log does not say."""
    purge: bool
    """Whether earlier points of this source with a step >= `step` are void (TensorBoard's purge_step)."""


class Replaced(Struct, frozen=True):
    """All points of this stream so far are void: the document was rewritten."""


class Topic(StrEnum):
    """Topics of facts, with the keys of each one's value. All values are plain JSON."""

    CONFIG = "config"
    """Settings of the job, nested as the log nests them."""
    HPARAMS = "hparams"
    """Settings that TensorBoard's hparams plugin logged."""
    BEST_CHECKPOINT = "best_checkpoint"
    """The best checkpoint, as the log describes it."""
    FINAL_METRICS = "final_metrics"
    """Results, as the log names them."""
    STATE = "state"
    """Keys "state" ("finished", "pruned", "crashed" or "running"), "evidence" (str), and "cause" (str) where known."""
    PROGRESS = "progress"
    """Keys "step", "total", "epoch" and "total_epochs" where known, and "unit": what the steps of the points are,
    if not steps: "epoch", "round" or "iteration" (of boosting); "step" if they no longer are. "counted": what the log
    itself counts from 1 up to the total, such as "epoch", where its points count from 0. "seconds_per_step": time of a
    step up to the total by the rate that the last progress bar shows."""
    METRICS = "metrics"
    """Metric name or pattern -> "title", "range", "system", "folder", "step_metric" and "steps_per_second" where
    known; comes before the first points of these metrics. system: measured on the machine, whose steps are not training
    steps; steps_per_second: the steps are a clock with this frequency."""
    UNITS = "units"
    """Metric name -> "unit" that the log prints with the values, and "whole", the number of which the first value is a
    part, in this unit, where known ("29.2/32.0GB"); comes before the first points of these metrics."""
    TEXT = "text"
    """Keys "tag" and "text"."""
    CONSOLE = "console"
    """Keys "lines" (list of str), and where known "times" (s since epoch, or None)."""
    RESUMED = "resumed"
    """No keys; the step of the fact is that of the checkpoint from which training goes on."""
    CHECKPOINT = "checkpoint"
    """No keys; a checkpoint of the step of the fact was saved."""
    WRITER = "writer"
    """Keys "name", "version" and others that the writer of the log says about itself."""
    INPUT = "input"
    """{"ended": True} once the pipe that the stream comes from has ended."""


class Fact(Struct, frozen=True):
    """Information in a log that is not a point."""

    topic: str
    """A Topic, or the same as a plain string."""
    value: Mapping[str, Any]
    """Plain JSON values; the keys depend on the topic."""
    step: int | None = None
    wall_time: float | None = None


class Damage(Struct, frozen=True):
    """Bytes that could not be decoded. The intact records around them are kept."""

    offset: int
    """Offset in the stream, in bytes."""
    length: int
    """Number of bytes skipped."""
    reason: str
    """Short, lower case, no foreign text: "data checksum wrong", "not JSON"."""
    records: int = 1
    """Number of records lost; 1 if it cannot be known."""


class Lines(Struct, frozen=True, eq=False):
    """Lines of a text as they were read, for what they say about ranks."""

    data: bytes
    """Whole lines, or the last one without its end."""
    offset: int
    """Byte offset of the first one."""
    number: int
    """Number of the first one, from 1; 0 if unknown."""
    left: int = 0
    """Bytes of the file that come after these and have not been read."""
    restarted: bool = False
    """Whether the file was rewritten, and these are its first lines."""


Item: TypeAlias = Points | SegmentStart | Replaced | Fact | Damage | Lines


class Names:
    """The metric names of a decoder. Ids count from 0 in order of appearance."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._ids: dict[str, int] = {}

    def id(self, name: str) -> int:
        """Return the id of a metric name, a new one for a new name."""
        metric = self._ids.get(name)
        if metric is None:
            metric = self._ids[name] = len(self.names)
            self.names.append(name)
        return metric

    def has(self, name: str) -> bool:
        """Return True if the metric has, or had, a point."""
        return name in self._ids


_KINDS = np.uint32, np.int64, np.float64, np.float64
"""Types of the columns metric, steps, values and wall times."""


class PointsBuilder(Names):
    """Collects points, single ones and columns; `take` returns them as one batch."""

    def __init__(self) -> None:
        super().__init__()
        self._single: tuple[list[Any], ...] = [], [], [], []
        """Columns of the points after those of `_whole`."""
        self._whole: list[tuple[npt.NDArray[Any], ...]] = []
        """Columns (metric, steps, values, wall times)."""
        self._beyond = 0
        """Points left out since the last batch, as their steps are outside int64."""

    def __len__(self) -> int:
        return len(self._single[0]) + sum(len(metric) for metric, *_ in self._whole)

    def add(self, name: str, step: int, value: float, wall_time: float = float("nan")) -> int:
        """Add a point, and return the id of its metric."""
        metric = self.id(name)
        metrics, steps, values, wall_times = self._single
        metrics.append(metric)
        steps.append(step)
        values.append(value)
        wall_times.append(wall_time)
        return metric

    def add_columns(self, metric: Ids, steps: Steps, values: Floats, wall_times: Floats) -> None:
        """Add points as columns of equal length; metric: ids returned by `id`."""
        self._close()
        self._whole.append((metric, steps, values, wall_times))

    def add_rows(self, names: Sequence[str], steps: Steps, values: Floats, wall_times: Floats) -> None:
        """Add rows with a value of every metric: `values` has shape (rows, names)."""
        count, width = values.shape
        metric = np.tile(np.array([self.id(name) for name in names], np.uint32), count)
        self.add_columns(metric, np.repeat(steps, width), values.ravel(), np.repeat(wall_times, width))

    def _close(self) -> None:
        """Move the single points to `_whole`."""
        single, self._single = self._single, ([], [], [], [])
        steps = single[1]
        if steps and not -(2**63) <= min(steps) <= max(steps) < 2**63:
            kept = [row for row, step in enumerate(steps) if -(2**63) <= step < 2**63]
            self._beyond += len(steps) - len(kept)
            single = tuple([column[row] for row in kept] for column in single)
        if single[0]:
            self._whole.append(tuple(map(np.array, single, _KINDS)))

    def take(self) -> list[Item]:
        """Return the batch as [Points], or [] if it is empty; the builder is empty afterwards.

        Points whose steps are outside int64 are left out, and counted as Damage.
        """
        self._close()
        whole, self._whole = self._whole, []
        if len(whole) > 1:
            whole = [tuple(map(np.concatenate, zip(*whole, strict=True)))]
        beyond, self._beyond = self._beyond, 0
        lost = [Damage(0, 0, f"{beyond} points at steps of more than 64 bits left out", beyond)] if beyond else []
        return [*(Points(self.names, *columns) for columns in whole if len(columns[0])), *lost]
