"""Write the logs of jobs of many ranks, as launchers and frameworks leave them."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime
from pathlib import Path

from tuimon.model.ranks import JobRanks
from tuimon.monitor.local import LocalMonitor

RANKS = 16
MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.1 GiB"
)
PEER = "RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:4545"
START = datetime(2026, 3, 5, 10, 0, 0).timestamp()


def read_ranks(directory: Path) -> JobRanks | None:
    """Return the ranks of the only job below `directory`, or in a file; None if fewer than two are named."""
    monitor = LocalMonitor([directory])
    monitor.read()
    found = [run.ranks for run in monitor.snapshot().runs if run.ranks is not None]
    assert len(found) < 2
    return found[0] if found else None


def stamp(seconds: float, form: str = "%Y-%m-%d %H:%M:%S,000") -> str:
    return datetime.fromtimestamp(START + seconds).strftime(form)


def watchdog(rank: int, seconds: float, enqueued: int) -> str:
    """Return what NCCL's watchdog of a rank prints at a timeout of 600 s."""
    head = f"[rank{rank}]:[E{stamp(seconds, '%m%d %H:%M:%S')}.5 ProcessGroupNCCL.cpp:683]"
    work = (
        "WorkNCCL(SeqNum=91, OpType=ALLGATHER, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600018 milliseconds"
    )
    return (
        f"{head} [Rank {rank}] Watchdog caught collective operation timeout: {work} before timing out.\n"
        f"{head} [PG ID 0 PG GUID 0(default_pg) Rank {rank}] failure detected by watchdog at work sequence id: 91 "
        f"PG status: last enqueued work: {enqueued}, last completed work: 90\n"
    )


def write(path: Path, text: str) -> Path:
    """Append to a file, whose directories are made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        stream.write(text)
    return path


def write_long_ago(job: Path) -> None:
    """Set the time of all files of a job to ten minutes ago."""
    moment = time.time() - 600
    for path in job.rglob("*"):
        os.utime(path, (moment, moment))


def slurm_log(job: Path, rank: int, kind: str = "err") -> Path:
    return job / f"logs/pre-77001_n{rank // 8 + 1:02}_{rank}.{kind}"


def slurm_job(job: Path, ranks: int = RANKS) -> Path:
    """Write the per-task files of a job that began."""
    for rank in range(ranks):
        write(slurm_log(job, rank), f"[rank{rank}]: using device cuda:{rank % 8}\n")
        place = f"(n{rank // 8 + 1:02}, local rank {rank % 8})"
        write(slurm_log(job, rank, "out"), f"> initializing torch distributed on rank {rank} of {ranks} {place} ...\n")
    write(job / "slurm-77001.out", f"WORLD_SIZE={ranks}\n")
    return job


def agent_directory(job: Path, rank: int, attempt: int = 0) -> Path:
    """Return torchrun's directory of a process; its agents have random names and number local ranks only."""
    return job / f"torchrun_logs/run9_{'ab12cd34' if rank < 8 else 'zz90yy81'}/attempt_{attempt}/{rank % 8}"


def torchrun_job(job: Path, steps: int = 22, begin: int = 1, at: float = 0.0, attempt: int = 0) -> Path:
    """Write the logs and the metrics of a world of 16 ranks on two nodes that trains up to a step."""
    for rank in range(RANKS):
        node, text, rows = f"node0{rank // 8 + 1}", "", ""
        for step in range(begin, steps + 1):
            moment = at + (step - begin) * 2
            text += f"[{stamp(moment)}][{node}][rank{rank}] INFO step: {step:2}  loss: 2.5  compute: 0.31{rank % 3}s\n"
            row = {
                "step": step,
                "rank": rank,
                "time": START + moment,
                "loss": 2.5,
                "compute_time": 0.31 + rank % 3 / 1e3,
            }
            rows += json.dumps(row) + "\n"
        write(agent_directory(job, rank, attempt) / "stderr.log", text)
        write(agent_directory(job, rank, attempt) / "stdout.log", "")
        write(job / f"rank_metrics/rank_{rank:03}.jsonl", rows)
    return job


def torchrun_error(job: Path, rank: int, seconds: float, message: str, attempt: int = 0) -> None:
    """Write the traceback and the error.json of a process that failed."""
    lines = [
        "Traceback (most recent call last):",
        '  File "train.py", line 5, in main',
        f"    raise {message}",
        message,
    ]
    directory = agent_directory(job, rank, attempt)
    write(directory / "stderr.log", "".join(f"[rank{rank}]: {line}\n" for line in lines))
    extra = {"py_callstack": "", "timestamp": str(int(START + seconds))}
    short = message.removeprefix("torch.")
    write(directory / "error.json", json.dumps({"message": {"message": short, "extraInfo": extra}}))


def ray_logs(job: Path, rank: int) -> Path:
    return job / f"10.1.0.{rank // 8 + 1}/session_latest/logs"


def ray_job(job: Path, slow: int | None = None) -> Path:
    """Write the workers' files of an actor group on two nodes, with their ranks in the lines only."""
    for rank in range(RANKS):
        head = f"[sgd.py (9)] [INFO] [actor_train {rank} / 16][PID {5000 + rank}]"
        text = ":job_id:01000000\n:actor_name:Worker\n"
        for step in range(1, 15):
            seconds = 0.31 if rank == slow and step > 5 else 0.15 + rank % 4 / 1000
            text += f"[{stamp(step)}] {head} train_step {step}: loss 1.0 grad_norm 0.4 time {seconds} s\n"
        write(ray_logs(job, rank) / f"worker-{rank:056x}-01000000-{5000 + rank}.err", text)
    return job
