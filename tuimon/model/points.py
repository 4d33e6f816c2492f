"""What a decoder gives, in the order in which the log holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

Ids: TypeAlias = npt.NDArray[np.uint32]
Steps: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


class Points(Struct, frozen=True, eq=False):
    """A batch of points of one stream, in file order. All arrays have the same length n >= 1.

    NaN and infinities are values like any other. A missing value (null) is no point and never appears.
    """

    names: Sequence[str]
    """Metric names exactly as written; `metric[i]` indexes it. Append-only: a decoder gives the same growing list."""
    metric: Ids
    """uint32 (n,): which metric each point belongs to."""
    steps: Steps
    """int64 (n,): training step as logged; not necessarily ascending."""
    values: Floats
    """float64 (n,)."""
    wall_times: Floats
    """float64 (n,): seconds since the epoch, NaN where the log does not say."""

    def __len__(self) -> int:
        return len(self.steps)


class SegmentStart(Struct, frozen=True):
    """The writer began again here (a restart, a resume). What follows is a new segment of every series."""

    step: int | None
    """The step it begins from, where the log says so."""
    purge: bool
    """True: points of this source with a step >= `step` written before are void (TensorBoard's purge_step)."""


class Replaced(Struct, frozen=True):
    """All points that this stream has given so far are void: the document was rewritten with other content."""


class Fact(Struct, frozen=True):
    """Something the log says that is not a point."""

    topic: str
    """config | best_checkpoint | final_metrics | hparams | text | progress | state | writer | console | metrics |
    input."""
    value: Mapping[str, Any]
    """Plain JSON values. progress: {"step", "total", "epoch", "total_epochs"} where known;
    state: {"state": "finished" | "crashed" | "running", "evidence": str, "cause": str where it is known};
    text: {"tag", "text"};
    metrics: {metric or pattern: {"title", "range", "system", "folder", "step_metric", "steps_per_second"}} where known,
    told before their first points (system: measured of the machine, its steps are none of the training;
    steps_per_second: its steps are a clock that ticks so often);
    input: {"ended": True} once the pipe that it comes through has ended;
    console: {"lines": [str, ...], "times": [seconds or None, ...] where known}; writer: {"name", "version", ...}."""
    step: int | None = None
    wall_time: float | None = None


class Damage(Struct, frozen=True):
    """Bytes that could not be read. The good records around them were kept."""

    offset: int
    """Where in the stream, in bytes."""
    length: int
    """How many bytes were passed over."""
    reason: str
    """Short, lower case, no foreign text: "data checksum wrong", "not JSON"."""
    records: int = 1
    """How many records are known to be lost (1 when it cannot be known)."""


Item: TypeAlias = Points | SegmentStart | Replaced | Fact | Damage


class PointsBuilder(Struct):
    """Collects single points where a format cannot be vectorised; `take` gives them as one batch.

    `names` is the decoder's name table and outlives the batches.
    """

    names: list[str] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)
    _metric: list[int] = field(default_factory=list)
    _steps: list[int] = field(default_factory=list)
    _values: list[float] = field(default_factory=list)
    _wall_times: list[float] = field(default_factory=list)

    def metric_id(self, name: str) -> int:
        """The id of a metric name, made on first sight."""
        found = self._ids.get(name)
        if found is None:
            found = self._ids[name] = len(self.names)
            self.names.append(name)
        return found

    def add(self, name: str, step: int, value: float, wall_time: float = float("nan")) -> None:
        self._metric.append(self.metric_id(name))
        self._steps.append(step)
        self._values.append(value)
        self._wall_times.append(wall_time)

    def extend(
        self, metric: Sequence[int], steps: Sequence[int], values: Sequence[float], wall_times: Sequence[float]
    ) -> None:
        """Columns of one length; metric: ids of `metric_id`."""
        self._metric += metric
        self._steps += steps
        self._values += values
        self._wall_times += wall_times

    def __len__(self) -> int:
        return len(self._steps)

    def take(self) -> list[Item]:
        """The batch so far as [Points], or [] when there is none; the builder is empty afterwards."""
        if not self._steps:
            return []
        points = Points(
            self.names,
            np.array(self._metric, np.uint32),
            np.array(self._steps, np.int64),
            np.array(self._values, np.float64),
            np.array(self._wall_times, np.float64),
        )
        self._metric, self._steps, self._values, self._wall_times = [], [], [], []
        return [points]
