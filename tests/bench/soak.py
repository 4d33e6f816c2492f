"""Hours of training in minutes: logs grow at 100 times the usual pace, are rewritten, rotated, deleted and resumed.

    python -m tests.bench.soak [--minutes 10] [--pace 100] [--json PATH]

The dashboard runs on a terminal of its own and is looked at every few seconds: resident memory, descriptors, threads
and watches of both processes. Nine tenths of the time the logs are written to, in the last tenth they are left alone.
What must be true: of descriptors, threads and watches there are no more in the last third than in the first, memory
does not grow while nothing is written, and while something is, it grows with the points that are new. A usual run
writes a row a second; it saves its JSON document every minute, a checkpoint and a rotated log every ten, and is begun
again every hour.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tests.bench import _corpora
from tests.bench._dashboard import Dashboard
from tests.bench._screen_rows import drawn

NAMES = _corpora.tags(20)
EVENTS = "events.out.tfevents.{}.host"
SAVE, CHECKPOINT, RESTART = 60, 600, 3600
"""Seconds of the run's own time."""
QUIET = 0.1
KEEP = 3
"""Checkpoints, as save_total_limit keeps them."""


@dataclass(frozen=True, slots=True)
class Look:
    """The two processes at one moment."""

    second: float
    points: int
    """Written so far, what was written again counted once more."""
    memory: float
    """MB resident, both."""
    descriptors: int
    threads: int
    watches: int
    cpu: float
    """Seconds so far."""


class Job:
    """What one training writes, step by step of a second each."""

    def __init__(self, folder: Path) -> None:
        self._events, self._lines = folder / "ppo", folder / "sft"
        self._document, self._brief = folder / "grpo" / "training_log.json", folder / "brief"
        for directory in (self._events, self._lines, self._document.parent):
            directory.mkdir(parents=True)
        self._attempt = 0
        self.points = 0

    def step(self, second: int) -> None:
        now = time.time()
        if second % RESTART == 0:  # resumed: another event file, a log that begins again some steps back
            self._attempt += 1
            (self._events / EVENTS.format(self._attempt)).write_bytes(b"")
            first = _corpora.step_records(NAMES, max(0, second - 200), now)
            self._append(self._events / EVENTS.format(self._attempt), b"".join(first), len(NAMES))
        records = b"".join(_corpora.step_records(NAMES, second, now))
        self._append(self._events / EVENTS.format(self._attempt), records, len(NAMES))
        row = _corpora.row(NAMES[:5], second, [float(np.sin(second / 50 + i)) for i in range(5)], now)
        self._append(self._lines / "metrics.jsonl", row.encode(), 5)
        if second % SAVE == 0:
            rows = 200 + second // SAVE % 100
            _corpora.write_document(self._document.with_suffix(".new"), rows)
            os.replace(self._document.with_suffix(".new"), self._document)
            self.points += 7
        if second % CHECKPOINT == 0:
            self._save_checkpoint(second)
            self._rotate()
            self._begin_brief_run(second)

    def _append(self, path: Path, data: bytes, points: int) -> None:
        with path.open("ab") as file:
            file.write(data)
        self.points += points

    def _save_checkpoint(self, second: int) -> None:
        directory = self._lines / f"checkpoint-{second}"
        directory.mkdir()
        rows = [{"step": at, "loss": 1.0 / (at + 1), "epoch": at / 100} for at in range(0, second, 10)][-500:]
        (directory / "trainer_state.json").write_text(json.dumps({"global_step": second, "log_history": rows}))
        (directory / "model.safetensors").write_bytes(bytes(1000))
        self.points += len(rows)
        kept = sorted(self._lines.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        for old in kept[:-KEEP]:
            shutil.rmtree(old)

    def _rotate(self) -> None:
        """As logrotate does: the log is moved away, and another one of that name begun."""
        log = self._lines / "metrics.jsonl"
        os.replace(log, self._lines / "metrics.jsonl.1")

    def _begin_brief_run(self, second: int) -> None:
        """A directory that comes and goes."""
        shutil.rmtree(self._brief, ignore_errors=True)
        self._brief.mkdir()
        _corpora.write_rows(self._brief / "metrics.jsonl", NAMES[:3], 100, time.time())
        self.points += 300


def look(dashboard: Dashboard, job: Job) -> Look:
    processes = dashboard.processes
    return Look(
        time.monotonic() - dashboard.started,
        job.points,
        dashboard.memory()[1],
        sum(process.num_fds() for process in processes),
        sum(process.num_threads() for process in processes),
        dashboard.watches(),
        dashboard.cpu(),
    )


def soak(folder: Path, seconds: float, pace: float) -> list[Look]:
    job, looks = Job(folder), []
    job.step(0)
    with Dashboard([folder]) as dashboard:
        dashboard.until(drawn)
        begun, second = time.monotonic(), 1
        every = max(seconds / 60, 2.0)
        while (now := time.monotonic() - begun) < seconds:
            while second < now * pace and now < seconds * (1 - QUIET):
                job.step(second)
                second += 1
            dashboard.pump(0.05)
            if now >= len(looks) * every:
                looks.append(look(dashboard, job))
                print(line(looks[-1]), flush=True)
    return looks


def line(one: Look) -> str:
    return (
        f"{one.second:8.0f} {one.points:10d} {one.memory:9.1f} {one.descriptors:7d} {one.threads:8d} {one.watches:8d}"
        f" {one.cpu:8.1f}"
    )


def verdicts(looks: list[Look], seconds: float) -> list[tuple[str, bool]]:
    """What is true of the looks, in words."""
    busy = [one for one in looks if one.second < seconds * (1 - QUIET)]
    settled, quiet = busy[len(busy) // 3 :], [one for one in looks if one.second > seconds * (1 - QUIET / 2)]
    grown = quiet[-1].memory - quiet[0].memory
    said = [(f"while nothing is written, memory grows by {grown:.2f} MB", grown < 1.0)]
    for name in ("descriptors", "threads", "watches"):  # they come and go with the directories of checkpoints
        values = [int(getattr(one, name)) for one in looks]
        early, late = max(values[: len(values) // 3]), max(values[2 * len(values) // 3 :])
        text = f"{name}: {min(values)} to {max(values)}, at most {early} in the first third and {late} in the last"
        said.append((text, late <= early))
    points = np.array([one.points for one in settled], np.float64)
    slope = float(np.polyfit(points, [one.memory * 1e6 for one in settled], 1)[0])
    said.append((f"{slope:.0f} B of resident memory for each point that was written", slope < 100))
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="(10; the whole soak takes 120)")
    parser.add_argument("--pace", type=float, default=100.0, help="seconds of the run a second")
    parser.add_argument("--json", type=Path, metavar="PATH")
    options = parser.parse_args()
    print(f"{'second':>8} {'points':>10} {'RSS, MB':>9} {'descr.':>7} {'threads':>8} {'watches':>8} {'CPU, s':>8}")
    with tempfile.TemporaryDirectory(prefix="soak") as folder:
        looks = soak(Path(folder), options.minutes * 60, options.pace)
    said = verdicts(looks, options.minutes * 60)
    for text, good in said:
        print(f"{'ok ' if good else 'NOT'} {text}")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in looks], indent=1))
    return 0 if all(good for _, good in said) else 1


if __name__ == "__main__":
    sys.exit(main())
