"""A real reader process and its store."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tuimon.monitor.local import open_run
from tuimon.monitor.process import ReaderProcess
from tuimon.store import Snapshot
from tuimon.vocabulary import merge_key

SECONDS = 60.0
"""Timeout (s) for a condition, which nearly always holds within 0.1 s."""
Held = dict[tuple[str, str], list[tuple[int, str]]]
"""(source, merge key of the metric) -> (step, repr(value), so that NaN equals NaN). The merge key is used because a
metric has the name of its best source, which differs between the sources."""


class Live:
    """Context manager: a ReaderProcess on some paths."""

    def __init__(self, *paths: str | Path, poll: bool = False, interval: float = 0.1) -> None:
        self.paths = paths
        self.monitor = ReaderProcess([os.fspath(path) for path in paths], poll=poll, interval=interval)

    def __enter__(self) -> Live:
        self.monitor.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.monitor.close()

    @property
    def snapshot(self) -> Snapshot:
        return self.monitor.snapshot()

    def until(self, condition: Callable[[Snapshot], Any], seconds: float = SECONDS) -> Snapshot:
        """Return the first snapshot for which a condition holds. Raises AssertionError with the last one's state."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            snapshot = self.snapshot
            if condition(snapshot):
                return snapshot
            time.sleep(0.01)
        raise AssertionError(f"condition not met; {describe(self.snapshot)}")

    def until_points(self, metric: str, wanted: Sequence[tuple[int, float]], run: int = 0) -> Snapshot:
        """Wait until all logs were read to their ends and the curve of a metric equals the points."""
        expected = [(step, repr(float(value))) for step, value in wanted]
        return self.until(lambda snapshot: curve(snapshot, metric, run) == expected and all_read(snapshot))


def all_read(snapshot: Snapshot) -> bool:
    """Return whether every log was looked at as it is now, and read to its end unless it cannot be."""
    states = [(stream.info.path, stream.status) for run in snapshot.runs for stream in run.streams]
    for path, status in states:
        if status is None or (status.state == "waiting" and status.size):
            return False
        if status.state in ("gone", "superseded"):
            continue
        try:
            is_seen = status.size == Path(path).stat().st_size
        except OSError:
            return False
        if not is_seen or (status.state == "current" and status.read != status.size):
            return False
    return bool(states)


def curve(snapshot: Snapshot, metric: str, run: int = 0) -> list[tuple[int, str]]:
    """Return (step, repr(value)) of a curve of run number `run`; [] if it has no such metric."""
    try:
        drawn = snapshot.runs[run].curve(metric)
    except (KeyError, IndexError):
        return []
    return list(zip(drawn.steps.tolist(), map(repr, drawn.values.tolist()), strict=True))


def held(snapshot: Snapshot) -> Held:
    """Return the points of every metric of every source of all runs."""
    points_held: Held = {}
    for run in snapshot.runs:
        for metric in run.metrics:
            for source, _ in run.provenance(metric):
                points = run.curve_from(metric, source)
                points_held[source, merge_key(metric)] = list(
                    zip(points.steps.tolist(), map(repr, points.values.tolist()), strict=True)
                )
    return points_held


def fresh(*paths: str | Path) -> Held:
    """Return the points that a new reader reads."""
    return held(open_run(*paths))


def describe(snapshot: Snapshot) -> str:
    lines = [f"{len(snapshot.runs)} runs, {snapshot.progress}, {[n.message for n in snapshot.notices[-3:]]}"]
    for run in snapshot.runs:
        lines += [f"{s.info.source}: {s.point_count} points, {s.status}" for s in run.streams]
    return "\n".join(lines)


def near(a: str, b: Any) -> bool:
    """Return whether two numbers are equal to float32 precision, as in event files; NaN equals NaN."""
    x, y = float(a), float(b)
    return x == y or (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=2e-7, abs_tol=1e-40)
