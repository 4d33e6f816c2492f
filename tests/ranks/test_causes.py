"""Why jobs of many ranks failed, read from files that launchers and frameworks write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import rank_jobs as jobs
from tuimon.model.ranks import JobRanks
from tuimon.ranks.collectives import group_of, lagging_ranks
from tuimon.ranks.launchers import exit_of, numbers

Files = dict[str, str]
"""Name below the job -> text that is appended."""


class Case(NamedTuple):
    """Files of a job, and what is said about its end."""

    files: Files
    rank: int | None
    node: str | None = None
    """None: any. So it is with the rule."""
    says: tuple[str, ...] = ()
    """Parts of the sentence."""
    rule: str | None = None
    time: float | None = None
    silent: tuple[int, ...] = ()
    job: Callable[[Path], object] = Path.is_dir
    """Writes the files that were there before."""


DEVICES = "".join(f"[rank{rank}]: using device cuda:{rank % 4}\n" for rank in range(8))
DEFAULT, PAIR = "ID 0 PG GUID 0(default_pg)", "ID 1 PG GUID 22(tp)"
CRASHED = "Segmentation fault (core dumped)"
LONG = "[rank4]: a line\n" * 40_000
NO_TRACEBACK = "To enable traceback see: x"
ILLEGAL = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
DIED = f"""[{jobs.stamp(0)}] driver: begins
ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
\tclass_name: Worker
\tpid: 5003
\tname: actor_train-3
\tip: 10.1.0.1
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker \
unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the process was \
killed by the OOM killer due to high memory usage, (2) ray stop --force was called.
"""
FULL = """ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.1.0.2, ID: ab12) where the task (actor ID: cd34, name=actor_train-9, pid=5009, memory \
used=812.10GB) was running was 957.08GB / 1007.20GB (0.950240), which exceeds the threshold of 0.95.
"""
RAY_DRIVER = str(jobs.ray_logs(Path(), 0) / "job-driver-raysubmit_1.log")


def one(text: str) -> Files:
    """A file with the lines of all ranks."""
    return {"slurm-4711.out": text}


def errors(texts: Iterable[tuple[int, str]]) -> Files:
    return {str(jobs.slurm_log(Path(), rank)): text for rank, text in texts}


def waiting(ranks: Iterable[int], enqueued: int) -> Files:
    return errors((rank, jobs.watchdog(rank, 700, enqueued)) for rank in ranks)


def timeouts(ranks: Iterable[int], group: str, operation: str, seconds: float, enqueued: int) -> str:
    """Return the lines of watchdogs about collective 91 of a group."""
    text = ""
    for rank in ranks:
        stamp = jobs.stamp(seconds, "%m%d %H:%M:%S")
        head = f"[rank{rank}]:[E{stamp}.5 ProcessGroupNCCL.cpp:683] [PG {group} Rank {rank}] "
        work = f"WorkNCCL(SeqNum=91, OpType={operation}, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600018 "
        text += (
            f"{head}Watchdog caught collective operation timeout: {work}milliseconds before timing out.\n"
            f"{head}PG status: last enqueued work: {enqueued}, last completed work: 90\n"
        )
    return text


def dump(rank: int, group: str, place: int) -> str:
    """Return the line of a rank that did not join a collective."""
    said = "Received a dump signal. Last enqueued NCCL work: 90, last completed NCCL work: 90."
    return f"[rank{rank}]:[E0305 10:11:41.1 ProcessGroupNCCL.cpp:1806] [PG {group} Rank {place}] {said}\n"


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


def cancelled(reason: str) -> str:
    moment = jobs.stamp(900, "%Y-%m-%dT%H:%M:%S")
    return f"slurmstepd: error: *** STEP 77001.0 ON n01 CANCELLED AT {moment} DUE TO {reason} ***\n"


def desync(ranks: str) -> str:
    """Return torch's report about ranks that were behind."""
    return (
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        f"\t   - [{ranks}] joined but didn't finish collective #90 (count from 1)\n"
    )


def failed(job: Path) -> None:
    """Write a job of torchrun whose rank 10 failed, then rank 9; its restarts did not come as far."""
    jobs.torchrun_job(job)
    jobs.torchrun_error(job, 10, 60, ILLEGAL)
    jobs.torchrun_error(job, 9, 61, jobs.PEER)
    for attempt in (1, 2, 3):
        for rank in range(0, 16, 2):
            message = "RuntimeError: Gloo connectFullMesh failed with timeout"
            jobs.torchrun_error(job, rank, 60 + 30 * attempt, message, attempt)


def failed_again(job: Path) -> None:
    jobs.torchrun_job(job, 20)
    jobs.torchrun_error(job, 3, 50, "ValueError: first")
    jobs.torchrun_job(job, 40, begin=20, at=100, attempt=1)
    jobs.torchrun_error(job, 14, 150, "ValueError: second", 1)


def left_by_peers(job: Path) -> None:
    jobs.torchrun_job(job)
    for rank in (1, 4, 6):
        jobs.torchrun_error(job, rank, 60, jobs.PEER)


def hung(job: Path) -> None:
    jobs.torchrun_job(job)
    line = f"[{jobs.stamp(45)}][node02][rank12] INFO step 23: packed batch of 4096 tokens\n"
    jobs.write(jobs.agent_directory(job, 12) / "stderr.log", line)
    jobs.write_long_ago(job)


def damaged(job: Path) -> None:
    jobs.torchrun_job(job)
    jobs.torchrun_error(job, 5, 60, jobs.MEMORY)
    (jobs.agent_directory(job, 2) / "stderr.log").write_bytes(bytes(range(256)) * 20 + b"\x1b]0;x\x07\r\n" * 90)
    (jobs.agent_directory(job, 3) / "error.json").write_bytes(b'{"message": [')
    (job / "rank_metrics/rank_004.jsonl").unlink()
    (job / "rank_metrics/rank_004.jsonl").symlink_to("rank_004.jsonl")


CASES: dict[str, Case] = {
    "out of memory explains the timeouts that follow": Case(
        errors([(11, f"[rank11]:     raise torch.OutOfMemoryError(\n[rank11]: {jobs.MEMORY}\n")])
        | waiting({*range(16)} - {11}, 93)
        | {"slurm-77001.out": "srun: error: n01: tasks 0-7: Aborted (core dumped)\n"},
        11, "n02", ("Tried to allocate 2.50 GiB", "15 × NCCL timeout"), job=jobs.slurm_job,
    ),
    "a rank that never joined a collective": Case(
        waiting({*range(16)} - {6}, 92) | errors([(6, dump(6, DEFAULT, 6))]),
        6, "n01", ("rank 6 (n01, local rank 6) never joined collective 91 (ALLGATHER)",), silent=(6,),
        job=jobs.slurm_job,
    ),
    "equal counters": Case(
        waiting(range(16), 92), None, says=("cannot tell: 16 of 16 ranks timed out",), job=jobs.slurm_job
    ),
    **{
        reason: Case(
            one(f"{cancelled(reason)}{DEVICES}srun: error: n01: task 5: Killed\nsrun: error: n01: task 2: Killed\n"),
            None, says=(reason.split(",")[0],), rule="order", job=jobs.slurm_job,
        )
        for reason in ("PREEMPTION", "TIME LIMIT", "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS")
    },
    "the same exception everywhere": Case(
        errors((rank, f"[rank{rank}]: FileNotFoundError: no such dataset: /data/c4\n") for rank in range(16)),
        None, says=("16 of 16 ranks: FileNotFoundError: no such dataset: /data/c4",), job=jobs.slurm_job,
    ),
    "the bus of a GPU": Case(
        {
            "gpu/n02.csv": "timestamp, index, pci.bus_id, utilization.gpu [%]\n" + "".join(
                f"2026/03/05 10:00:00.1, {gpu}, 00000000:{gpu + 16:02X}:00.0, 99 %\n" for gpu in range(8)
            ),
            "console/n02.dmesg": f"{jobs.stamp(60, '%Y-%m-%dT%H:%M:%S')} NVRM: Xid (PCI:0000:14:00): 79, pid=7, "
                                 "name=python, GPU has fallen off the bus.\n",
        },
        12, job=jobs.slurm_job,
    ),
    "a line in the tail of a long file": Case(
        errors([(4, f"{LONG}[rank4]: {jobs.MEMORY}\n[rank4]: end\n")]),
        4, job=jobs.slurm_job,
    ),
    "restarts that made no progress": Case({}, 10, "node02", ("illegal memory access", "rank 10 (node02"), job=failed),
    "progress after the first failure": Case({}, 14, says=("second",), job=failed_again),
    "errors of peers": Case({}, None, says=("perhaps node02 was lost",), job=left_by_peers),
    "a step that was not ended": Case({}, 12, says=("began step 23 and did not end it",), silent=(12,), job=hung),
    "damaged files": Case({}, 5, job=damaged),
    "an exception in the file of Ray's driver": Case(
        {RAY_DRIVER: "ray.exceptions.RayTaskError(OutOfMemoryError): ray::Worker.train_step() (pid=5013, ip=10.1.0.2, "
                     f"actor_id=1f)\n  raise value\n{jobs.MEMORY}\n"},
        13, says=("CUDA out of memory",), job=jobs.ray_job,
    ),
    "an actor that died": Case(
        {RAY_DRIVER: DIED},
        3,
        says=(
            f"after {jobs.stamp(14, '%H:%M:%S')}:",
            "; worker exit type SYSTEM_ERROR: Worker unexpectedly exits with a connection error code 2. End of file",
        ),
        job=jobs.ray_job,
    ),
    "memory that Ray watches": Case(
        {RAY_DRIVER: FULL},
        9, "10.1.0.2", ("957.08GB / 1007.20GB",), job=jobs.ray_job,
    ),
    "torchrun alone names a killed rank": Case(
        one("step 1 loss 0.5\nE1122 api.py:874] failed (exitcode: -9) local_rank: 1 (pid: 4005) of binary: python\n"
            + agents(block(5, -9))),
        5, "n02", ("rank 5 (n02, local rank 1) at 10:01:00: Signal 9 received by PID 4005",),
    ),
    "an aborted rank is no cause": Case(
        one(f"{DEVICES}[rank3]: {jobs.MEMORY}\n" + agents(block(3, 1, "n01", NO_TRACEBACK), block(6, -6))),
        3, "n01", ("CUDA out of memory",),
    ),
    "a traceback within a block": Case(
        one(DEVICES + agents(block(2, 1, "n01", 'Traceback (most recent call last):\n    File "train.py", line 5\n'
                                                "  ValueError: no tokens in shard 7\n  "))),
        2, says=("ValueError: no tokens in shard 7",),
    ),
    "an exit code without a reason is a guess": Case(
        one(DEVICES + agents(block(2, 1, "n01", NO_TRACEBACK))),
        2, says=("perhaps rank 2 (n01, local rank 2) at 10:01:00: exit code 1; no line says why",),
    ),
    "a task that starts several ranks": Case(
        one(f"{DEVICES}W1122 10:00:00 torch/distributed/elastic/agent.py:1] restarting\nsrun: error: n02: task 1: "
            f"{CRASHED}\n"),
        None, "n02",
    ),
    "a gradient that is not a number": Case(
        one(f"{DEVICES}AssertionError: Rank 6: found NaN in local grad norm in backward pass before data-parallel "
            "communication collective. Device: 2, node: n02\n"),
        6, "n02",
    ),
    "a result that is not a number": Case(
        one(f"{DEVICES}RuntimeError: Rank 6, node n02, device 2, iteration 9: Unexpected result nan (message='NaN')\n"),
        6, "n02",
    ),
    **{
        f"a rank in the prefix {head}": Case(
            one("".join(head.format(rank // 4, rank) + "using device\n" for rank in range(8)) * 2
                + f"{head.format(1, 6)}ValueError: no tokens\n"),
            6, node, time=time,
        )
        for head, node, time in (
            ("n{0}: [rank{1}]: ", "n1", None), ("[rank: {1}] ", "", None),
            ("2026-03-05T10:00:00.123456789Z stderr F [rank{1}]: ", "", 1772704800.123456789),
        )
    },
    **{
        line: Case(one(f"{DEVICES}{line}\nsrun: error: n02: tasks 0-4,6-7: Terminated\n"), rank, node)
        for line, rank, node in (
            (f"srun: error: n01: task 5: {CRASHED}", 5, "n01"),
            ("srun: error: n01: task 5: Exited with exit code 139", 5, "n01"),
            ("srun: error: n01: task 5: Out Of Memory", 5, "n01"),
            ("srun: error: n01: task 5: Killed", 5, "n01"),
            ("mpirun noticed that process rank 5 with PID 77 on node n01 exited on signal 7 (Bus error).", 5, "n01"),
            ("=   RANK 5 PID 77 RUNNING AT n01\n=   KILLED BY SIGNAL: 9 (Killed)", 5, "n01"),
            ("=   RANK 5 PID 77 RUNNING AT n01\n=   EXIT CODE: 139", 5, "n01"),
            ("[rank: 5] Child process with PID 77 terminated with code -9. Forcefully terminating all others", 5, ""),
            ("n01: [ERROR] [launch.py:341:sigkill_handler] ['--local_rank=3'] exits with return code = -9", None, ""),
        )
    },
    "behind in the group that waited first": Case(  # rank 5 stops before a collective of its pair, then all miss both
        one(DEVICES + timeouts([4], PAIR, "ALLREDUCE", 700, 91) + dump(5, PAIR, 1)
            + timeouts((0, 1, 2, 3, 6, 7), DEFAULT, "ALLGATHER", 705, 95)),
        5, says=("never joined collective 91 (ALLREDUCE) of group 22",), silent=(5,),
    ),
    "operations that do not match": Case(
        one(DEVICES + timeouts([2], DEFAULT, "BROADCAST", 700, 92)
            + timeouts((0, 1, 3, 4, 5, 6, 7), DEFAULT, "ALLREDUCE", 700, 92)),
        2, says=("rank 2 called BROADCAST of 8 as number 91, 7 ALLREDUCE of 8",), rule="mismatch",
    ),
    "a report about a desynchronisation": Case(
        one(DEVICES + timeouts(range(8), "0", "ALLREDUCE", 700, 92) + desync("3")),
        3, rule="desync report",
        says=("rank 3 joined but didn't finish collective #90, by torch's report; 7 ranks waited 10 m (1.2 GPU",),
    ),
    "a report about all ranks": Case(
        one(DEVICES + timeouts(range(8), "0", "ALLREDUCE", 700, 92) + desync("0,1,2,3,4,5,6,7")),
        None, says=("cannot tell: 8 of 8 ranks timed out",),
    ),
    "a watchdog without progress": Case(
        one(f"{DEVICES}[rank5]:[F0305 10:11:41.1 ProcessGroupNCCL.cpp:1557] ProcessGroupNCCL's watchdog got stuck for "
            "480 seconds without making progress in monitoring enqueued collectives.\n"),
        5, says=("perhaps rank 5: its NCCL watchdog made no progress for 480 s",),
    ),
}  # fmt: skip


def verdict(job: Path) -> JobRanks:
    ranks = jobs.read_ranks(job)
    assert ranks is not None
    return ranks


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cause_of_a_failure(tmp_path: Path, case: Case) -> None:
    case.job(tmp_path)
    for name, text in case.files.items():
        jobs.write(tmp_path / name, text)
    report = verdict(tmp_path)
    cause = report.root_cause
    assert cause is not None
    assert cause.rank == case.rank
    assert case.node in (None, cause.node)
    assert case.rule in (None, cause.rule)
    assert [part for part in case.says if part not in cause.text] == []
    assert case.time in (None, cause.time)
    assert not cause.resolved
    assert report.silent == case.silent
    if "CUDA out of memory" in cause.evidence:
        assert cause.place is not None
        lines = (tmp_path / cause.place.path).read_text(errors="replace").splitlines()
        assert lines[cause.place.line - 1].endswith(cause.evidence)


@pytest.mark.parametrize("rank", [None, 9])
def test_rank_that_computes_longer(tmp_path: Path, rank: int | None) -> None:
    """By the times across ranks of Megatron."""
    jobs.slurm_job(tmp_path)
    text = ""
    for step in range(10, 400, 10):
        text += f" [{jobs.stamp(step)}] iteration {step:8}/ 500 | lm loss: 2.0 | \ntimes across ranks (ms):\n"
        for name, slow in (("forward-compute", 480), ("forward-backward", 990)):
            times = [slow if n == rank and step > 150 else 310 + n % 3 for n in range(16)]
            text += f"  {name}:\n" + "".join(f"     rank {n:2}: {time:.2f}\n" for n, time in enumerate(times))
    jobs.write(jobs.slurm_log(tmp_path, 15, "out"), text)
    assert [straggler.rank for straggler in verdict(tmp_path).stragglers] == ([] if rank is None else [rank])


def test_actor_of_ray_that_computes_longer(tmp_path: Path) -> None:
    found = verdict(jobs.ray_job(tmp_path, slow=7)).stragglers
    assert [(straggler.rank, straggler.since) for straggler in found] == [(7, 6)]


def test_job_in_step_has_no_cause_unless_a_rank_stays_behind(tmp_path: Path) -> None:
    job = verdict(jobs.torchrun_job(tmp_path))
    assert (len(job.rows), job.root_cause, job.stragglers, job.silent) == (16, None, (), ())
    for rank in range(15):
        path = tmp_path / f"rank_metrics/rank_{rank:03}.jsonl"
        jobs.write(path, f'{{"step": 23, "rank": {rank}, "loss": 2.0}}\n')
    assert verdict(tmp_path).root_cause is None, "the job goes on"
    jobs.write_long_ago(tmp_path)
    cause = verdict(tmp_path).root_cause
    assert cause is not None
    assert cause.rank == 15


def test_a_failure_after_which_the_job_was_restarted_is_history(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path, 25)
    jobs.torchrun_error(tmp_path, 13, 50, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered")
    first = verdict(tmp_path)
    assert [row.state for row in first.rows] == ["failed", *["ended"] * 15]
    report = verdict(jobs.torchrun_job(tmp_path, 36, begin=21, at=100, attempt=1))
    assert report.restart == "failed once: rank 13 on node02 failed (ECC) at step 25; the job went on"
    assert report.problems == ()
    row = report.rows[0]
    assert (row.rank, row.state, "attempt_0" in row.path) == (13, "recovered", True)
    assert {row.state for row in report.rows[1:]} == {"run"}


@pytest.mark.parametrize(
    "form", ["[Epoch {0}/30] loss 0.5", '  "rank": {0},', "{0}: loss 0.5", "epoch{0}: loss 0.5", ""]
)
def test_lines_and_files_that_count_something_else_are_no_ranks(tmp_path: Path, form: str) -> None:
    for number in range(1, 30):
        if form:
            jobs.write(tmp_path / "train.log", form.format(number) + "\n")
        else:
            jobs.write(tmp_path / f"sweep_{number}.log", f"step: 1 loss: {number}.0\n")
    assert jobs.read_ranks(tmp_path) is None


def test_words_of_launchers_and_names_of_groups_by_version() -> None:
    no_step = "srun: error: Unable to create step for job 77: Invalid generic resource (gres) specification"
    assert exit_of(no_step) is exit_of("exits with care") is None
    assert numbers("0-2,6,x-3") == [0, 1, 2, 6]
    groups = {
        "[PG 0 Rank 3] Timeout": "",
        "[PG 1 Rank 3] Timeout": "1",
        "[PG 0 (default_pg) Rank 3] x": "",
        "[PG ID 1PG GUID 20(mesh_tp)  Rank 1] x": "20",
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] x": "",
        "no group": "",
    }
    assert {line: group_of(line) for line in groups} == groups
    lagging = lagging_ranks("ranks [4, 7] are the lagging ranks that caused this timeout.")
    assert lagging == ([4, 7], "never joined any collective")
