"""A real reader process, and what its store holds at any moment."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tuimon.monitor import ReaderProcess, open_run
from tuimon.store import Snapshot
from tuimon.vocabulary import merge_key

SECONDS = 30.0
"""How long a condition is waited for; nearly always it comes within a tenth of one."""
Held = dict[tuple[str, str], list[tuple[int, str]]]
"""(source, key of the metric) -> (step, value by repr, so that NaN equals NaN). Of the names that one metric has in
several sources a run shows that of the best: the key is the same for all."""


class Live:
    """ReaderProcess on some paths; closes when left."""

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
        """The first snapshot for which it holds. AssertionError with what there is when none comes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            snapshot = self.snapshot
            if condition(snapshot):
                return snapshot
            time.sleep(0.01)
        raise AssertionError(f"it never came; {tell(self.snapshot)}")

    def until_points(self, metric: str, wanted: Sequence[tuple[int, float]], run: int = 0) -> Snapshot:
        """The curve of the metric is exactly that, and stays so."""
        expected = [(step, repr(float(value))) for step, value in wanted]
        self.until(lambda snapshot: curve(snapshot, metric, run) == expected)
        self.settle()
        assert curve(self.snapshot, metric, run) == expected
        return self.snapshot

    def settle(self, still: float = 0.3) -> Snapshot:
        """The snapshot once nothing has come for so many seconds."""
        version, since = -1, time.monotonic()
        while time.monotonic() - since < still:
            snapshot = self.snapshot
            if snapshot.version != version:
                version, since = snapshot.version, time.monotonic()
            time.sleep(0.01)
        return snapshot


def curve(snapshot: Snapshot, metric: str, run: int = 0) -> list[tuple[int, str]]:
    """Of the run that was found as number `run`; [] where there is none."""
    try:
        drawn = snapshot.runs[run].curve(metric)
    except (KeyError, IndexError):
        return []
    return list(zip(drawn.steps.tolist(), map(repr, drawn.values.tolist()), strict=True))


def held(snapshot: Snapshot) -> Held:
    """Every metric of every source of all runs."""
    found: Held = {}
    for run in snapshot.runs:
        for metric in run.metrics:
            for source, _ in run.provenance(metric):
                points = run.curve_from(metric, source)
                found[source, merge_key(metric)] = list(
                    zip(points.steps.tolist(), map(repr, points.values.tolist()), strict=True)
                )
    return found


def fresh(*paths: str | Path) -> Held:
    """What a reader that begins now reads."""
    return held(open_run(*paths))


def tell(snapshot: Snapshot) -> str:
    lines = [f"{len(snapshot.runs)} runs, {snapshot.progress}, {[n.message for n in snapshot.notices[-3:]]}"]
    for run in snapshot.runs:
        lines += [f"{s.found.source}: {s.point_count} points, {s.status}" for s in run.streams]
    return "\n".join(lines)


def near(a: str, b: Any) -> bool:
    """Equal to float32 precision, as event files hold it; NaN equals NaN."""
    x, y = float(a), float(b)
    return x == y or (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=2e-7, abs_tol=1e-40)
