"""The verdict about jobs of many ranks, read from files that launchers and frameworks write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import rank_jobs as jobs
from tuimon.model.ranks import JobRanks


def _verdict(job: Path) -> JobRanks:
    ranks = jobs.read_ranks(job)
    assert ranks is not None
    return ranks


def _cause(job: Path) -> tuple[int | None, str]:
    cause = _verdict(job).root_cause
    assert cause is not None
    return cause.rank, cause.text


def test_out_of_memory_explains_the_timeouts_that_follow(tmp_path: Path) -> None:
    jobs.slurm_job(tmp_path)
    log = jobs.write(
        jobs.slurm_log(tmp_path, 11), f"[rank11]:     raise torch.OutOfMemoryError(\n[rank11]: {jobs.MEMORY}\n"
    )
    for rank in set(range(16)) - {11}:
        jobs.write(jobs.slurm_log(tmp_path, rank), jobs.watchdog(rank, 700, 93))
    jobs.write(tmp_path / "slurm-77001.out", "srun: error: n01: tasks 0-7: Aborted (core dumped)\n")
    verdict = _verdict(tmp_path)
    cause = verdict.root_cause
    assert cause is not None
    assert cause.place is not None
    assert (len(verdict.rows), cause.rank, cause.node, verdict.silent) == (16, 11, "n02", ())
    assert "Tried to allocate 2.50 GiB" in cause.text
    assert "15 × NCCL timeout" in cause.text
    assert log.read_text().splitlines()[cause.place.line - 1].endswith(cause.evidence)


def test_rank_that_never_joined_a_collective(tmp_path: Path) -> None:
    jobs.slurm_job(tmp_path)
    for rank in set(range(16)) - {6}:
        jobs.write(jobs.slurm_log(tmp_path, rank), jobs.watchdog(rank, 700, 92))
    head = "[rank6]:[E0305 10:11:41.1 ProcessGroupNCCL.cpp:1806] [PG ID 0 PG GUID 0(default_pg) Rank 6] Received a dump"
    jobs.write(
        jobs.slurm_log(tmp_path, 6), f"{head} signal. Last enqueued NCCL work: 90, last completed NCCL work: 90.\n"
    )
    rank, text = _cause(tmp_path)
    assert rank == 6
    assert "rank 6 (n01, local rank 6) never joined collective 91 (ALLGATHER)" in text
    assert _verdict(tmp_path).silent == (6,)


def test_equal_counters_of_all_ranks_blame_no_rank(tmp_path: Path) -> None:
    jobs.slurm_job(tmp_path)
    for rank in range(16):
        jobs.write(jobs.slurm_log(tmp_path, rank), jobs.watchdog(rank, 700, 92))
    rank, text = _cause(tmp_path)
    assert rank is None
    assert text.startswith("cannot tell: 16 of 16 ranks timed out")


@pytest.mark.parametrize("reason", ["PREEMPTION", "TIME LIMIT", "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"])
def test_stop_from_outside_blames_no_rank(tmp_path: Path, reason: str) -> None:
    jobs.slurm_job(tmp_path)
    moment = jobs.stamp(900, "%Y-%m-%dT%H:%M:%S")
    line = f"slurmstepd: error: *** STEP 77001.0 ON n01 CANCELLED AT {moment} DUE TO {reason} ***\n"
    jobs.write(tmp_path / "slurm-77001.out", line + "srun: error: n01: tasks 0-7: Terminated\n")
    rank, text = _cause(tmp_path)
    assert rank is None
    assert reason.split(",")[0] in text


def test_same_exception_on_all_ranks_blames_no_rank(tmp_path: Path) -> None:
    jobs.slurm_job(tmp_path)
    for rank in range(16):
        jobs.write(jobs.slurm_log(tmp_path, rank), f"[rank{rank}]: FileNotFoundError: no such dataset: /data/c4\n")
    assert _cause(tmp_path) == (None, "16 of 16 ranks: FileNotFoundError: no such dataset: /data/c4")


def test_failed_gpu_is_joined_to_a_rank_by_its_bus(tmp_path: Path) -> None:
    jobs.slurm_job(tmp_path)
    rows = "".join(f"2026/03/05 10:00:00.1, {gpu}, 00000000:{gpu + 16:02X}:00.0, 99 %\n" for gpu in range(8))
    jobs.write(tmp_path / "gpu/n02.csv", f"timestamp, index, pci.bus_id, utilization.gpu [%]\n{rows}")
    line = "NVRM: Xid (PCI:0000:14:00): 79, pid=7, name=python, GPU has fallen off the bus."
    jobs.write(tmp_path / "console/n02.dmesg", f"{jobs.stamp(60, '%Y-%m-%dT%H:%M:%S')} {line}\n")
    assert _cause(tmp_path)[0] == 12


def test_torchrun_failure_with_the_errors_of_restarts_that_made_no_progress(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    jobs.torchrun_error(
        tmp_path, 10, 60, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    )
    jobs.torchrun_error(tmp_path, 9, 61, jobs.PEER)
    for attempt in (1, 2, 3):
        for rank in range(0, 16, 2):
            message = "RuntimeError: Gloo connectFullMesh failed with timeout"
            jobs.torchrun_error(tmp_path, rank, 60 + 30 * attempt, message, attempt)
    rank, text = _cause(tmp_path)
    assert rank == 10
    assert "illegal memory access" in text
    assert "rank 10 (node02" in text


def test_later_failure_counts_after_progress(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path, 20)
    jobs.torchrun_error(tmp_path, 3, 50, "ValueError: first")
    jobs.torchrun_job(tmp_path, 40, begin=20, at=100, attempt=1)
    jobs.torchrun_error(tmp_path, 14, 150, "ValueError: second", 1)
    rank, text = _cause(tmp_path)
    assert rank == 14
    assert "second" in text


def test_errors_of_peers_alone_blame_no_rank(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    for rank in (1, 4, 6):
        jobs.torchrun_error(tmp_path, rank, 60, jobs.PEER)
    rank, text = _cause(tmp_path)
    assert rank is None
    assert "perhaps node02 was lost" in text


def test_rank_that_began_a_step_and_did_not_end_it(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    line = f"[{jobs.stamp(45)}][node02][rank12] INFO step 23: packed batch of 4096 tokens\n"
    jobs.write(jobs.agent_directory(tmp_path, 12) / "stderr.log", line)
    jobs.write_long_ago(tmp_path)
    rank, text = _cause(tmp_path)
    assert rank == 12
    assert "began step 23 and did not end it" in text
    assert _verdict(tmp_path).silent == (12,)


def test_job_in_step_has_no_cause(tmp_path: Path) -> None:
    verdict = _verdict(jobs.torchrun_job(tmp_path))
    assert (len(verdict.rows), verdict.root_cause, verdict.stragglers, verdict.silent) == (16, None, (), ())


def test_ray_exception_in_the_file_of_the_driver(tmp_path: Path) -> None:
    jobs.ray_job(tmp_path)
    driver = jobs.ray_logs(tmp_path, 0) / "job-driver-raysubmit_a1.log"
    error = "ray::Worker.train_step() (pid=5013, ip=10.1.0.2, actor_id=1f)"
    jobs.write(driver, f"ray.exceptions.RayTaskError(OutOfMemoryError): {error}\n  raise value\n{jobs.MEMORY}\n")
    rank, text = _cause(tmp_path)
    assert rank == 13
    assert "CUDA out of memory" in text


def test_ray_actor_that_died_has_the_time_of_its_last_line_and_the_exit_type(tmp_path: Path) -> None:
    jobs.ray_job(tmp_path)
    death = [
        f"[{jobs.stamp(0)}] driver: begins",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "\tclass_name: Worker",
        "\tpid: 5003",
        "\tname: actor_train-3",
        "\tip: 10.1.0.1",
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "
        "Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the "
        "process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called.",
    ]
    jobs.write(jobs.ray_logs(tmp_path, 0) / "job-driver-1.log", "\n".join(death) + "\n")
    cause = _verdict(tmp_path).root_cause
    assert cause is not None
    assert cause.rank == 3
    assert not cause.resolved  # the driver's last line with a time lies before all steps
    assert f"after {jobs.stamp(14, '%H:%M:%S')}:" in cause.text
    assert cause.text.endswith(
        "; worker exit type SYSTEM_ERROR: Worker unexpectedly exits with a connection error code 2. End of file"
    )


def test_ray_rank_that_computes_longer(tmp_path: Path) -> None:
    verdict = _verdict(jobs.ray_job(tmp_path, slow=7))
    assert [(straggler.rank, straggler.since) for straggler in verdict.stragglers] == [(7, 6)]


def test_times_across_ranks_of_megatron(tmp_path: Path) -> None:
    jobs.slurm_job(tmp_path)
    text = ""
    for step in range(10, 400, 10):
        text += f" [{jobs.stamp(step)}] iteration {step:8}/ 500 | lm loss: 2.0 | \ntimes across ranks (ms):\n"
        for name, slow in (("forward-compute", 480), ("forward-backward", 990)):
            times = [slow if rank == 9 and step > 150 else 310 + rank % 3 for rank in range(16)]
            text += f"  {name}:\n" + "".join(f"     rank {rank:2}: {time:.2f}\n" for rank, time in enumerate(times))
    jobs.write(jobs.slurm_log(tmp_path, 15, "out"), text)
    assert [straggler.rank for straggler in _verdict(tmp_path).stragglers] == [9]


def test_steps_of_a_job_that_goes_on_may_differ(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    row = '{"step": 23, "rank": %d, "loss": 2.0}\n'
    for rank in range(15):
        jobs.write(tmp_path / f"rank_metrics/rank_{rank:03}.jsonl", row % rank)
    assert _verdict(tmp_path).root_cause is None
    jobs.write_long_ago(tmp_path)
    assert _cause(tmp_path)[0] == 15


def test_line_number_in_the_tail_of_a_long_file(tmp_path: Path) -> None:
    jobs.slurm_job(tmp_path)
    log = jobs.write(jobs.slurm_log(tmp_path, 4), "".join(f"[rank4]: line {n}\n" for n in range(40_000)))
    jobs.write(log, f"[rank4]: {jobs.MEMORY}\n[rank4]: end\n")
    cause = _verdict(tmp_path).root_cause
    assert cause is not None
    assert cause.place is not None
    assert log.read_text().splitlines()[cause.place.line - 1] == f"[rank4]: {jobs.MEMORY}"


def test_damaged_file_costs_only_itself(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    jobs.torchrun_error(tmp_path, 5, 60, jobs.MEMORY)
    (jobs.agent_directory(tmp_path, 2) / "stderr.log").write_bytes(os.urandom(5000) + b"\x1b]0;x\x07\r\n" * 90)
    (jobs.agent_directory(tmp_path, 3) / "error.json").write_bytes(b'{"message": [')
    (tmp_path / "rank_metrics/rank_004.jsonl").unlink()
    (tmp_path / "rank_metrics/rank_004.jsonl").symlink_to("rank_004.jsonl")
    assert _cause(tmp_path)[0] == 5


def test_files_of_a_sweep_are_no_ranks(tmp_path: Path) -> None:
    for number in range(8):
        jobs.write(tmp_path / f"sweep_{number}.log", f"step: 1 loss: {number}.0\n")
    assert jobs.read_ranks(tmp_path) is None


def _restarted_job(job: Path) -> Path:
    """Write a job whose rank 13 failed at step 25 and which was resumed after step 20."""
    jobs.torchrun_job(job, 25)
    jobs.torchrun_error(job, 13, 50, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered")
    return jobs.torchrun_job(job, 36, begin=21, at=100, attempt=1)


def test_a_failure_after_which_the_job_was_restarted_is_history(tmp_path: Path) -> None:
    report = _verdict(_restarted_job(tmp_path))
    assert report.restart == "failed once: rank 13 on node02 failed (ECC) at step 25; the job went on"
    assert report.problems == ()
    first = report.rows[0]
    assert (first.rank, first.state, "attempt_0" in first.path) == (13, "recovered", True)
    assert {row.state for row in report.rows[1:]} == {"run"}


def test_ranks_of_a_job_that_another_rank_ended_do_not_run(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    jobs.torchrun_error(tmp_path, 10, 60, "ValueError: sequence 71 has no tokens")
    report = _verdict(tmp_path)
    assert [row.state for row in report.rows] == ["failed", *["ended"] * 15]
