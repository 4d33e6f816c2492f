"""Runs built from series, without a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tuimon.model.events import Columns, FactFound, MetricsFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.model.views import Row, Size, Symbols
from tuimon.panels import ChartOptions, all_panels
from tuimon.store import Run, Snapshot, Store

START = 1_795_000_000.0
Series = Mapping[str, tuple[Sequence[int], Sequence[float]]]
"""Metric -> (steps, values)."""


def store_of(series: Series, facts: Sequence[Fact] = (), seconds: float = 1.0, start: float = START) -> Store:
    """Return a store with one run of one event file; the wall times of points are `seconds` apart per step.

    start: wall time of step 0; NaN: the points have none.
    """
    store = Store()
    store.apply(RunFound(0, "run", "/logs/run"))
    store.apply(StreamFound(0, 0, "run", "/logs/run/events", "tensorboard", 40, "", 0))
    feed(store, series, 0, seconds, start=start)
    for fact in facts:
        store.apply(FactFound(0, fact))
    return store


def feed(
    store: Store, series: Series, first: int = 0, seconds: float = 1.0, stream: int = 0, start: float = START
) -> None:
    store.apply(MetricsFound(stream, first, tuple(series)))
    steps = np.array([step for steps, _ in series.values() for step in steps], np.int64)
    values = np.array([value for _, values in series.values() for value in values], np.float64)
    counts = np.array([len(steps) for steps, _ in series.values()], np.uint32)
    if len(steps):
        ids = np.arange(first, first + len(series), dtype=np.uint32)
        store.apply(Columns(stream, ids[counts > 0], counts[counts > 0], steps, values, start + steps * seconds))


def run_of(series: Series, facts: Sequence[Fact] = ()) -> Run:
    return store_of(series, facts).snapshot().runs[0]


def runs_of(
    *series: Series, configs: Sequence[Mapping[str, object]] = (), names: Sequence[str] = ()
) -> tuple[Run, ...]:
    """Return the runs of `snapshot_of`."""
    return snapshot_of(*series, configs=configs, names=names).runs


def snapshot_of(*series: Series, configs: Sequence[Mapping[str, object]] = (), names: Sequence[str] = ()) -> Snapshot:
    """Return a snapshot with a run for each of these series, by default named run0, run1, …, with these settings."""
    store = Store()
    for number, own in enumerate(series):
        name = names[number] if names else f"run{number}"
        store.apply(RunFound(number, name, f"/logs/{name}"))
        store.apply(StreamFound(number, number, name, f"/logs/{name}/events", "tensorboard", 40, "", 0))
        feed(store, own, stream=number)
        if number < len(configs):
            store.apply(FactFound(number, Fact("config", dict(configs[number]))))
    return store.snapshot()


def panel_of(id: str) -> Any:
    """Return the panel with this id."""
    return next(panel for panel in all_panels() if panel.id == id)


def view_of(run: Run, id: str, size: Size = Size(80, 12), now: float = START, **options: Any) -> Any:  # noqa: B008
    """Return the view of a panel with these chart options; the type depends on the panel."""
    return panel_of(id).view(run, size, now, Symbols.BRAILLE, ChartOptions(**options))


def text(row: Row) -> str:
    return "".join(part for part, _ in row)
