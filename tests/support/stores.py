"""Stores filled with series, without a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tuimon.model.events import Columns, MetricsFound, RunFound, SegmentStarted, StreamFound
from tuimon.store import Curve, Run, Store
from tuimon.store.curve import Disagreement


def store_of(series: dict[str, list[float]], run: int = 0) -> Store:
    """Return a store with one run; each metric has points at every tenth step from 10 on."""
    store = Store()
    add_run(store, series, run)
    return store


def add_run(
    store: Store, series: dict[str, list[float]], run: int, wall_times: npt.NDArray[np.float64] | None = None
) -> None:
    """Add a run. wall_times: of all points in turn; by default each is the step."""
    store.apply(RunFound(run, f"run {run}", f"/logs/{run}"))
    store.apply(StreamFound(run, run, "log", f"/logs/{run}/log.jsonl", "jsonl", 30, "", 0))
    store.apply(MetricsFound(run, 0, tuple(series)))
    counts = np.array([len(values) for values in series.values()], np.uint32)
    steps = np.concatenate([np.arange(1, n + 1, dtype=np.int64) * 10 for n in counts.tolist()])
    values = np.array([v for values in series.values() for v in values])
    times = steps.astype(np.float64) if wall_times is None else wall_times
    store.apply(Columns(run, np.arange(len(series), dtype=np.uint32), counts, steps, values, times))


class Log:
    """A store with one run, fed as by a reader; a stream is made when it is first written to."""

    def __init__(self) -> None:
        self.store = Store()
        self.store.apply(RunFound(0, "run", "/run"))
        self._streams: dict[object, tuple[int, list[str]]] = {}
        """Key -> (id, metrics)."""

    def stream(self, key: object, source: str = "events", rank: int = 40, prefix: str = "", path: str = "") -> Self:
        number = len(self._streams)
        self._streams[key] = number, []
        path = path or f"/run/{source}/{number}"
        self.store.apply(StreamFound(number, 0, source, path, "tensorboard", rank, prefix, number))
        return self

    def add(
        self, key: object, steps: Sequence[int], values: Any = None, wall_times: Any = None, metric: str = "loss"
    ) -> Self:
        """Add points. values: the steps by default. wall_times: NaN by default."""
        if key not in self._streams:
            self.stream(key)
        number, names = self._streams[key]
        if metric not in names:
            self.store.apply(MetricsFound(number, len(names), (metric,)))
            names.append(metric)
        ids, counts = np.array([names.index(metric)], np.uint32), np.array([len(steps)], np.uint32)
        floats = np.array(steps if values is None else values, np.float64)
        times = np.full(len(steps), np.nan) if wall_times is None else np.array(wall_times, np.float64)
        self.store.apply(Columns(number, ids, counts, np.array(steps, np.int64), floats, times))
        return self

    def start(self, key: object, step: int | None = None, purge: bool = False) -> Self:
        self.store.apply(SegmentStarted(self._streams[key][0], step, purge))
        return self

    @property
    def run(self) -> Run:
        return self.store.snapshot().runs[0]

    def curve(self, metric: str = "loss") -> Curve:
        return self.run.curve(metric)

    def disagreement(self, metric: str = "loss") -> Disagreement | None:
        return min(self.run.disagreements(metric), key=lambda disagreement: disagreement.step, default=None)
