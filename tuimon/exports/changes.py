"""Changes from snapshot to snapshot as lines of JSON, for `tuimon watch --json`. Their schema is schemas/watch.json.

A line is one object: {"schema": 1, "kind": "run" | "points" | "state" | "alert" | "notice", …}. A consumer that applies
all lines has the points of every metric: "points" says how many of the points received so far to keep, which is all of
them unless a restart replaces some.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
from msgspec import Struct, field

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports._shared import alert_fields, dumps, fields, known, plain
from tuimon.model.alerts import Alert, AlertKey
from tuimon.model.events import Notice
from tuimon.model.points import Floats
from tuimon.store import Curve, Run, Snapshot

SCHEMA = 1
POINTS = 1000
"""Maximum number of points in a line."""


class _RunState(Struct, eq=False):
    """Record of what has been printed of a run."""

    name: str = ""
    version: int = -1
    position: tuple[str, int | None, int | None] | None = None
    """(state, step, total)."""
    curves: dict[str, Curve] = field(default_factory=dict)


class ChangeLog:
    """Remembers what was printed, and yields what is new in the next snapshot."""

    def __init__(self, history: bool = True) -> None:
        """history: begin with all points and resolved alerts so far, not only with the runs and their state."""
        self._history = history
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
                yield _line("run", run=run.id, name=run.name, path=run.path)
            if seen.version != run.version:
                yield from self._points(run, seen)
                seen.version = run.version
            progress = progress_of(run, now)
            position = progress.state, progress.step, progress.total
            if seen.position != position:
                seen.position = position
                yield _line(
                    "state",
                    run=run.id,
                    state=progress.state,
                    evidence=progress.evidence,
                    step=progress.step,
                    total_steps=progress.total,
                    eta_seconds=known(progress.eta_seconds),
                )
        for alert in (*snapshot.alerts, *reversed(snapshot.resolved)):
            yield from self._alert(alert)
        printed = frozenset(self._notices)
        self._notices = snapshot.notices
        for notice in snapshot.notices:
            if notice not in printed:
                yield _line("notice", **fields(notice, "level", "message", "hint"))
        self._history = True

    def _points(self, run: Run, seen: _RunState) -> Iterator[str]:
        curves = {name: run.curve(name) for name in run.metrics}
        for name in sorted(seen.curves.keys() - curves.keys()):
            yield _points_line(run, name, 0, None)
        for name, curve in curves.items():
            if not self._history:
                continue
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
        if alert.active or self._history:
            yield _line("alert", active=alert.active, **alert_fields(alert))


def _line(kind: str, **values: Any) -> str:
    return dumps({"schema": SCHEMA, "kind": kind, **values}, compact=True) + "\n"


def _points_line(run: Run, metric: str, start: int, curve: Curve | None) -> str:
    """Return the line of the points from `start` on, of none without a curve."""
    head = _line("points", run=run.id, metric=metric, start=start).rstrip("}\n")
    if curve is None:
        return head + ',"steps":[],"values":[],"wall_times":[]}\n'
    rows = slice(start, start + POINTS)
    times = _json(np.where(np.isfinite(curve.wall_times[rows]), curve.wall_times[rows], np.nan))
    values = curve.values[rows]
    written = _json(values) if np.isfinite(values).all() else orjson.dumps(plain(values.tolist())).decode()
    return f'{head},"steps":{_json(curve.steps[rows])},"values":{written},"wall_times":{times}}}\n'


def _json(numbers: Floats | np.ndarray[Any, np.dtype[np.int64]]) -> str:
    """Return an array as JSON; NaN becomes null."""
    return orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY).decode()


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
