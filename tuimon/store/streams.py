"""Streams of a run as one snapshot shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from tuimon.model.events import StreamFound, StreamStatus
from tuimon.model.links import Link, RemotePath
from tuimon.model.machine import Machine
from tuimon.model.points import Indices
from tuimon.store.series import AttemptStart, Series, StreamData


class StreamView(Struct, frozen=True, eq=False):
    """A stream in one snapshot. `data` goes on growing; the counts say how much of it belongs to the snapshot."""

    info: StreamFound
    status: StreamStatus | None
    """None until the reader has sent it."""
    data: StreamData
    cut_count: int
    """Number of segment starts."""
    start_count: int
    """Number of attempts that began after others."""
    point_count: int
    """Points as logged, including superseded ones."""
    first_wall_time: float
    """Wall time of the oldest point (s since the epoch); NaN if unknown."""
    last_wall_time: float
    """Wall time of the newest point, preview included."""
    preview: tuple[Series, ...]
    """Last points of a history that is still being read."""
    arrivals: tuple[tuple[int, float], ...]
    """As in StreamData."""

    @property
    def cuts(self) -> list[int | None]:
        """For each segment start the step from which on earlier points are void, NO_PURGE or None: see StreamData."""
        return self.data.cuts[: self.cut_count]

    @property
    def starts(self) -> list[AttemptStart]:
        """The attempts that began after others."""
        return self.data.starts[: self.start_count]

    def is_current(self, series: Series, length: int) -> bool:
        """Return whether one of the first `length` points of a series was logged since its log began anew."""
        if series.cuts_seen < self.cut_count:
            return False
        return not self.start_count or length > self.data.starts[self.start_count - 1].positions.get(series.id, 0)


class SeriesLengths(Struct, frozen=True, eq=False):
    """Published lengths of all series, one row for each."""

    lengths: Indices
    last_steps: Indices

    def length(self, row: int) -> int:
        """Return the length of a series; 0 for one that is newer than the table."""
        return int(self.lengths[row]) if row < len(self.lengths) else 0


class Present(Struct, eq=False):
    """Latest status of the machine and of the links. Shared by all runs and snapshots and mutable, unlike these."""

    machine: Machine | None = None
    """The machine that the logs lie on, while they grow."""
    is_reading: bool = False
    """Whether the history of the runs, or which processes write them, is not known yet."""
    mirrors: tuple[RemotePath, ...] = ()
    """Paths of the mirrors of other machines, with the links that fill them."""

    def link_of(self, path: str) -> Link | None:
        """Return the link that fills the mirror below which a path lies; None for a path of this machine."""
        return next((mirror.link for mirror in self.mirrors if f"{path}/".startswith(f"{mirror.top}/")), None)

    def last_heard(self, directory: str, streams: Sequence[StreamView], now: float) -> float:
        """Return the time until which the state of a run is known: `now`, or that of the loss of the link.

        Of a job on many hosts, the host counts that wrote the newest log with points.
        """
        link = self.link_of(directory)
        if link is not None and link.members:
            known = [view for view in streams if view.status and math.isfinite(view.status.modified)]
            newest = max(known, key=_newest, default=None)
            path = newest.info.path if newest else directory
            members = (member for mirror in self.mirrors for member in mirror.members)
            link = next((member.link for member in members if path.startswith(f"{member}/")), link)
        return link.last_heard(now) if link is not None else now


def _newest(view: StreamView) -> tuple[bool, float]:
    """Sort key of streams: those with points come last, the newest last of all."""
    return view.point_count > 0, view.status.modified if view.status else 0.0
