"""Simulate hours of training in minutes: logs grow 100 times as fast, are rewritten, rotated, deleted and resumed.

    python -m tests.bench.soak [--minutes 10] [--pace 100] [--json PATH]

The dashboard runs on a terminal of its own. Every few seconds the resident memory, descriptors, threads and watches of
both processes are sampled. Logs are written for nine tenths of the time and left alone in the last tenth. Required:
no more descriptors, threads and watches in the last third than in the first; constant memory while nothing is written,
and growth in proportion to the new points otherwise. At the usual pace a run writes a row per second, saves its JSON
document every minute, a checkpoint and a rotated log every ten minutes, and is restarted every hour.
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
class Sample:
    """Resource usage of the two processes at one time."""

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
    """Writes the logs of one training, one step per second."""

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
        rows = [{"step": step, "loss": 1.0 / (step + 1), "epoch": step / 100} for step in range(0, second, 10)][-500:]
        (directory / "trainer_state.json").write_text(json.dumps({"global_step": second, "log_history": rows}))
        (directory / "model.safetensors").write_bytes(bytes(1000))
        self.points += len(rows)
        kept = sorted(self._lines.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        for old in kept[:-KEEP]:
            shutil.rmtree(old)

    def _rotate(self) -> None:
        """Move the log away and start another one with the same name, as logrotate does."""
        log = self._lines / "metrics.jsonl"
        os.replace(log, self._lines / "metrics.jsonl.1")

    def _begin_brief_run(self, second: int) -> None:
        """A directory that comes and goes."""
        shutil.rmtree(self._brief, ignore_errors=True)
        self._brief.mkdir()
        _corpora.write_rows(self._brief / "metrics.jsonl", NAMES[:3], 100, time.time())
        self.points += 300


def take_sample(dashboard: Dashboard, job: Job) -> Sample:
    processes = dashboard.processes
    return Sample(
        time.monotonic() - dashboard.started,
        job.points,
        dashboard.memory()[1],
        sum(process.num_fds() for process in processes),
        sum(process.num_threads() for process in processes),
        dashboard.watches(),
        dashboard.cpu(),
    )


def soak(folder: Path, seconds: float, pace: float) -> list[Sample]:
    job, samples = Job(folder), []
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
            if now >= len(samples) * every:
                samples.append(take_sample(dashboard, job))
                print(line(samples[-1]), flush=True)
    return samples


def line(sample: Sample) -> str:
    return (
        f"{sample.second:8.0f} {sample.points:10d} {sample.memory:9.1f} {sample.descriptors:7d} {sample.threads:8d}"
        f" {sample.watches:8d} {sample.cpu:8.1f}"
    )


def verdicts(samples: list[Sample], seconds: float) -> list[tuple[str, bool]]:
    """(requirement in words, is it met?) for the samples."""
    busy = [sample for sample in samples if sample.second < seconds * (1 - QUIET)]
    settled, quiet = busy[len(busy) // 3 :], [sample for sample in samples if sample.second > seconds * (1 - QUIET / 2)]
    grown = quiet[-1].memory - quiet[0].memory
    said = [(f"while nothing is written, memory grows by {grown:.2f} MB", grown < 1.0)]
    for name in ("descriptors", "threads", "watches"):  # they come and go with the directories of checkpoints
        values = [int(getattr(sample, name)) for sample in samples]
        early, late = max(values[: len(values) // 3]), max(values[2 * len(values) // 3 :])
        text = f"{name}: {min(values)} to {max(values)}, at most {early} in the first third and {late} in the last"
        said.append((text, late <= early))
    points = np.array([sample.points for sample in settled], np.float64)
    slope = float(np.polyfit(points, [sample.memory * 1e6 for sample in settled], 1)[0])
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
        samples = soak(Path(folder), options.minutes * 60, options.pace)
    said = verdicts(samples, options.minutes * 60)
    for text, good in said:
        print(f"{'ok ' if good else 'NOT'} {text}")
    if options.json:
        options.json.write_text(json.dumps([asdict(sample) for sample in samples], indent=1))
    return 0 if all(good for _, good in said) else 1


if __name__ == "__main__":
    sys.exit(main())
