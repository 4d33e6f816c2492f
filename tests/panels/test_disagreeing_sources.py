"""Sources of one run that have different values for a metric, on logs read by the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.programs import run, write_rows
from support.tables import table_rows

from tuimon.model.views import Role, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels.lists.metric_rows import metric_columns


def _write(path: Path, factor: float) -> None:
    """Write a run in two logs; the KL of the lesser one is multiplied by `factor`."""
    rows = [{"step": step, "kl": 0.1 + step / 1000, "entropy": 2.0 - step / 100} for step in range(1, 21)]
    history = [row | {"kl": row["kl"] * factor} for row in rows]
    (path / "trainer_state.json").write_text(json.dumps({"global_step": 20, "log_history": history}))
    lines = ({"step": row["step"], "train/kl": row["kl"], "train/entropy": row["entropy"]} for row in rows)
    write_rows(path, lines)


@pytest.mark.parametrize(("factor", "disagree"), [(1.5, True), (1.0, False)])
def test_doctor_names_sources_that_disagree(tmp_path: Path, factor: float, disagree: bool) -> None:
    _write(tmp_path, factor)
    assert ("sources disagree on train/kl" in run("doctor", str(tmp_path)).stdout) is disagree


def test_the_list_of_metrics_marks_sources_that_disagree(tmp_path: Path) -> None:
    _write(tmp_path, 1.5)
    [read] = open_run(str(tmp_path)).runs
    for width in (60, 100, 200):
        rows = dict(
            zip(read.metrics, table_rows(metric_columns(read, Symbols.BRAILLE), read.metrics, width)[1:], strict=True)
        )
        marked = {name for name, row in rows.items() if (" ≠", Role.WARNING) in row}
        assert marked == {"train/kl"}
