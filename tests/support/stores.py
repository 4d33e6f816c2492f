"""Stores filled with series, without a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tuimon.model.events import Columns, FactFound, MetricsFound, RunFound, SegmentStarted, StreamFound, StreamStatus
from tuimon.model.points import Fact
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

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self.store.apply(RunFound(0, "run", "/run"))
        self._streams: dict[object, tuple[int, list[str]]] = {}
        """Key -> (id, metrics)."""

    def stream(
        self,
        key: object,
        source: str = "events",
        rank: int = 40,
        prefix: str = "",
        path: str = "",
        format: str = "tensorboard",
        of_machine: bool = False,
    ) -> Self:
        number = len(self._streams)
        self._streams[key] = number, []
        path = path or f"/run/{source}/{number}"
        self.store.apply(StreamFound(number, 0, source, path, format, rank, prefix, number, of_machine))
        return self

    def add(
        self, key: object, steps: Sequence[int], values: Any = None, wall_times: Any = None, metric: str = "loss"
    ) -> Self:
        """Add points. values: the steps by default; one for all. wall_times: NaN by default."""
        return self.add_row(key, {metric: (steps, values)}, wall_times)

    def add_row(self, key: object, metrics: Mapping[str, tuple[Sequence[int], Any]], wall_times: Any = None) -> Self:
        """Add points of several metrics in one event. wall_times: of each metric, or of all in turn."""
        if key not in self._streams:
            self.stream(key)
        number, names = self._streams[key]
        if new := [metric for metric in metrics if metric not in names]:
            self.store.apply(MetricsFound(number, len(names), tuple(new)))
            names += new
        ids = np.array([names.index(metric) for metric in metrics], np.uint32)
        counts = np.array([len(steps) for steps, _ in metrics.values()], np.uint32)
        steps = np.concatenate([np.asarray(steps, np.int64) for steps, _ in metrics.values()])
        values = np.concatenate(
            [
                np.broadcast_to(np.asarray(own if own is not None else at, float), len(at))
                for at, own in metrics.values()
            ]
        )
        times = np.full(len(steps), np.nan) if wall_times is None else np.array(wall_times, float)
        times = np.tile(times, len(steps) // max(len(times), 1))
        self.store.apply(Columns(number, ids, counts, steps, values, times))
        return self

    def fact(
        self, key: object, topic: str, value: Mapping[str, Any], wall_time: float | None = None, step: int | None = None
    ) -> Self:
        self.store.apply(FactFound(self._streams[key][0], Fact(topic, value, step, wall_time)))
        return self

    def status(self, key: object, modified: float, size: int = 9, **more: Any) -> Self:
        """Set the status of a log that was read to its end."""
        self.store.apply(StreamStatus(self._streams[key][0], "current", "", size, size, modified, 0, **more))
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
