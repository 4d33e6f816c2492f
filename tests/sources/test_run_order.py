"""Runs are found in the order of the numbers in their names."""

from __future__ import annotations

from pathlib import Path

from tuimon.monitor.local import open_run


def test_trial_2_is_found_before_trial_10(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        (tmp_path / f"trial_{number}").mkdir()
        (tmp_path / f"trial_{number}" / "metrics.jsonl").write_text('{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}\n')
    assert [run.name.rpartition("/")[2] for run in open_run(str(tmp_path)).runs] == ["trial_1", "trial_2", "trial_10"]
