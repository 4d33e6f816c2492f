"""The ends of processes that launchers report, each in a file that has the lines of all ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import rank_jobs as jobs
from tuimon.model.ranks import RootCause
from tuimon.ranks.launchers import exit_of, numbers

DEVICES = "".join(f"[rank{rank}]: using device cuda:{rank % 4}\n" for rank in range(8))


def cause_of(path: Path, text: str) -> RootCause:
    """Return the cause that one file with a text gives."""
    verdict = jobs.read_ranks(jobs.write(path / "slurm-4711.out", text))
    assert verdict is not None
    assert verdict.root_cause is not None
    return verdict.root_cause


def block(rank: int, code: int, host: str = "n02", traceback: str = "") -> str:
    """Return torchrun's block about a process with the pid 4000 + rank."""
    said = traceback or f"Signal {-code} received by PID {4000 + rank}"
    return (
        f"[0]:\n  time      : {jobs.stamp(60, '%Y-%m-%d_%H:%M:%S')}\n  host      : {host}\n"
        f"  rank      : {rank} (local_rank: {rank % 4})\n  exitcode  : {code} (pid: {4000 + rank})\n"
        f"  error_file: <N/A>\n  traceback : {said}\n"
    )


def agents(*blocks: str) -> str:
    """Return torchrun's last words. blocks: the last of them is that of the first failure."""
    bar = "-" * 60
    return (
        f"{'=' * 60}\ntrain.py FAILED\n{bar}\nFailures:\n{''.join(blocks[:-1]) or '  <NO_OTHER_FAILURES>'}{bar}\n"
        f"Root Cause (first observed failure):\n{blocks[-1]}{'=' * 60}\n"
    )


def test_killed_rank_is_named_by_torchrun_alone(tmp_path: Path) -> None:
    text = (
        f"E1122 api.py:874] failed (exitcode: -9) local_rank: 1 (pid: 4005) of binary: python\n{agents(block(5, -9))}"
    )
    cause = cause_of(tmp_path, f"step 1 loss 0.5\n{text}")
    assert (cause.rank, cause.node) == (5, "n02")
    assert cause.text.startswith("rank 5 (n02, local rank 1) at 10:01:00: Signal 9 received by PID 4005")


def test_aborted_rank_is_not_the_cause_of_an_exception(tmp_path: Path) -> None:
    text = f"{DEVICES}[rank3]: {jobs.MEMORY}\n" + agents(block(3, 1, "n01", "To enable traceback see: x"), block(6, -6))
    cause = cause_of(tmp_path, text)
    assert (cause.rank, cause.node) == (3, "n01")
    assert "CUDA out of memory" in cause.text


def test_traceback_within_a_block_is_that_of_its_rank(tmp_path: Path) -> None:
    traceback = (
        'Traceback (most recent call last):\n    File "train.py", line 5\n  ValueError: no tokens in shard 7\n  '
    )
    cause = cause_of(tmp_path, DEVICES + agents(block(2, 1, "n01", traceback)))
    assert (cause.rank, cause.evidence) == (2, "ValueError: no tokens in shard 7")


def test_exit_code_without_a_reason_is_a_guess(tmp_path: Path) -> None:
    cause = cause_of(tmp_path, DEVICES + agents(block(2, 1, "n01", "To enable traceback see: x")))
    assert (cause.rank, cause.text) == (
        2,
        "perhaps rank 2 (n01, local rank 2) at 10:01:00: exit code 1; no line says why",
    )


@pytest.mark.parametrize(
    ("line", "rank", "node"),
    [
        ("srun: error: n01: task 5: Segmentation fault (core dumped)", 5, "n01"),
        ("srun: error: n01: task 5: Exited with exit code 139", 5, "n01"),
        ("srun: error: n01: task 5: Out Of Memory", 5, "n01"),
        ("srun: error: n01: task 5: Killed", 5, "n01"),
        ("mpirun noticed that process rank 5 with PID 77 on node n01 exited on signal 7 (Bus error).", 5, "n01"),
        ("=   RANK 5 PID 77 RUNNING AT n01\n=   KILLED BY SIGNAL: 9 (Killed)", 5, "n01"),
        ("=   RANK 5 PID 77 RUNNING AT n01\n=   EXIT CODE: 139", 5, "n01"),
        ("[rank: 5] Child process with PID 77 terminated with code -9. Forcefully terminating all others", 5, ""),
        ("n01: [ERROR] [launch.py:341:sigkill_handler] ['--local_rank=3'] exits with return code = -9", None, ""),
    ],
)
def test_signal_names_the_rank_that_the_launcher_names(tmp_path: Path, line: str, rank: int | None, node: str) -> None:
    cause = cause_of(tmp_path, f"{DEVICES}{line}\nsrun: error: n02: tasks 0-4,6-7: Terminated\n")
    assert (cause.rank, cause.node) == (rank, node)
    assert not cause.text.startswith("perhaps")


def test_ranks_that_slurm_ended_are_no_cause(tmp_path: Path) -> None:
    step = "slurmstepd: error: *** STEP 77.0 ON n01 CANCELLED AT 2026-03-05T10:02:00 DUE TO TIME LIMIT ***\n"
    cause = cause_of(tmp_path, f"{DEVICES}{step}srun: error: n01: task 5: Killed\nsrun: error: n01: task 2: Killed\n")
    assert (cause.rank, cause.rule) == (None, "order")


def test_task_that_starts_several_ranks_is_no_rank(tmp_path: Path) -> None:
    text = f"{DEVICES}W1122 10:00:00 torch/distributed/elastic/agent.py:1] restarting\nsrun: error: n02: task 1: "
    cause = cause_of(tmp_path, f"{text}Segmentation fault (core dumped)\n")
    assert (cause.rank, cause.node) == (None, "n02")


@pytest.mark.parametrize(
    ("head", "line", "node"),
    [
        ("n{0}: [rank{1}]: ", "ValueError: no tokens", "n1"),
        ("2026-03-05T10:00:00.123456789Z stderr F [rank{1}]: ", "ValueError: no tokens", ""),
        ("[rank: {1}] ", "ValueError: no tokens", ""),
    ],
)
def test_prefix_of_a_line_names_its_rank(tmp_path: Path, head: str, line: str, node: str) -> None:
    text = "".join(head.format(rank // 4, rank) + "using device\n" for rank in range(8)) * 2
    cause = cause_of(tmp_path, f"{text}{head.format(1, 6)}{line}\n")
    assert (cause.rank, cause.node) == (6, node)
    if "Z" in head:
        assert cause.time == 1772704800.123456789


def test_gradient_that_is_not_a_number_names_its_rank(tmp_path: Path) -> None:
    guard = "AssertionError: Rank 6: found NaN in local grad norm in backward pass before data-parallel "
    cause = cause_of(tmp_path / "old", f"{DEVICES}{guard}communication collective. Device: 2, node: n02\n")
    assert (cause.rank, cause.node) == (6, "n02")
    guard = "RuntimeError: Rank 6, node n02, device 2, iteration 9: Unexpected result nan (message='found NaN …')"
    cause = cause_of(tmp_path / "new", f"{DEVICES}{guard}\n")
    assert (cause.rank, cause.node) == (6, "n02")


def test_memory_of_a_node_that_ray_watches(tmp_path: Path) -> None:
    lines = (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.1.0.2, ID: ab12) where the task (actor ID: cd34, name=actor_train-9, pid=5009, "
        "memory used=812.10GB) was running was 957.08GB / 1007.20GB (0.950240), which exceeds the threshold of 0.95.\n"
    )
    jobs.write(jobs.ray_logs(jobs.ray_job(tmp_path), 0) / "job-driver-raysubmit_1.log", lines)
    verdict = jobs.read_ranks(tmp_path)
    assert verdict is not None
    assert verdict.root_cause is not None
    assert (verdict.root_cause.rank, verdict.root_cause.node) == (9, "10.1.0.2")
    assert "957.08GB / 1007.20GB" in verdict.root_cause.text


def test_lines_that_count_something_else_are_no_ranks(tmp_path: Path) -> None:
    for number, line in enumerate(("[Epoch {0}/30] loss 0.5", '  "rank": {0},', "{0}: loss 0.5", "epoch{0}: loss 0.5")):
        text = "".join(line.format(epoch) + "\n" for epoch in range(1, 30))
        assert jobs.read_ranks(jobs.write(tmp_path / f"{number}.log", text)) is None


def test_lines_of_launchers_that_report_no_failure() -> None:
    assert (
        exit_of("srun: error: Unable to create step for job 77: Invalid generic resource (gres) specification") is None
    )
    assert exit_of("exits with care") is None
    assert numbers("0-2,6,x-3") == [0, 1, 2, 6]
