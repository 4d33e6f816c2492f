"""Following the ranks of a job whose files come one after another."""

from __future__ import annotations

import os
import time
from pathlib import Path

from support.live import Live
from support.rank_jobs import MEMORY, agent_directory, ray_job, torchrun_error, torchrun_job, write

from tuimon.model.ranks import JobRanks
from tuimon.ranks.hangs import HANGS_AFTER
from tuimon.reader.rank_watch import RankWatch
from tuimon.store import Snapshot


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


def _failed_jobs(root: Path, count: int) -> dict[int, list[str]]:
    """Write jobs in which a rank runs out of memory and the others time out; return their files by run."""
    paths = {}
    for number in range(count):
        job = torchrun_job(root / f"job{number}", steps=3)
        torchrun_error(job, 5, 10, MEMORY)
        paths[number] = sorted(str(path) for path in job.rglob("*") if path.is_file())
    return paths


def test_runs_that_are_not_followed_are_read_once(tmp_path: Path) -> None:
    paths = _failed_jobs(tmp_path, 11)
    sweep = tmp_path / "sweep.log"
    sweep.write_text("step 1 loss 0.5\n" * 20)
    paths[11] = [str(sweep)]
    watch = RankWatch(lambda: paths)
    reports = {}
    while len(reports) < 11 or 11 not in watch._jobs:
        reports |= {event.run: event.ranks for event in watch.events()}
    assert all(report is not None and "rank 5" in report.verdict for report in reports.values())
    assert all(watch._jobs[run].reading is None for run in (8, 9, 10, 11))


def test_a_wanted_run_is_read_while_others_are_busy_and_answered_in_any_case(tmp_path: Path) -> None:
    paths = _failed_jobs(tmp_path, 10)
    plain = tmp_path / "plain.log"
    plain.write_text("step 1 loss 0.5\n" * 20)
    paths[10] = [str(plain)]
    watch = RankWatch(lambda: paths)
    for _ in range(50):
        assert all(event.run < 8 for event in watch.events(busy=True))
    watch.want([10, 9])
    answers = {}
    while len(answers) < 2:
        answers |= {event.run: event.ranks for event in watch.events(busy=True)}
    assert answers[10] is None
    assert answers[9] is not None


def test_the_alert_in_a_directory_of_many_runs_is_the_cause_and_not_a_consequence(tmp_path: Path) -> None:
    _failed_jobs(tmp_path, 12)

    def rules(snapshot: Snapshot) -> set[str]:
        return {alert.rule for alert in snapshot.alerts if alert.active}

    with Live(tmp_path) as live:
        snapshot = live.until(lambda s: len(s.runs) == 12 and all(run.ranks is not None for run in s.runs))
        snapshot = live.until(lambda s: len(s.alerts) == 12 and rules(s) == {"rank_failure"})
    assert all("rank 5" in alert.message for alert in snapshot.alerts)


def test_a_run_is_not_judged_by_the_logs_of_others_that_lie_between_its_files(tmp_path: Path) -> None:
    paths = _failed_jobs(tmp_path, 1)
    paths[1] = [str(write(tmp_path / name, "step 1 loss 0.5\n")) for name in ("a/console.log", "z/console.log")]
    watch = RankWatch(lambda: paths, live=False)
    assert [event.run for event in watch.events()] == [0]
