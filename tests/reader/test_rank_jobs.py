"""Ranks of jobs whose logs come or grow while they are read."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

from support.live import Live

from tests.support import rank_jobs as jobs
from tuimon.model.ranks import JobRanks
from tuimon.monitor.local import LocalMonitor
from tuimon.ranks.hangs import HANGS_AFTER
from tuimon.reader.rank_paths import task_numbers
from tuimon.store import Snapshot


def _ranks(monitor: LocalMonitor) -> JobRanks | None:
    monitor.read()
    return monitor.snapshot().runs[0].ranks


def test_ranks_of_a_node_whose_files_come_later_are_read(tmp_path: Path) -> None:
    logs = sorted(jobs.ray_job(tmp_path / "all", slow=9).rglob("*.err"))
    late = [path for path in logs if "10.1.0.2" in str(path)]
    assert 0 < len(late) < len(logs)
    for path in logs:
        if path not in late:
            jobs.write(tmp_path / "job" / path.relative_to(tmp_path / "all"), path.read_text())
    monitor = LocalMonitor([tmp_path / "job"])
    first = _ranks(monitor)
    assert first is not None
    assert len(first.rows) == 8
    for path in late:
        jobs.write(tmp_path / "job" / path.relative_to(tmp_path / "all"), path.read_text())
    monitor.read()
    found = [run.ranks for run in monitor.snapshot().runs if run.ranks is not None]
    assert sorted(row.rank for ranks in found for row in ranks.rows)[-1] == 15


def test_logs_that_turn_out_to_be_those_of_tasks_are_looked_at_again(tmp_path: Path) -> None:
    def log(task: int) -> Path:
        return tmp_path / f"pre-77_{task}.out"

    def lines(task: int) -> str:
        return "".join(f"WORLD_SIZE=5 step {step} loss 0.{task}{step}\n" for step in range(1, 9))

    for task in range(3):
        jobs.write(log(task), lines(task))
    monitor = LocalMonitor([tmp_path])
    assert _ranks(monitor) is None
    for task in (3, 4):
        jobs.write(log(task), lines(task))
    monitor.read()
    (ranks,) = [run.ranks for run in monitor.snapshot().runs if run.ranks is not None]
    assert [(row.rank, row.step) for row in sorted(ranks.rows, key=lambda row: row.rank)] == [(n, 8) for n in range(5)]


def test_a_text_that_names_two_ranks_only_at_its_end_is_looked_at_from_its_end(tmp_path: Path) -> None:
    log = jobs.write(tmp_path / "train.log", "".join(f"step {n} loss {1 / (n + 1):.5f}\n" for n in range(40_000)))
    monitor = LocalMonitor([tmp_path])
    assert _ranks(monitor) is None
    jobs.write(log, f"[rank3]: {jobs.MEMORY}\n[rank1]: {jobs.PEER}\n")
    ranks = _ranks(monitor)
    assert ranks is not None
    assert ranks.root_cause is not None
    assert ranks.root_cause.place is not None
    assert (ranks.root_cause.rank, ranks.root_cause.place.line) == (3, 40_001)
    assert 0 < ranks.unread < log.stat().st_size


def test_a_log_that_is_read_again_is_looked_at_once(tmp_path: Path) -> None:
    text = "".join(f"[rank{rank}]: step 1 loss 0.5\n" for rank in range(4))
    log = jobs.write(tmp_path / "train.log", f"{text}[rank2]: ValueError: no tok")
    os.utime(log, (time.time() - 300,) * 2)
    monitor = LocalMonitor([tmp_path])
    first = _ranks(monitor)
    assert first is not None
    jobs.write(log, "ens\n[rank1]: step 2 loss 0.4\n")
    last = _ranks(monitor)
    assert last is not None
    assert last.root_cause is not None
    assert (last.root_cause.rank, last.root_cause.count) == (2, 1)


def test_a_rank_that_hangs_is_found_though_nothing_is_written_any_more(tmp_path: Path) -> None:
    job = jobs.torchrun_job(tmp_path / "job", steps=23)
    for path in (jobs.agent_directory(job, 7) / "stderr.log", job / "rank_metrics/rank_007.jsonl"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    jobs.write(job / "gpu_node01.csv", "timestamp, index, utilization.gpu [%]\n")
    now = time.time()
    monitor = LocalMonitor([job], clock=lambda: now)

    def silent() -> tuple[int, ...]:
        ranks = _ranks(monitor)
        assert ranks is not None
        return ranks.silent

    assert silent() == ()
    now += HANGS_AFTER - 5
    assert silent() == ()
    now += 10
    os.utime(job / "gpu_node01.csv", (now, now))  # the monitor of the GPUs goes on
    assert silent() == (7,)
    for rank in range(16):
        path = jobs.write(job / f"rank_metrics/rank_{rank:03}.jsonl", f'{{"step": 24, "rank": {rank}, "loss": 2.0}}\n')
        os.utime(path, (now, now))
    assert silent() == ()


def test_the_alert_in_a_directory_of_many_runs_is_the_cause_and_not_a_consequence(tmp_path: Path) -> None:
    for number in range(12):
        jobs.torchrun_error(jobs.torchrun_job(tmp_path / f"job{number}", steps=3), 5, 10, jobs.MEMORY)

    def rules(snapshot: Snapshot) -> set[str]:
        return {alert.rule for alert in snapshot.alerts if alert.active}

    with Live(tmp_path) as live:
        live.until(lambda s: len(s.runs) == 12 and all(run.ranks is not None for run in s.runs))
        snapshot = live.until(lambda s: len(s.alerts) == 12 and rules(s) == {"rank_failure"})
    assert all("rank 5" in alert.message for alert in snapshot.alerts)


def test_ranks_of_key_and_value_have_steps_and_own_times(tmp_path: Path) -> None:
    for rank in range(4):
        rows = (f"[INFO] rank={rank} step={step} loss=2.25 step_time={9 + rank}.5 mem_gb=61.0\n" for step in range(9))
        jobs.write(tmp_path / f"rank_{rank}.log", "".join(rows))
    ranks = _ranks(LocalMonitor([tmp_path]))
    assert ranks is not None
    assert [(row.rank, row.step, row.own, row.loss) for row in ranks.rows] == [
        (n, 8, n + 9.5, "2.25") for n in range(4)
    ]


def test_times_in_the_names_of_several_starts_are_no_ranks(tmp_path: Path) -> None:
    """Event files carry the second of their start: numbers of nine digits once made a set of as many numbers."""
    names = [f"events.out.tfevents.{3_000_000 + start}.node01" for start in range(5)]
    paths = [str(tmp_path / name) for name in names]
    for path in paths:
        Path(path).write_text("[rank0] ready\n")
    tracemalloc.start()
    try:
        assert task_numbers(str(tmp_path), paths) == {}
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
