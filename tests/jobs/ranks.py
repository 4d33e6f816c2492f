"""The logs that each rank of a job on two nodes writes, with one rank that is slow or fails."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support import rank_jobs

from tests.jobs.trainers import Attempt, append, stamp


@dataclass(frozen=True)
class RankTruth:
    """What is true of the ranks of a job; -1 where no rank is slow or has failed."""

    count: int = rank_jobs.RANKS
    slow: int = -1
    since: int = 0
    failed: int = -1


def random_ranks(rng: np.random.Generator, last: int, crashes: bool) -> RankTruth:
    """Return a job with a rank that failed if the job crashes, else with a slow rank in half of the cases."""
    rank = int(rng.integers(rank_jobs.RANKS))
    if crashes:
        return RankTruth(failed=rank)
    return RankTruth(slow=rank, since=int(last * rng.uniform(0.3, 0.6))) if rng.random() < 0.5 else RankTruth()


def write_ranks(root: Path, attempt: Attempt, truth: RankTruth, rng: np.random.Generator) -> None:
    """Write the output and the timers of every rank."""
    own = rng.uniform(0.5, 0.6) * np.exp(0.03 * rng.standard_normal((truth.count, attempt.last + 1)))
    own[truth.slow, truth.since :] *= 1.35 if truth.slow >= 0 else 1
    for rank in range(truth.count):
        text, rows = "", ""
        for step in range(attempt.first, attempt.last + 1):
            wall, seconds = float(attempt.wall[step - 1]), own[rank, step]
            head = f"[{stamp(wall)},000][node0{rank // 8 + 1}][rank{rank}] INFO"
            text += f"{head} step: {step:2}  compute: {seconds:.3f}s\n"
            row = {"step": step, "rank": rank, "time": wall, "compute_time": float(seconds)}
            rows += json.dumps(row) + "\n"
        append(rank_jobs.agent_directory(root, rank) / "stderr.log", text)
        append(root / f"rank_metrics/rank_{rank:03}.jsonl", rows)
    if truth.failed >= 0:
        begin = float(attempt.wall[attempt.last - 1]) - rank_jobs.START
        rank_jobs.torchrun_error(root, truth.failed, begin + 1, rank_jobs.MEMORY)
        for rank in set(range(truth.count)) - {truth.failed}:
            rank_jobs.torchrun_error(root, rank, begin + 4, rank_jobs.PEER)
