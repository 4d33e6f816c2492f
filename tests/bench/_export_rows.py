"""Rows about commands without a screen: summary and exports of a large event file, and tbparse with pandas.

Each runs in a separate process. Memory is the peak of the whole process, with its interpreter and libraries.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path

from tests.bench import _corpora
from tests.bench._row import Row, missing

NAME = "events.out.tfevents.1795226051.host.1.0"
TAGS = 50
_SUMMARY = """
import sys, tbparse
table = tbparse.SummaryReader(sys.argv[1], extra_columns={"wall_time"}).scalars
print(table.groupby("tag").value.agg(["count", "last", "min", "max", "mean", "std"]).to_string())
"""
_EXPORT = """
import sys, tbparse
tbparse.SummaryReader(sys.argv[1], extra_columns={"wall_time"}).scalars.to_csv(sys.argv[2], index=False)
"""
_LAUNCH = """
import json, os, sys
quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet), 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
"""A process begins with the peak of the one that starts it: the benchmark's own would be taken for the command's."""
_FORMATS = ("csv", "jsonl", "parquet")


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a process."""

    seconds: float
    """CPU time, its own and the system's."""
    mebibytes: float
    """Resident at its peak."""


def cost(command: Sequence[str]) -> Cost:
    """Run a command and measure it; its output is discarded."""
    process = subprocess.run([sys.executable, "-S", "-c", _LAUNCH, *command], check=True, stdout=subprocess.PIPE)
    status, seconds, mebibytes = json.loads(process.stdout)
    assert status == 0, command
    return Cost(seconds, mebibytes)


def tuimon(*words: str) -> Cost:
    return cost([sys.executable, "-m", "tuimon", *words])


def rows(folder: Path, full: bool) -> Iterator[Row]:
    million = folder / "1M"
    million.mkdir()
    _corpora.write_events(million / NAME, _corpora.tags(TAGS), 1_000_000 // TAGS)
    peers = importlib.util.find_spec("tbparse") is not None
    yield from compared(
        "summary of 1M events",
        tuimon("summary", str(million)),
        cost([sys.executable, "-W", "ignore", "-c", _SUMMARY, str(million)]) if peers else None,
        2.0,
    )
    target = str(folder / "points.csv")
    theirs = cost([sys.executable, "-W", "ignore", "-c", _EXPORT, str(million), target]) if peers else None
    ours = tuimon("export", str(million), "--by-source", "-o", target, "--force")
    yield from compared("export of 1M points as CSV", ours, theirs, 3.0)
    joined = tuimon("export", str(million), "-o", target, "--force")
    count = 10_000_000 if full else 4_000_000
    large = folder / "large"
    large.mkdir()
    _corpora.write_events(large / NAME, _corpora.tags(TAGS), count // TAGS)
    times = count // 1_000_000
    for name in _FORMATS:
        for way, least in (("--by-source", ours), ("curves", joined)):
            where = folder / f"large.{name}"
            result = tuimon("export", str(large), *([way] if way.startswith("-") else []), "-o", str(where))
            size = where.stat().st_size / 2**20
            where.unlink()
            against = f"{result.mebibytes:.0f} MiB resident, {size:.0f} MiB written"
            if name == "csv":
                against += f"; memory x{result.mebibytes / least.mebibytes:.2f} for {times} times the points"
            per_point = result.seconds / count * 1e6
            what = f"export of {times}M points as {name}, {way.lstrip('-').replace('-', ' ')}"
            yield Row(what, per_point, "us CPU a point", 2.0, 1.0, against=against)


def compared(what: str, ours: Cost, theirs: Cost | None, least: float) -> Iterator[Row]:
    """CPU time and memory, each beside the peer's."""
    if theirs is None:
        yield Row(what, ours.seconds, "s CPU", least, least / 2, against="tbparse is not installed")
        yield missing(what, "tbparse is not installed")
        return
    ratio = f"tbparse + pandas take {theirs.seconds / ours.seconds:.1f} times as long ({theirs.seconds:.1f} s)"
    yield Row(what, ours.seconds, "s CPU", least, least / 2, against=ratio)
    ratio = f"tbparse + pandas take {theirs.mebibytes / ours.mebibytes:.1f} times as much"
    yield Row(f"{what}, memory", ours.mebibytes, "MiB", nan, nan, against=ratio)
