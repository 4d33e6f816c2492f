"""What the owner thread keeps of runs and streams, and the frozen views of them that go into a snapshot."""

from __future__ import annotations

from collections import defaultdict
from threading import RLock
from time import time
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from tuimon.model.events import RunFound, StreamFound, StreamStatus
from tuimon.model.machine import Machine
from tuimon.store.columns import Shared
from tuimon.store.series import Body, Series

if TYPE_CHECKING:
    from tuimon.store.compare import Comparison
    from tuimon.store.curve import Curve
    from tuimon.store.fill import Filled
    from tuimon.store.index import RunIndex, SourceOrder
    from tuimon.store.join import Joined
    from tuimon.store.preview import Previewed
    from tuimon.store.shares import KeptParts


class StreamView(Struct, frozen=True, eq=False):
    """A stream as one snapshot knows it."""

    found: StreamFound
    status: StreamStatus | None
    body: Body
    cut_count: int
    point_count: int
    first_wall_time: float
    last_wall_time: float
    preview: tuple[Series, ...]
    """The last points of a history that is still being read."""


class StreamRecord(Struct, eq=False):
    """A stream as it now is."""

    found: StreamFound
    run: RunRecord
    status: StreamStatus | None = None
    names: dict[int, str] = field(default_factory=dict)
    """As written, by the stream's own metric id."""
    rows: dict[int, int] = field(default_factory=dict)
    """Metric id -> row in the table of lengths; outlives a body, so that a rewritten document takes no new rows."""
    body: Body = field(default_factory=Body)
    preview: tuple[Series, ...] = ()
    """Never changed, only replaced."""
    _view: StreamView | None = None

    def touch(self) -> None:
        """Something of this stream has changed."""
        self._view = None
        self.run.version += 1

    def view(self) -> StreamView:
        if self._view is None:
            body = self.body
            ends = [float(one.columns.wall_times[one.columns.length - 1]) for one in self.preview]
            self._view = StreamView(
                self.found,
                self.status,
                body,
                len(body.cuts),
                body.point_count,
                body.first_wall_time,
                float(np.fmax.reduce([body.last_wall_time, *ends])),
                self.preview,
            )
        return self._view


class ViewCache(Struct, eq=False):
    """What readers work out of a run and keep from snapshot to snapshot. Under its own lock, which no writer takes."""

    lock: RLock = field(default_factory=RLock)
    index: RunIndex | None = None
    orders: dict[str, SourceOrder] = field(default_factory=dict)
    """By source; one that is equal stays the same object."""
    parts: dict[tuple[str, str], KeptParts] = field(default_factory=dict)
    """By (source, name), of what many streams hold."""
    joined: dict[tuple[str, str], Joined] = field(default_factory=dict)
    """The same, as one curve."""
    shared: defaultdict[str, Shared] = field(default_factory=lambda: defaultdict(Shared))
    """What the joined metrics of a source have in common, by the source."""
    previewed: dict[tuple[str, str], Previewed] = field(default_factory=dict)
    """The same with a preview behind them."""
    curves: dict[tuple[str, str], tuple[tuple[object, ...], Curve]] = field(default_factory=dict)
    """The last curve made of each of them, and what it was made of: one that has not grown need not be made again."""
    comparisons: dict[tuple[str, str, str, str], Comparison] = field(default_factory=dict)
    """By the (source, name) of the best and of another source of a metric."""
    filled: dict[tuple[str, str], tuple[tuple[object, ...], Filled | None, Curve]] = field(default_factory=dict)
    """By the (source, name) of the best: the same for curves to which other sources add points."""

    def forget(self) -> None:
        """What was worked out of single metrics."""
        for kept in (self.parts, self.joined, self.previewed, self.curves, self.comparisons, self.filled):
            kept.clear()


class Present(Struct, eq=False):
    """What is known of the present moment and not by the logs: one for all runs and snapshots, ever the newest."""

    machine: Machine | None = None
    """The machine that the logs lie on, while they grow."""


class RunRecord(Struct, eq=False):
    """A run as it now is."""

    found: RunFound
    since: float = field(default_factory=time)
    """When it was found, seconds since the epoch."""
    version: int = 0
    structure: int = 0
    """Changes when a series appears or goes, so when anything but the length of series may differ."""
    checkpoints: tuple[int, ...] = ()
    streams: list[StreamRecord] = field(default_factory=list)
    cache: ViewCache = field(default_factory=ViewCache)


class StreamState(Struct, frozen=True):
    """A stream and how it stands."""

    found: StreamFound
    status: StreamStatus | None
    """None until the reader has told."""
    point_count: int
    """Points as logged, those that no curve shows among them."""
    last_wall_time: float
    """Of its newest point, seconds since the epoch; NaN unknown."""


def state_of(view: StreamView) -> StreamState:
    return StreamState(view.found, view.status, view.point_count, view.last_wall_time)
