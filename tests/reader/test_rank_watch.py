"""Following the ranks of a job whose files come one after another."""

from __future__ import annotations

from pathlib import Path

from support.rank_jobs import ray_job

from tuimon.model.ranks import JobRanks
from tuimon.reader.rank_watch import RankWatch


def test_ranks_of_a_node_whose_files_come_later_are_read(tmp_path: Path) -> None:
    every = sorted(map(str, ray_job(tmp_path / "job", slow=9).rglob("*.err")))
    paths = [path for path in every if "10.1.0.1" in path]
    assert 0 < len(paths) < len(every)
    watch = RankWatch(lambda: {0: paths})
    reports: list[JobRanks] = []

    def read_all() -> None:
        for _ in range(100):
            for job in watch._jobs.values():
                job.due = 0.0  # the time until the next read has passed
            reports.extend(event.ranks for event in watch.events())

    read_all()
    assert len(reports[-1].rows) == 8
    paths.extend(path for path in every if path not in paths)
    read_all()
    assert len(reports[-1].rows) == 16
