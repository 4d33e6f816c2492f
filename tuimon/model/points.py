"""Items that a decoder returns, in the order of the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

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


class PointsBuilder(Struct):
    """Collects single points, for formats that cannot be vectorised; `take` returns them as one batch.

    `names` is the decoder's name table and is kept from batch to batch.
    """

    names: list[str] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)
    _metric: list[int] = field(default_factory=list)
    _steps: list[int] = field(default_factory=list)
    _values: list[float] = field(default_factory=list)
    _wall_times: list[float] = field(default_factory=list)
    _whole: list[tuple[npt.NDArray[Any], ...]] = field(default_factory=list)
    """Columns (metric, steps, values, wall times) of the points before those of the lists."""
    _beyond: int = 0
    """Points left out since the last batch, as their steps are outside int64."""

    def metric_id(self, name: str) -> int:
        """Return the id of a metric name, a new one for a new name."""
        metric = self._ids.get(name)
        if metric is None:
            metric = self._ids[name] = len(self.names)
            self.names.append(name)
        return metric

    def has(self, name: str) -> bool:
        """Return True if the metric has, or had, a point."""
        return name in self._ids

    def add(self, name: str, step: int, value: float, wall_time: float = float("nan")) -> None:
        self._metric.append(self.metric_id(name))
        self._steps.append(step)
        self._values.append(value)
        self._wall_times.append(wall_time)

    def extend(
        self, metric: Sequence[int], steps: Sequence[int], values: Sequence[float], wall_times: Sequence[float]
    ) -> None:
        """Add points from columns of equal length; metric: ids returned by `metric_id`."""
        self._metric += metric
        self._steps += steps
        self._values += values
        self._wall_times += wall_times

    def add_rows(
        self,
        names: Sequence[str],
        steps: npt.NDArray[np.int64],
        values: npt.NDArray[np.float64],
        wall_times: npt.NDArray[np.float64],
    ) -> None:
        """Add rows with a value of every metric: `values` has shape (rows, names)."""
        self._close()
        count, width = values.shape
        metric = np.array([self.metric_id(name) for name in names], np.uint32)
        self._whole.append(
            (np.tile(metric, count), np.repeat(steps, width), values.ravel(), np.repeat(wall_times, width))
        )

    def __len__(self) -> int:
        return len(self._steps) + sum(len(steps) for _, steps, _, _ in self._whole)

    def _close(self) -> None:
        """Move the points of the lists to `_whole`."""
        if self._steps:
            if not -(2**63) <= min(self._steps) <= max(self._steps) < 2**63:
                kept = [row for row, step in enumerate(self._steps) if -(2**63) <= step < 2**63]
                self._beyond += len(self._steps) - len(kept)
                columns: tuple[list[Any], ...] = (self._metric, self._steps, self._values, self._wall_times)
                for column in columns:
                    column[:] = [column[row] for row in kept]
            metric, steps = np.array(self._metric, np.uint32), np.array(self._steps, np.int64)
            values, wall_times = np.array(self._values, np.float64), np.array(self._wall_times, np.float64)
            self._whole.append((metric, steps, values, wall_times))
            self._metric, self._steps, self._values, self._wall_times = [], [], [], []

    def take(self) -> list[Item]:
        """Return the batch as [Points], or [] if it is empty; the builder is empty afterwards.

        Points whose steps are outside int64 are left out, and counted as Damage.
        """
        self._close()
        whole, self._whole = self._whole, []
        if len(whole) > 1:
            whole = [tuple(np.concatenate(column) for column in zip(*whole, strict=True))]
        beyond, self._beyond = self._beyond, 0
        lost = [Damage(0, 0, f"{beyond} points at steps of more than 64 bits left out", beyond)] if beyond else []
        return [*(Points(self.names, *columns) for columns in whole if len(columns[0])), *lost]
