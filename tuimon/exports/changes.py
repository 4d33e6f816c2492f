"""Changes from snapshot to snapshot as lines of JSON, for `tuimon watch --json`.

A consumer that applies all lines has the points of every metric: "points" says how many of the points received so far
to keep, which is all of them unless a restart replaces some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.documents import (
    AlertEntry,
    Count,
    NoticeEntry,
    Number,
    State,
    Version,
    alert_entry,
    dumps,
    filled,
)
from tuimon.model.alerts import Alert, AlertKey
from tuimon.model.events import Notice
from tuimon.store import Curve, Run, Snapshot

POINTS = 1000
"""Maximum number of points in a line."""


class RunLine(Struct, frozen=True, kw_only=True):
    """A run was found, before anything else about it."""

    schema: Version = 1
    kind: Literal["run"] = "run"
    run: int
    """Id of the run."""
    name: str
    path: str


class PointsLine(Struct, frozen=True, kw_only=True):
    """New points of a metric, at most 1000 in a line; the three lists have equal length."""

    schema: Version = 1
    kind: Literal["points"] = "points"
    run: int
    """Id of the run."""
    metric: str
    start: Count
    """Keep this many points received of the metric, drop the others, and append the following.

    It is lower than the number received if a restart replaces points."""
    steps: Sequence[int] = ()
    values: Sequence[Number] = ()
    wall_times: Sequence[float | None] = ()
    """Seconds since the epoch."""


class StateLine(Struct, frozen=True, kw_only=True):
    """State or position of a run; evidence and ETA alone do not cause a line."""

    schema: Version = 1
    kind: Literal["state"] = "state"
    run: int
    """Id of the run."""
    state: State
    evidence: str
    step: int | None
    total_steps: int | None
    eta_seconds: float | None


class AlertLine(AlertEntry, frozen=True):
    """An alert was raised, changed, or is over."""

    schema: Version = 1
    kind: Literal["alert"] = "alert"
    active: bool = True
    """False: the alert is over."""


class NoticeLine(NoticeEntry, frozen=True):
    """A remark on what could not be read."""

    schema: Version = 1
    kind: Literal["notice"] = "notice"


class _RunState(Struct, eq=False):
    """Record of what has been printed of a run."""

    name: str = ""
    version: int = -1
    position: tuple[str, int | None, int | None] | None = None
    """(state, step, total)."""
    curves: dict[str, Curve] = field(default_factory=dict)


class ChangeLog:
    """Remembers what was printed, and yields what is new in the next snapshot."""

    def __init__(self) -> None:
        self._runs: dict[int, _RunState] = {}
        self._alerts: dict[AlertKey, tuple[str, bool]] = {}
        """(severity, active) of the alerts that were printed."""
        self._notices: tuple[Notice, ...] = ()

    def lines(self, snapshot: Snapshot, now: float) -> Iterator[str]:
        """Yield the changes since the previous snapshot, which must be consumed. now: wall time (s since epoch)."""
        for run in snapshot.runs:
            seen = self._runs.setdefault(run.id, _RunState())
            if seen.name != run.name:
                seen.name = run.name
                yield _line(RunLine(run=run.id, name=run.name, path=run.path))
            if seen.version != run.version:
                yield from self._points(run, seen)
                seen.version = run.version
            progress = progress_of(run, now)
            position = progress.state, progress.step, progress.total
            if seen.position != position:
                seen.position = position
                yield _line(filled(StateLine, progress, run=run.id, total_steps=progress.total))
        for alert in (*snapshot.alerts, *reversed(snapshot.resolved)):
            yield from self._alert(alert)
        printed = frozenset(self._notices)
        self._notices = snapshot.notices
        for notice in snapshot.notices:
            if notice not in printed:
                yield _line(filled(NoticeLine, notice))

    def _points(self, run: Run, seen: _RunState) -> Iterator[str]:
        curves = {name: run.curve(name) for name in run.metrics}
        for name in sorted(seen.curves.keys() - curves.keys()):
            yield _points_line(run, name, 0, None)
        for name, curve in curves.items():
            before = seen.curves.get(name)
            start = _common(before, curve) if before is not None else 0
            if before is not None and start == len(curve) < len(before):
                yield _points_line(run, name, start, None)
            for first in range(start, len(curve), POINTS):
                yield _points_line(run, name, first, curve)
        seen.curves = curves

    def _alert(self, alert: Alert) -> Iterator[str]:
        state = alert.severity, alert.active
        if self._alerts.get(alert.key) == state:
            return
        self._alerts[alert.key] = state
        yield _line(alert_entry(alert, AlertLine))


def _line(change: Struct) -> str:
    return dumps(change, compact=True) + "\n"


def _points_line(run: Run, metric: str, start: int, curve: Curve | None) -> str:
    """Return the line of the points from `start` on, of none without a curve."""
    if curve is None:
        return _line(PointsLine(run=run.id, metric=metric, start=start))
    rows = slice(start, start + POINTS)
    values, times = curve.values[rows], curve.wall_times[rows]
    arrays: dict[str, Any] = {
        "steps": curve.steps[rows],
        "values": values if np.isfinite(values).all() else values.tolist(),
        "wall_times": np.where(np.isfinite(times), times, np.nan),  # NaN becomes null
    }
    return _line(PointsLine(run=run.id, metric=metric, start=start, **arrays))


def _common(before: Curve, curve: Curve) -> int:
    """Return how many points both curves begin with."""
    count = min(len(before), len(curve))
    if before.lineage is curve.lineage and len(curve) >= len(before):
        return count
    differs = before.steps[:count] != curve.steps[:count]
    for ours, theirs in ((before.values, curve.values), (before.wall_times, curve.wall_times)):
        first, second = ours[:count], theirs[:count]
        differs |= (first != second) & ~(np.isnan(first) & np.isnan(second))
    return int(np.argmax(differs)) if differs.any() else count
