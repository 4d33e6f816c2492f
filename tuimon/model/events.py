"""Events that the reader sends to a store, directly or through a pipe."""

from __future__ import annotations

import math
from typing import TypeAlias

from msgspec import Struct

from tuimon.model.machine import Machine
from tuimon.model.points import Fact, Floats, Ids, Steps
from tuimon.model.ranks import JobRanks


class RunFound(Struct, frozen=True):
    """A training job's logs. Ids count from 0 and are never used twice."""

    run: int
    name: str
    """The shortest tail of its path that distinguishes it from the other runs."""
    path: str
    """Absolute; "-" for standard input; "host:path" for a run on another machine."""
    directory: str = ""
    """Path of its files on this machine if it differs from `path`."""


class CheckpointsFound(Struct, frozen=True):
    """Steps of all checkpoints that a run has on disk. Sent when they change."""

    run: int
    steps: tuple[int, ...]
    """Ascending."""


class RanksSeen(Struct, frozen=True):
    """The ranks of the job that wrote a run. Sent when something about them has changed."""

    run: int
    ranks: JobRanks


class StreamFound(Struct, frozen=True):
    """A file that is followed. Several streams can be one source (the event files of a directory)."""

    stream: int
    run: int
    source: str
    """Name of the source in exports: path of the file below PATH. Of an event file, path of its directory."""
    path: str
    """Absolute path of the file."""
    format: str
    """Id of the format: for example "tensorboard" or "jsonl"."""
    rank: int
    """Preference among sources of one run that hold the same metric: the highest is drawn."""
    prefix: str
    """"" or "<sub-run>/", the beginning of metric names that several sub-directories of a run have."""
    order: int
    """Sort key of the streams of one source: the order in which they began."""
    of_machine: bool = False
    """Whether it has measurements of a machine, whose steps are a clock; see Format.of_machine."""


class MetricsFound(Struct, frozen=True):
    """New metric names of a stream; their ids count up from `first`."""

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
    """The last points of a stream whose history is still being read.

    They are shown as the end of its curves until then but never added to them, as the history contains them again. A
    preview replaces the previous one; an empty one removes it.
    """

    columns: Columns
    """Its metric ids are indices in `names`, not ids of the stream."""
    names: tuple[str, ...]

    @property
    def stream(self) -> int:
        return self.columns.stream


class SegmentStarted(Struct, frozen=True):
    """The writer of a stream started again; step and purge are those of model.points.SegmentStart."""

    stream: int
    step: int | None
    purge: bool


class AttemptStarted(Struct, frozen=True):
    """A later attempt was found in the points of a stream: steps went back."""

    stream: int
    step: int
    """First step of the attempt."""
    highest: int
    """Highest step before."""
    stride: int
    """Usual distance of steps before."""
    counts: tuple[int, ...]
    """Number of points before the attempt by metric id."""


class StreamReplaced(Struct, frozen=True):
    """All points of the stream so far are void, as in model.points.Replaced."""

    stream: int


class FactFound(Struct, frozen=True):
    """Information in a log that is not a point."""

    stream: int
    fact: Fact


class StreamStatus(Struct, frozen=True):
    """Status of a stream. Sent when it changes, not on every read."""

    stream: int
    state: str
    """State of the file. One of: waiting (empty so far), reading, current (read to its end), writing (a half-written
    document), gone (deleted), superseded (another file repeats it), unreadable, unsupported."""
    message: str
    """Reason, for the user; may be ""."""
    size: int
    """Bytes on disk."""
    read: int
    """Bytes read or skipped."""
    modified: float
    """Time of the last change on disk, seconds since the epoch; NaN if unknown."""
    damaged: int
    """Damaged parts so far; consecutive records that could not be read are one part."""
    writer: str = "unknown"
    """open (for writing, by a process of this machine), closed (by all) or unknown."""
    process: str = ""
    """Name and id of the process that holds the file open: "python (pid 4711)"."""
    copied: bool = False
    """Whether the whole file was written at once. After a copy its time says nothing about the run."""
    grown: float = math.nan
    """Time at which the reader last saw the file grow, seconds since the epoch; NaN if it has only seen it whole."""
    damaged_bytes: int = 0
    """Size of the damaged parts in bytes."""
    closed: float = math.nan
    """Time at which a process that had held the file open was found to have closed it, seconds since the epoch; NaN if
    no process was seen to hold it open, or if it has grown since."""
    unread: str = ""
    """Examples of numbers that gave no point in at least half of the first lines of metrics; "" for none."""
    cut_short: bool = False
    """Whether the end of the last record is missing, and nobody writes the file any more."""
    reopened: bool = False
    """Whether the file grew while no process held it open. Its writer may open it for each line."""
    proposed_patterns: tuple[str, ...] = ()
    """Values of console_patterns that would read its lines: "zzz {step} qwx {qwx}"."""

    @property
    def changed(self) -> float:
        """Time of the last change (s since epoch): seen growth, else that of the file."""
        return self.grown if math.isfinite(self.grown) else self.modified


class Progress(Struct, frozen=True):
    """Progress of the reader through the files that it found."""

    read: int
    total: int
    caught_up: bool
    """True once all files found have been read to their ends."""


class Watching(Struct, frozen=True):
    """How the reader notices growth."""

    mode: str
    """events | poll."""
    detail: str
    """For the user: "poll every 2 s (nfs4)"."""


class Notice(Struct, frozen=True):
    """A message for the user that does not concern a metric."""

    level: str
    """info | warning | error."""
    message: str
    hint: str = ""
    about: str = ""
    """Subject of the notice, which replaces earlier ones with the same subject; "" replaces none."""
    mark: str = ""
    """A few words that stay until another notice with the same subject: "webhook down"."""
    proposed_patterns: tuple[str, ...] = ()
    """Values of console_patterns that would read the text that it is about."""


class MachineSeen(Struct, frozen=True):
    """Status of the machine that the logs lie on. Sent when it has changed."""

    machine: Machine | None
    """None if no log has grown for a long time."""


Event: TypeAlias = (
    RunFound
    | CheckpointsFound
    | RanksSeen
    | StreamFound
    | MetricsFound
    | Columns
    | Preview
    | SegmentStarted
    | AttemptStarted
    | StreamReplaced
    | FactFound
    | StreamStatus
    | Progress
    | Watching
    | Notice
    | MachineSeen
)
