"""The group of sources whose steps are those of the run."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.model.events import Columns, MetricsFound, RunFound, StreamFound
from tuimon.store import Store


@pytest.mark.parametrize(("of_machine", "step"), [(True, 30), (False, 90_000)])
def test_measurements_of_a_machine_do_not_represent_a_run(of_machine: bool, step: int) -> None:
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    gpus = tuple(f"system/gpu.0.quantity{number}" for number in range(20))
    for stream, (source, metrics, last) in enumerate((("gpu.csv", gpus, 90_000), ("train.log", ("loss",), 30))):
        store.apply(
            StreamFound(stream, 0, source, f"/run/{source}", "any", 11 - stream, "", stream, of_machine and not stream)
        )
        store.apply(MetricsFound(stream, 0, metrics))
        ids, counts = np.arange(len(metrics), dtype=np.uint32), np.full(len(metrics), 3, np.uint32)
        columns = np.tile([0, last // 2, last], len(metrics)), np.full(3 * len(metrics), 0.5)
        store.apply(Columns(stream, ids, counts, *columns, np.full(3 * len(metrics), np.nan)))
    assert store.snapshot().runs[0].last_step == step
