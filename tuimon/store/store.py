"""The store: events in, snapshots out."""

from __future__ import annotations

from collections import deque
from threading import Lock

import numpy as np
from msgspec.structs import replace

from tuimon.errors import WireError
from tuimon.model.alerts import Alert
from tuimon.model.events import (
    AttemptStarted,
    CheckpointsFound,
    Columns,
    Event,
    FactFound,
    MachineSeen,
    MetricsFound,
    Notice,
    Preview,
    Progress,
    RanksSeen,
    RunFound,
    SegmentStarted,
    StreamFound,
    StreamReplaced,
    StreamStatus,
    Watching,
)
from tuimon.model.links import RemotePath
from tuimon.model.points import Fact, Floats, Topic
from tuimon.redact import redacted_text
from tuimon.store.columns import PointColumns, extend_all
from tuimon.store.equal_runs import RunJoiner
from tuimon.store.names import display_names, given_name
from tuimon.store.preview import preview_series
from tuimon.store.records import RunRecord, StreamRecord
from tuimon.store.run import Run
from tuimon.store.series import NO_PURGE, AttemptStart, Series, StreamData, without_replaced
from tuimon.store.snapshot import Snapshot
from tuimon.store.streams import Present, SeriesLengths

_NOTICES = 200
"""Number of notices kept."""
CONSOLE_FACTS = 500
"""Number of newest facts kept of a stream about its console text, which is in its file, and about its checkpoints."""


class Store:
    """State of all runs, built from a reader's events.

    `apply` and `set_alerts` must be called by one thread, the writer; `snapshot` and `version` may be used by any. The
    writer adds points after the published length of a column and then publishes the new length. The lock is held only
    for that, and while a snapshot copies the lengths.
    """

    def __init__(self, mirrors: tuple[RemotePath, ...] = (), is_reading: bool = False) -> None:
        """mirrors: those among the paths read.
        is_reading: the events begin with the history of the runs, until Progress says that it has been read.
        """
        self._lock = Lock()
        self._version = 0
        self._runs: dict[int, RunRecord] = {}
        self._joined: dict[int, int] = {}
        """Id of the run into which a run was joined, by its id."""
        self._joiner = RunJoiner()
        self._streams: dict[int, StreamRecord] = {}
        self._lengths = np.zeros(64, np.int64)
        self._last_steps = np.zeros(64, np.int64)
        self._rows = 0
        self._fact_count = 0
        self._alerts: tuple[Alert, ...] = ()
        self._resolved: tuple[Alert, ...] = ()
        self._unchecked = 0
        self._progress = Progress(0, 0, False)
        self._watching: Watching | None = None
        self._notices: deque[Notice] = deque(maxlen=_NOTICES)
        self._live = Present(is_reading=is_reading, mirrors=mirrors)
        self._last: Snapshot | None = None
        self._last_runs: dict[int, Run] = {}
        self._named = True
        """Whether the display names of all runs are up to date."""

    @property
    def version(self) -> int:
        """Incremented with every event that changes something."""
        return self._version

    def set_alerts(self, alerts: tuple[Alert, ...], unchecked: int = 0) -> None:
        """Replace all alerts, active and resolved. unchecked: number of runs that have not been checked yet."""
        active = tuple(alert for alert in alerts if alert.active)
        resolved = tuple(alert for alert in alerts if not alert.active)
        if (active, resolved, unchecked) != (self._alerts, self._resolved, self._unchecked):
            with self._lock:
                self._alerts, self._resolved, self._unchecked = active, resolved, unchecked
                self._version += 1

    def apply(self, event: Event) -> None:
        """Apply an event of the reader. Raises WireError for an unknown run or stream."""
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
                message, unread = (redacted_text(text, random=False) for text in (event.message, event.unread))
                event = replace(event, message=message, unread=unread)
                if event != stream.status:
                    with self._lock:
                        stream.status = event
                        stream.data.note_arrival(event.grown)
                        self._touch(stream)
            case FactFound():
                stream = self._stream(event.stream)
                with self._lock:
                    facts = stream.data.facts.setdefault(event.fact.topic, [])
                    facts.append((self._fact_count, _without_secrets(event.fact)))
                    self._fact_count += 1
                    self._note_name(stream, event.fact)
                    if event.fact.topic in (Topic.CONSOLE, Topic.CHECKPOINT) and len(facts) > 2 * CONSOLE_FACTS:
                        stream.data.facts[event.fact.topic] = facts[-CONSOLE_FACTS:]
                    if event.fact.topic == Topic.PROGRESS and len(facts) > 2 * CONSOLE_FACTS:
                        stream.data.facts[Topic.PROGRESS] = without_replaced(facts)
                    self._touch(stream)
            case SegmentStarted():
                stream = self._stream(event.stream)
                with self._lock:
                    stream.data.arrivals = ()
                    is_named = event.step is not None
                    stream.data.cuts.append(event.step if event.purge else NO_PURGE if is_named else None)
                    self._touch(stream)
            case AttemptStarted():
                stream = self._stream(event.stream)
                counts = enumerate(event.counts)
                series = stream.data.series
                positions = {series[metric].id: count for metric, count in counts if count and metric in series}
                with self._lock:
                    stream.data.arrivals = ()
                    stream.data.starts.append(AttemptStart(event.step, event.highest, event.stride, positions))
                    self._touch(stream)
            case StreamReplaced():
                self._replace(self._stream(event.stream))
            case RunFound() | StreamFound() | CheckpointsFound() | RanksSeen():
                self._find(event)
            case Progress() | Watching() | Notice() | MachineSeen():
                self._set_status(event)

    @property
    def caught_up(self) -> bool:
        """Whether the reader has read everything found so far. Takes no lock."""
        return self._progress.caught_up

    def join_runs(self) -> None:
        """Join runs that are one training. To be called by the writer thread once everything has been read."""
        for group in self._joiner.find(list(self._runs.values())):
            target = self._runs[group.run]
            with self._lock:
                for other in group.others:
                    record = self._runs.pop(other)
                    self._last_runs.pop(other, None)
                    for stream in record.streams:
                        stream.run, stream.info = target, replace(stream.info, run=group.run)
                        target.streams.append(stream)
                        stream.touch()
                    target.joined_ids += (other, *record.joined_ids)
                    target.join_evidence += record.join_evidence
                    target.checkpoints = tuple(sorted({*target.checkpoints, *record.checkpoints}))
                self._joined.update(dict.fromkeys(target.joined_ids, group.run))
                target.join_evidence += group.evidence
                target.structure += 1
                target.version += 1
                self._version += 1

    def snapshot(self) -> Snapshot:
        """Return the current state. Copies no points; unchanged runs are the objects of the last snapshot."""
        with self._lock:
            if self._last is None or self._last.version != self._version:
                self._name_runs()
                table = SeriesLengths(self._lengths[: self._rows].copy(), self._last_steps[: self._rows].copy())
                for id, record in self._runs.items():
                    known = self._last_runs.get(id)
                    if known is None or known.version != record.version:
                        self._last_runs[id] = Run(record, table, self._fact_count, self._live)
                runs = tuple(self._last_runs[id] for id in self._runs)
                notices = tuple(self._notices)
                alerts, resolved, unchecked = self._alerts, self._resolved, self._unchecked
                self._last = Snapshot(
                    self._version, runs, alerts, self._progress, self._watching, notices, resolved, unchecked
                )
            return self._last

    # Writer thread. Changes inside `with self._lock` are published together.

    def _append(self, event: Columns) -> None:
        stream = self._stream(event.stream)
        data, steps = stream.data, event.steps
        series = [data.series.get(metric) or self._series(stream, metric) for metric in event.metric.tolist()]
        cuts = len(data.cuts)
        for item in series:
            if item.cuts_seen != cuts:
                item.cuts.append((cuts, item.columns.length))
                item.cuts_seen = cuts
        extend_all([item.columns for item in series], event.counts, steps, event.values, event.wall_times)
        rows = np.array([item.id for item in series], np.int64)
        first, last = _range(event.wall_times)
        with self._lock:
            self._make_room()
            if not self._lengths[rows].all():
                stream.run.structure += 1
            self._lengths[rows] = [item.columns.length for item in series]
            self._last_steps[rows] = [item.columns.last_step for item in series]
            data.point_count += len(steps)
            data.newest_step = int(steps.max())
            data.first_wall_time = float(np.fmin(data.first_wall_time, first))
            data.last_wall_time = float(np.fmax(data.last_wall_time, last))
            self._touch(stream)

    def _series(self, stream: StreamRecord, metric: int) -> Series:
        series = stream.data.series.get(metric)
        if series is None:
            name = stream.names.get(metric)
            if name is None:
                raise WireError(f"stream {stream.info.stream} has no metric {metric}")
            if metric not in stream.rows:
                stream.rows[metric] = self._rows
                self._rows += 1
            columns = PointColumns(stream.data.shared)
            series = stream.data.series[metric] = Series(stream.rows[metric], stream.info.prefix + name, columns)
        return series

    def _make_room(self) -> None:
        if self._rows > len(self._lengths):
            more = np.zeros(self._rows, np.int64)
            self._lengths = np.concatenate((self._lengths, more))
            self._last_steps = np.concatenate((self._last_steps, more))

    def _replace(self, stream: StreamRecord) -> None:
        """Discard a stream's data; earlier snapshots keep it. The rows of its series in the table are reused."""
        rows = list(stream.rows.values())
        with self._lock:
            self._make_room()
            self._lengths[rows] = 0
            stream.data, stream.preview = StreamData(), ()
            stream.run.structure += 1
            self._touch(stream)

    def _preview(self, event: Preview) -> None:
        stream = self._stream(event.stream)
        series = preview_series(event, stream.info.prefix)
        with self._lock:
            stream.preview = series
            stream.run.structure += 1
            self._touch(stream)

    def _find(self, event: RunFound | StreamFound | CheckpointsFound | RanksSeen) -> None:
        with self._lock:
            if event.run in self._joined:
                if isinstance(event, RunFound):
                    return
                event = replace(event, run=self._joined[event.run])
            if isinstance(event, RunFound):
                record = self._runs.setdefault(event.run, RunRecord(event))
                record.info = event
                record.version += 1
                self._named = False
                self._version += 1
                return
            run = self._runs.get(event.run)
            if run is None:
                raise WireError(f"unknown run {event.run}")
            if isinstance(event, CheckpointsFound | RanksSeen):
                if isinstance(event, RanksSeen):
                    run.ranks = event.ranks
                else:
                    run.checkpoints = event.steps
                run.version += 1
                self._version += 1
                return
            stream = self._streams.get(event.stream)
            if stream is None:
                stream = self._streams[event.stream] = StreamRecord(event, run)
                run.streams.append(stream)
            stream.info = event
            run.structure += 1
            self._touch(stream)

    def _note_name(self, stream: StreamRecord, fact: Fact) -> None:
        """Remember the name that a fact gives the run of a stream."""
        if fact.topic in (Topic.WRITER, Topic.CONFIG) and (given := given_name(fact))[1]:
            names, key = stream.run.given_names, (stream.info.stream, fact.topic)
            if names.get(key) != given:
                names[key] = given
                self._named = False

    def _name_runs(self) -> None:
        """Bring the display names up to date: a new run can make an old name ambiguous."""
        if self._named:
            return
        self._named = True
        names = display_names(
            (id, record.info.name, set(record.given_names.values())) for id, record in self._runs.items()
        )
        for id, record in self._runs.items():
            if record.name != names[id]:
                record.name = names[id]
                record.version += 1

    def _set_status(self, event: Progress | Watching | Notice | MachineSeen) -> None:
        with self._lock:
            match event:
                case Progress():
                    self._progress = event
                    self._live.is_reading &= not event.caught_up
                case Watching():
                    self._watching = event
                case MachineSeen():
                    self._live.machine = event.machine
                case Notice():
                    message, hint = (redacted_text(text, random=False) for text in (event.message, event.hint))
                    event = replace(event, message=message, hint=hint)
                    if event.about:
                        others = [notice for notice in self._notices if notice.about != event.about]
                        self._notices = deque(others, maxlen=_NOTICES)
                    self._notices.append(event)
            self._version += 1

    def _stream(self, id: int) -> StreamRecord:
        stream = self._streams.get(id)
        if stream is None:
            raise WireError(f"unknown stream {id}")
        return stream

    def _touch(self, stream: StreamRecord) -> None:
        stream.touch()
        self._version += 1


def _without_secrets(fact: Fact) -> Fact:
    """Return the fact without secrets in what the header, alerts and messages repeat: the state of a run, and the last
    line of its console. Settings stay as they are, because an option of the exports shows their secrets.
    """
    if fact.topic == Topic.STATE:
        texts = {key: redacted_text(value) for key, value in fact.value.items() if isinstance(value, str)}
        return replace(fact, value={**fact.value, **texts})
    lines = fact.value.get("lines") if fact.topic == Topic.CONSOLE else None
    last = next((i for i in range(len(lines) - 1, -1, -1) if str(lines[i]).strip()), -1) if lines else -1
    if not lines or last < 0 or (text := redacted_text(str(lines[last]))) == lines[last]:
        return fact
    return replace(fact, value={**fact.value, "lines": [*lines[:last], text, *lines[last + 1 :]]})


def _range(wall_times: Floats) -> tuple[float, float]:
    """Return the lowest and highest finite wall time; NaN without one."""
    first, last = np.fmin.reduce(wall_times, initial=np.nan), np.fmax.reduce(wall_times, initial=np.nan)
    if np.isinf(first) or np.isinf(last):
        return _range(np.where(np.isinf(wall_times), np.nan, wall_times))
    return float(first), float(last)
