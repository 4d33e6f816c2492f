"""Stores filled with series, without a log."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tuimon.model.events import Columns, MetricsFound, RunFound, StreamFound
from tuimon.store import Store


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
