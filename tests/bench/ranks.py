"""Measure what the ranks of a large job cost: the first verdict, and the following of files that grow.

    python -m tests.bench.ranks [RANKS] [KIB]

Writes RANKS files (default 512) of KIB (default 430) in a temporary directory, with one rank that is 50 % slower from
step 40 on, and reads them as the reader process does, at `ulimit -n 256`. Printed: CPU seconds of the first report and
of looks after each file has grown by 2 kB, for metrics, for the lines about ranks and for the report; peak memory; and
the share of a core that following the ranks costs at one look in two seconds.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from tuimon.model.points import Item
from tuimon.reader import Collector
from tuimon.reader.follow import Followed
from tuimon.reader.rank_jobs import SHARE, RankJobs

_SLOW_SINCE = 40


def write_job(directory: Path, ranks: int, kib: int) -> int:
    """Write a log for each rank, of eight ranks a node, and return the rank that is slow."""
    slow, noise = ranks * 2 // 3, random.Random(3)
    directory.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        lines: list[str] = []
        size = 0
        while size < kib * 1024:
            lines.append(line(rank, len(lines) + 1, 1.5 if rank == slow else 1.0, noise))
            size += len(lines[-1])
        path_of(directory, rank).write_text("".join(lines))
    return slow


def path_of(directory: Path, rank: int) -> Path:
    return directory / f"pre-77-node{rank // 8 + 1:02}-{rank}.err"


def line(rank: int, step: int, factor: float, noise: random.Random) -> str:
    own = 0.31 * noise.gauss(1, 0.01) * (factor if step > _SLOW_SINCE else 1.0)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(1_790_000_000 + step))
    head = f"[{stamp},000][node{rank // 8 + 1:02}][rank{rank}] INFO"
    numbers = f"loss: {2 + 1 / step:.5f}  grad_norm: 0.8751  memory: 61.25GiB(77.43%)  step_time: 0.5s"
    return f"{head} step: {step:2}  {numbers}  compute: {own:.3f}s\n"


class _Timed(RankJobs):
    """Notes the CPU seconds that the lines take."""

    spent = 0.0

    def taken(self, log: Followed, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            begin = time.process_time()
            others = list(super().taken(log, [item]))
            self.spent += time.process_time() - begin
            yield from others


def main(ranks: int = 512, kib: int = 430) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        slow = write_job(directory, ranks, kib)
        collector = Collector([temporary])
        jobs = collector.ranks
        jobs.__class__ = _Timed
        assert isinstance(jobs, _Timed)
        list(collector.find())

        def look(name: str) -> tuple[float, float, float]:
            jobs.spent, begin = 0.0, time.process_time()
            list(collector.read())
            while collector.behind:
                list(collector.read())
            read = time.process_time() - begin - jobs.spent
            begin = time.process_time()
            reports = [event.ranks for event in jobs.events(at_once=True)]
            spent = read, jobs.spent, time.process_time() - begin
            named = ", ".join(f"rank {straggler.rank}" for straggler in reports[0].stragglers) if reports else "-"
            print(f"{name:24}{'{:8.2f} s{:8.2f} s{:8.2f} s'.format(*spent)}   slow: {named}", flush=True)
            return spent

        print(f"{ranks} files, {ranks * kib / 1024:.0f} MiB; rank {slow} is slow; CPU of metrics, lines, report")
        look("first report")
        look("no change")
        noise, looks = random.Random(5), 5
        spent = []
        for number in range(looks):
            for rank in range(ranks):
                with path_of(directory, rank).open("a") as stream:
                    for step in range(12):
                        stream.write(line(rank, 100_000 + 12 * number + step, 1.5 if rank == slow else 1.0, noise))
            spent.append(look("2 kB more in each file"))
        _, lines, report = (sum(column) / looks / 2 for column in zip(*spent, strict=True))
        share = lines + min(report, SHARE)
        print(f"following the ranks at 1 kB/s a file: {share:.1%} of a core with a look in 2 s")
        print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
