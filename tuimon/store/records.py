"""Mutable state of runs and streams, which only the writer thread changes."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from tuimon.model.events import RunFound, StreamFound, StreamStatus
from tuimon.model.ranks import JobRanks
from tuimon.store.cache import ViewCache
from tuimon.store.series import Series, StreamData
from tuimon.store.streams import StreamView


class RunRecord(Struct, eq=False):
    """Current state of a run."""

    info: RunFound
    version: int = 0
    structure: int = 0
    """Incremented when a series appears or disappears, that is when more may differ than the lengths of series."""
    name: str = ""
    """Display name, unique among the runs; "" until the first snapshot."""
    given_names: dict[tuple[int, str], tuple[int, str]] = field(default_factory=dict)
    """Origin and name of the run in a tracker or in its settings (`given_name`), by stream and topic of the fact."""
    checkpoints: tuple[int, ...] = ()
    ranks: JobRanks | None = None
    streams: list[StreamRecord] = field(default_factory=list)
    cache: ViewCache = field(default_factory=ViewCache)
    joined_ids: tuple[int, ...] = ()
    """Ids of runs that were found to be the same training; their streams are in `streams`."""
    join_evidence: tuple[str, ...] = ()


class StreamRecord(Struct, eq=False):
    """Current state of a stream."""

    info: StreamFound
    run: RunRecord
    status: StreamStatus | None = None
    names: dict[int, str] = field(default_factory=dict)
    """Metric names as written, by the stream's own metric id."""
    rows: dict[int, int] = field(default_factory=dict)
    """Metric id -> row in the table of lengths. Kept when `data` is replaced, so that a rewritten document takes no new
    rows."""
    data: StreamData = field(default_factory=StreamData)
    preview: tuple[Series, ...] = ()
    """Replaced as a whole, never modified."""
    _view: StreamView | None = None
    """View of the current state. Saves 3 us a snapshot for each stream without a change; a run may have hundreds."""

    def touch(self) -> None:
        """Invalidate the view and increment the version of the run."""
        self._view = None
        self.run.version += 1

    def view(self) -> StreamView:
        """Return an immutable view of the current state."""
        if self._view is None:
            data = self.data
            preview_ends = [float(series.columns.wall_times[series.columns.length - 1]) for series in self.preview]
            self._view = StreamView(
                self.info,
                self.status,
                data,
                len(data.cuts),
                len(data.starts),
                data.point_count,
                data.first_wall_time,
                float(np.fmax.reduce([data.last_wall_time, *preview_ends])),
                self.preview,
                data.arrivals,
            )
        return self._view
