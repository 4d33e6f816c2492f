"""The store: events in, snapshots out."""

from __future__ import annotations

from collections import deque
from threading import Lock

import numpy as np

from tuimon.errors import WireError
from tuimon.model.alerts import Alert
from tuimon.model.events import (
    CheckpointsFound,
    Columns,
    Event,
    FactFound,
    MachineSeen,
    MetricsFound,
    Notice,
    Preview,
    Progress,
    RunFound,
    SegmentStarted,
    StreamFound,
    StreamReplaced,
    StreamStatus,
    Watching,
)
from tuimon.model.points import Floats
from tuimon.store.columns import PointColumns, extend_all
from tuimon.store.index import MergeKey
from tuimon.store.preview import series_of
from tuimon.store.records import Present, RunRecord, StreamRecord
from tuimon.store.run import Run
from tuimon.store.series import Body, Series
from tuimon.store.shares import Table
from tuimon.store.snapshot import Snapshot
from tuimon.store.spool import Spool

_NOTICES = 200
_MANY = 32
"""Metrics of one batch from which on it pays to look which of them were logged together."""
CONSOLE_FACTS = 500
"""Facts of console text that are kept of a stream, the newest; the whole text is in its file."""


class Store:
    """Columns of every series, written by one thread.

    `merge_key` gives the key of a metric's name: names with the same key are one metric of a run. With a `spool` the
    points are on disk, for who goes through them once.

    `apply` and `set_alerts` belong to the owner thread; `snapshot` and `version` to any. The owner writes points where
    no reader looks, then publishes their number; the lock is held for that moment, and while a snapshot copies numbers.
    """

    def __init__(self, merge_key: MergeKey = lambda name: name, spool: Spool | None = None) -> None:
        self._merge_key = merge_key
        self._spool = spool
        self._lock = Lock()
        self._version = 0
        self._runs: dict[int, RunRecord] = {}
        self._streams: dict[int, StreamRecord] = {}
        self._lengths = np.zeros(64, np.int64)
        self._last_steps = np.zeros(64, np.int64)
        self._rows = 0
        self._arrived = 0
        self._alerts: tuple[Alert, ...] = ()
        self._past: tuple[Alert, ...] = ()
        self._progress = Progress(0, 0, False)
        self._watching: Watching | None = None
        self._notices: deque[Notice] = deque(maxlen=_NOTICES)
        self._present = Present()
        self._last: Snapshot | None = None
        self._last_runs: dict[int, Run] = {}

    @property
    def version(self) -> int:
        """Grows with every event that changes something."""
        return self._version

    def set_alerts(self, alerts: tuple[Alert, ...]) -> None:
        """What the detectors find now, in place of what they found before; incidents that are over among them."""
        standing = tuple(alert for alert in alerts if alert.standing)
        past = tuple(alert for alert in alerts if not alert.standing)
        if (standing, past) != (self._alerts, self._past):
            with self._lock:
                self._alerts, self._past = standing, past
                self._version += 1

    def apply(self, event: Event) -> None:
        """Take in what a reader tells. WireError when it speaks of a run or stream that it has not told of."""
        match event:
            case Columns():
                self._append(event)
            case Preview():
                self._preview(event)
            case MetricsFound():
                names = self._stream(event.stream).names
                names.update(zip(range(event.first, event.first + len(event.names)), event.names, strict=True))
            case StreamStatus():
                stream = self._stream(event.stream)
                if event != stream.status:
                    with self._lock:
                        stream.status = event
                        self._touch(stream)
            case FactFound():
                stream = self._stream(event.stream)
                with self._lock:
                    told = stream.body.facts.setdefault(event.fact.topic, [])
                    told.append((self._arrived, event.fact))
                    self._arrived += 1
                    if event.fact.topic == "console" and len(told) > 2 * CONSOLE_FACTS:
                        stream.body.facts["console"] = told[-CONSOLE_FACTS:]
                    self._touch(stream)
            case SegmentStarted():
                stream = self._stream(event.stream)
                with self._lock:
                    stream.body.cuts.append(event.step if event.purge else None)
                    self._touch(stream)
            case StreamReplaced():
                self._replace(self._stream(event.stream))
            case RunFound() | StreamFound() | CheckpointsFound():
                self._find(event)
            case Progress() | Watching() | Notice() | MachineSeen():
                self._hear(event)

    @property
    def has_read(self) -> bool:
        """Whether all that there was has been read; costs nothing."""
        return self._progress.caught_up

    def snapshot(self) -> Snapshot:
        """What is known now. Copies no point; what has not changed since the last snapshot is the same object."""
        with self._lock:
            if self._last is None or self._last.version != self._version:
                table = Table(self._lengths[: self._rows].copy(), self._last_steps[: self._rows].copy())
                for id, record in self._runs.items():
                    known = self._last_runs.get(id)
                    if known is None or known.version != record.version:
                        self._last_runs[id] = self._view(record, table)
                runs = tuple(self._last_runs[id] for id in self._runs)
                notices = tuple(self._notices)
                self._last = Snapshot(
                    self._version, runs, self._alerts, self._progress, self._watching, notices, self._past
                )
            return self._last

    def _view(self, record: RunRecord, table: Table) -> Run:
        streams = tuple(stream.view() for stream in record.streams)
        return Run(
            record.found,
            record.version,
            record.structure,
            streams,
            table,
            self._arrived,
            record.cache,
            self._merge_key,
            record.since,
            self._present,
            record.checkpoints,
        )

    # The owner's work. What follows `with self._lock` is published at once.

    def _append(self, event: Columns) -> None:
        stream = self._stream(event.stream)
        known = stream.body.series
        series = [known.get(metric) or self._series(stream, metric) for metric in event.metric.tolist()]
        body, steps = stream.body, event.steps
        cuts = len(body.cuts)
        for one in series:
            if one.cuts_seen != cuts:
                one.cuts.append((cuts, one.columns.length))
                one.cuts_seen = cuts
        if len(series) == len(steps) and (event.counts == 1).all():
            for one, step, value, wall_time in zip(
                series, steps.tolist(), event.values.tolist(), event.wall_times.tolist(), strict=True
            ):
                one.columns.append(step, value, wall_time)
        elif len(series) > _MANY and self._spool is None:
            extend_all([one.columns for one in series], event.counts, steps, event.values, event.wall_times)
        else:
            at = 0
            for one, count in zip(series, event.counts.tolist(), strict=True):
                end = at + count
                one.columns.extend(steps[at:end], event.values[at:end], event.wall_times[at:end])
                at = end
        rows = np.array([one.id for one in series], np.int64)
        first, last = _range(event.wall_times)
        with self._lock:
            self._make_room()
            if not self._lengths[rows].all():
                stream.run.structure += 1
            self._lengths[rows] = [one.columns.length for one in series]
            self._last_steps[rows] = [one.columns.last_step for one in series]
            body.point_count += len(steps)
            body.first_wall_time = float(np.fmin(body.first_wall_time, first))
            body.last_wall_time = float(np.fmax(body.last_wall_time, last))
            self._touch(stream)

    def _series(self, stream: StreamRecord, metric: int) -> Series:
        series = stream.body.series.get(metric)
        if series is None:
            name = stream.names.get(metric)
            if name is None:
                raise WireError(f"stream {stream.found.stream} has no metric {metric}")
            if metric not in stream.rows:
                stream.rows[metric] = self._rows
                self._rows += 1
            columns = self._spool.columns() if self._spool else PointColumns(stream.body.shared)
            series = stream.body.series[metric] = Series(stream.rows[metric], stream.found.prefix + name, columns)
        return series

    def _make_room(self) -> None:
        if self._rows > len(self._lengths):
            more = np.zeros(self._rows, np.int64)
            self._lengths = np.concatenate((self._lengths, more))
            self._last_steps = np.concatenate((self._last_steps, more))

    def _replace(self, stream: StreamRecord) -> None:
        """Snapshots taken before keep the old body; the rows of its series are used again."""
        rows = list(stream.rows.values())
        with self._lock:
            self._make_room()
            self._lengths[rows] = 0
            stream.body, stream.preview = Body(), ()
            stream.run.structure += 1
            self._touch(stream)

    def _preview(self, event: Preview) -> None:
        stream = self._stream(event.stream)
        series = series_of(event, stream.found.prefix)
        with self._lock:
            stream.preview = series
            stream.run.structure += 1
            self._touch(stream)

    def _find(self, event: RunFound | StreamFound | CheckpointsFound) -> None:
        with self._lock:
            if isinstance(event, RunFound):
                record = self._runs.setdefault(event.run, RunRecord(event))
                record.found = event
                record.version += 1
                self._version += 1
                return
            run = self._runs.get(event.run)
            if run is None:
                raise WireError(f"run {event.run} was never found")
            if isinstance(event, CheckpointsFound):
                run.checkpoints = event.steps
                run.version += 1
                self._version += 1
                return
            stream = self._streams.get(event.stream)
            if stream is None:
                stream = self._streams[event.stream] = StreamRecord(event, run)
                run.streams.append(stream)
            stream.found = event
            run.structure += 1
            self._touch(stream)

    def _hear(self, event: Progress | Watching | Notice | MachineSeen) -> None:
        with self._lock:
            match event:
                case Progress():
                    self._progress = event
                case Watching():
                    self._watching = event
                case MachineSeen():
                    self._present.machine = event.machine
                case Notice():
                    if event.about:
                        others = [notice for notice in self._notices if notice.about != event.about]
                        self._notices = deque(others, maxlen=_NOTICES)
                    self._notices.append(event)
            self._version += 1

    def _stream(self, id: int) -> StreamRecord:
        stream = self._streams.get(id)
        if stream is None:
            raise WireError(f"stream {id} was never found")
        return stream

    def _touch(self, stream: StreamRecord) -> None:
        stream.touch()
        self._version += 1


def _range(wall_times: Floats) -> tuple[float, float]:
    """The first and the last finite wall time; NaN where there is none."""
    first, last = np.fmin.reduce(wall_times, initial=np.nan), np.fmax.reduce(wall_times, initial=np.nan)
    if np.isinf(first) or np.isinf(last):
        return _range(np.where(np.isinf(wall_times), np.nan, wall_times))
    return float(first), float(last)
