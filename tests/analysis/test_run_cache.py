"""Caches of functions of a run."""

from __future__ import annotations

import numpy as np
from support.stores import store_of

from tuimon.analysis.run_cache import cached_until_doubled
from tuimon.model.events import Columns, MetricsFound
from tuimon.store import Run


def test_a_result_is_kept_until_the_points_double_or_a_metric_appears() -> None:
    calls: list[int] = []

    @cached_until_doubled
    def counted(run: Run) -> int:
        calls.append(run.point_count)
        return len(calls)

    def append(step: int, metric: int = 0) -> None:
        steps = np.array([step], np.int64)
        count = np.ones(1, np.uint32)
        store.apply(Columns(0, np.array([metric], np.uint32), count, steps, steps.astype(float), steps.astype(float)))

    store = store_of({"loss": [1.0] * 6})
    for points in range(7, 17):
        append(points * 10)
        counted(store.snapshot().runs[0])
    assert calls == [7, 8, 16], "once for each number of binary digits"
    store.apply(MetricsFound(0, 1, ("kl",)))
    append(10, 1)
    counted(store.snapshot().runs[0])
    counted(store.snapshot().runs[0])
    assert calls == [7, 8, 16, 17]
