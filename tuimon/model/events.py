"""What a reader tells whoever listens: a store in the same process, or one at the other end of a pipe."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from tuimon.model.machine import Machine
from tuimon.model.points import Fact, Floats, Ids, Steps


class RunFound(Struct, frozen=True):
    """A training job's logs. Ids count from 0 and are never used twice."""

    run: int
    name: str
    """What a person calls it: the shortest tail of its path that tells it from its neighbours."""
    path: str
    """Absolute; "-" for standard input."""


class CheckpointsFound(Struct, frozen=True):
    """The steps of all checkpoints that a run now has on disk. Told when they change."""

    run: int
    steps: tuple[int, ...]
    """Ascending."""


class StreamFound(Struct, frozen=True):
    """One file that is followed. Several streams can be one source (the event files of a directory)."""

    stream: int
    run: int
    source: str
    """The name of the source as exports print it: path below PATH, of the file, or the directory of an event file."""
    path: str
    """Absolute path of the file."""
    format: str
    """Id of the format: "tensorboard", "jsonl", "training_log" …"""
    rank: int
    """Preference between sources of one run that hold the same metric: the highest is drawn."""
    prefix: str
    """"" or "<sub-run>/": put before metric names when sub-directories of one run hold the same names."""
    order: int
    """Streams of one source in the order in which they were begun."""


class MetricsFound(Struct, frozen=True):
    """New metric names of a stream; their ids are first, first + 1, …"""

    stream: int
    first: int
    names: tuple[str, ...]


class Columns(Struct, frozen=True, eq=False):
    """Points of one stream grouped by metric, in file order within a metric.

    Metric `metric[i]` owns the next `counts[i]` rows of the three columns; sum(counts) == len(steps).
    """

    stream: int
    metric: Ids
    counts: Ids
    steps: Steps
    values: Floats
    wall_times: Floats


class Preview(Struct, frozen=True, eq=False):
    """The last points of a stream whose history is still being read. They stand for the end of its curves until then,
    and are never added to them: the history brings them again. A preview takes the place of the one before; an empty
    one ends it."""

    columns: Columns
    """Its metric ids index `names`, and are none of the stream's own."""
    names: tuple[str, ...]

    @property
    def stream(self) -> int:
        return self.columns.stream


class SegmentStarted(Struct, frozen=True):
    """See model.points.SegmentStart."""

    stream: int
    step: int | None
    purge: bool


class StreamReplaced(Struct, frozen=True):
    """All points of the stream so far are void; what follows takes their place."""

    stream: int


class FactFound(Struct, frozen=True):
    stream: int
    fact: Fact


class StreamStatus(Struct, frozen=True):
    """How a stream stands. Sent when it changes, not on every read."""

    stream: int
    state: str
    """waiting (empty so far) | reading | current (read to its end) | writing (a half-written document) |
    gone (deleted) | superseded (another file repeats it) | unreadable | unsupported."""
    message: str
    """Why, for a person; "" when there is nothing to say."""
    size: int
    """Bytes on disk."""
    read: int
    """Bytes read or passed over."""
    modified: float
    """Time of the last change on disk, seconds since the epoch; NaN if unknown."""
    damaged: int
    """Records lost to damage so far."""


class Progress(Struct, frozen=True):
    """How far the reader is with what was there when it looked."""

    read: int
    total: int
    caught_up: bool
    """True once everything found has been read to its end."""


class Watching(Struct, frozen=True):
    """How growth is noticed."""

    mode: str
    """events | poll."""
    detail: str
    """For a person: "poll every 2 s (nfs4)"."""


class Notice(Struct, frozen=True):
    """Something a person should know that is not tied to a metric."""

    level: str
    """info | warning | error."""
    message: str
    hint: str = ""
    about: str = ""
    """It takes the place of an earlier notice about the same: what is over is told as over. "" replaces none."""


class MachineSeen(Struct, frozen=True):
    """How the machine that the logs lie on stands. Sent when it differs from what was last told."""

    machine: Machine | None
    """None once there is nothing to tell: no log has grown for long."""


Event: TypeAlias = (
    RunFound
    | CheckpointsFound
    | StreamFound
    | MetricsFound
    | Columns
    | Preview
    | SegmentStarted
    | StreamReplaced
    | FactFound
    | StreamStatus
    | Progress
    | Watching
    | Notice
    | MachineSeen
)
