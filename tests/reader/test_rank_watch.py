"""Following the ranks of a job whose files come one after another."""

from __future__ import annotations

import os
import time
from pathlib import Path

from support.rank_jobs import agent_directory, ray_job, torchrun_job, write

from tuimon.model.ranks import JobRanks
from tuimon.ranks.hangs import HANGS_AFTER
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


def test_a_rank_that_hangs_is_found_though_nothing_is_written_any_more(tmp_path: Path) -> None:
    job = torchrun_job(tmp_path / "job", steps=23)
    for path in (agent_directory(job, 7) / "stderr.log", job / "rank_metrics/rank_007.jsonl"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    write(job / "gpu_node01.csv", "timestamp, index, utilization.gpu [%]\n")
    paths = sorted(str(path) for path in job.rglob("*") if path.is_file())
    now = time.time()
    watch = RankWatch(lambda: {0: paths}, clock=lambda: now)

    def reports() -> list[JobRanks]:
        for known in watch._jobs.values():
            known.due = 0.0
        return [event.ranks for event in watch.events()]

    assert {row.state for row in reports()[-1].rows} == {"run"}
    now += HANGS_AFTER - 5
    assert reports() == []
    now += 10
    os.utime(job / "gpu_node01.csv", (now, now))  # the monitor of the GPUs goes on
    report = reports()[-1]
    assert "rank 7" in report.verdict
    assert report.silent == (7,)
    assert [problem.rule for problem in report.problems] == ["rank_failure"]
    now += 10
    assert reports() == []
    for rank in range(16):
        write(job / f"rank_metrics/rank_{rank:03}.jsonl", f'{{"step": 24, "rank": {rank}}}\n')
        os.utime(job / f"rank_metrics/rank_{rank:03}.jsonl", (now, now))
    assert reports()[-1].silent == ()
