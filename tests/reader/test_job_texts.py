"""Console text of jobs that is followed before the directories of their runs exist."""

from __future__ import annotations

from pathlib import Path

from tuimon.monitor.local import LocalMonitor


def test_text_of_a_job_moves_to_the_run_that_begins_later(tmp_path: Path) -> None:
    monitor = LocalMonitor([tmp_path])
    for job, version in ((4711, 0), (4712, 1)):
        text = "".join(f"step {step} loss {job + step / 8}\n" for step in range(20))
        (tmp_path / f"slurm-{job}.out").write_text(text)
        monitor.update()
        directory = tmp_path / "lightning_logs" / f"version_{version}"
        directory.mkdir(parents=True)
        rows = "".join(f"{step},{job + step}\n" for step in range(20))
        (directory / "metrics.csv").write_text(f"step,val_loss\n{rows}")
        monitor.update()
        monitor.update()
    runs = sorted(monitor.snapshot().runs, key=lambda run: run.curve("val_loss").values[0])
    assert [run.curve("val_loss").values[0] for run in runs] == [4711, 4712]
    assert [run.curve("loss").values[0] for run in runs] == [4711, 4712]
    assert [len(run.curve("loss")) for run in runs] == [20, 20]
