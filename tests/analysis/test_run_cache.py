"""Results for the snapshot that is shown and for the one that is prepared are both kept."""

from __future__ import annotations

from pathlib import Path

from tuimon.analysis.run_cache import cached_until_doubled
from tuimon.monitor.local import LocalMonitor
from tuimon.store import Run


def test_two_versions_of_a_run_do_not_evict_each_other(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    monitor, runs, computed = LocalMonitor([str(tmp_path)]), [], []

    @cached_until_doubled
    def names(run: Run) -> tuple[str, ...]:
        computed.append(run.metrics)
        return run.metrics

    for metric in ("loss", "kl", "lr"):
        with log.open("a") as file:
            file.writelines(f'{{"step": {step}, "{metric}": 1}}\n' for step in range(30))
        monitor.update()
        runs.append(monitor.snapshot().runs[0])
    for run in (*runs[:2] * 3, runs[2], runs[1], runs[2]):
        assert names(run) == run.metrics
    assert computed == [run.metrics for run in runs]
    assert names(runs[0]) == runs[0].metrics
    assert len(computed) == 4, "the oldest one is computed again"
