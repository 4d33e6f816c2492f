"""Trainers: the names that each gives its metrics, and how it writes one attempt of a run.

Each writer returns what a perfect reader finds: metric as named in the log -> step -> value, rounded as it was written.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from support import event_points
from support.log_writer import WANDB, field, framed, history
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tests.jobs.learners import Floats, Means

Points = dict[str, dict[int, float]]
"""Metric as named in a log -> step -> value."""


@dataclass
class Attempt:
    """The part of a run between two starts of its program; it did the steps first to last.

    - wall: time at which each step of the run ended. begin, end: when its files were first and last written.
    - resumed: step of the checkpoint that it began with, 0 for none. slow: steps that took much longer than usual.
    - words: what it printed last.
    """

    number: int
    total: int
    first: int
    last: int
    wall: Floats
    begin: float
    end: float
    values: Means
    log_every: int
    eval_every: int
    validation: frozenset[str]
    resumed: int = 0
    slow: tuple[int, ...] = ()
    words: str = ""
    completed: bool = False

    def rows(self, names: dict[str, str]) -> Iterator[tuple[int, float, dict[str, float]]]:
        """Yield (step, wall time, values by the name in the log) of each row."""
        for step in range(self.first, self.last + 1):
            wanted = [
                name for name in names if step % (self.eval_every if name in self.validation else self.log_every) == 0
            ]
            if wanted:
                row = {names[name]: float(self.values[name][step - 1]) for name in wanted}
                yield step, float(self.wall[step - 1]), row


@dataclass(frozen=True)
class Trainer:
    """A trainer, with the name of each metric in its log.

    - file: where it writes below the directory of a run. Attempts append, unless each has a file of its own.
    - says_total, is_console: whether the log has the total of steps, and the words at the end.
    - ends: whether the log says that the training was completed.
    """

    name: str
    domain: str
    file: str
    write: Callable[[Path, Attempt, dict[str, str]], Points]
    names: dict[str, str]
    says_total: bool = False
    is_console: bool = False
    ends: bool = False
    own_files: bool = False


def stamp(wall: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.fromtimestamp(wall).strftime(form)


def noted(points: Points, step: int, row: dict[str, float]) -> None:
    """Add a row to the points."""
    for name, value in row.items():
        points.setdefault(name, {})[step] = value


def append(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(text)


# ---------------------------------------------------------------------- console


def _verl(path: Path, attempt: Attempt, names: dict[str, str]) -> Points:
    head, points = "(TaskRunner pid=31337) ", Points()
    lines = [f"{head}Total training steps: {attempt.total}"]
    if attempt.resumed:
        lines += [f"{head}Resuming from checkpoints/global_step_{attempt.resumed}"]
        lines += [f"{head}Setting global step to {attempt.resumed}"]
    for step, wall, row in attempt.rows(names):
        pairs = " - ".join(f"{name}:{value!r}" for name, value in row.items())
        lines.append(f"{head}step:{step} - {pairs}")
        lines.append(f"{head}Training Progress: {_bar(attempt, step, wall)}")
        noted(points, step, row)
    append(path, "\n".join(lines) + "\n" + attempt.words)
    return points


def _trl(path: Path, attempt: Attempt, names: dict[str, str]) -> Points:
    """A progress bar that is drawn again and again, with dictionaries between."""
    points, text = Points(), ""
    for step, wall, row in attempt.rows(names):
        bar = f"\r{_bar(attempt, step, wall)}"
        rounded = {name: float(f"{value:.4g}") for name, value in row.items()}
        noted(points, step, rounded)
        text += bar
        for is_eval in (False, True):
            if own := {name: value for name, value in rounded.items() if name.startswith("eval_") is is_eval}:
                text += f"\r{' ' * 80}\r{own | {'epoch': round(3 * step / attempt.total, 2)}}\n{bar}"
    text += "\nTraining completed.\n" if attempt.completed else "\n"
    append(path, text + attempt.words)
    return points


def _bar(attempt: Attempt, step: int, wall: float) -> str:
    """Return a progress bar as tqdm draws it: 48%|████      | 145/300 [1:56:53<2:04:56, 48.37s/it]."""
    spent = wall - attempt.begin
    each = spent / (step - attempt.first + 1)
    done = 10 * step // attempt.total
    times = f"{_clock(spent)}<{_clock(each * (attempt.total - step))}, {each:5.2f}s/it"
    return f"{step / attempt.total:4.0%}|{'█' * done:10}| {step}/{attempt.total} [{times}]"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _prints(path: Path, attempt: Attempt, names: dict[str, str]) -> Points:
    """Lines of an own script, with times and rounded values."""
    points, text = Points(), ""
    if attempt.resumed:
        text += f"{stamp(attempt.begin)} INFO resumed from checkpoint-{attempt.resumed}\n"
    for step, wall, row in attempt.rows(names):
        shown = {name: f"{value:.3e}" if name == "lr" else f"{value:.5f}" for name, value in row.items()}
        text += f"{stamp(wall)} INFO step {step}/{attempt.total} "
        text += " ".join(f"{name}={value}" for name, value in shown.items()) + "\n"
        noted(points, step, {name: float(value) for name, value in shown.items()})
    text += f"{stamp(attempt.end)} INFO Training complete.\n" if attempt.completed else ""
    append(path, text + attempt.words)
    return points


# ---------------------------------------------------------------------- files


def _jsonl(path: Path, attempt: Attempt, names: dict[str, str]) -> Points:
    points, text = Points(), ""
    for step, wall, row in attempt.rows(names):
        text += json.dumps({"step": step, "time": wall, **row}) + "\n"
        noted(points, step, row)
    append(path, text)
    return points


def _csv(path: Path, attempt: Attempt, names: dict[str, str]) -> Points:
    points = Points()
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as stream:
        table = csv.DictWriter(stream, ["step", "time", *names.values()], restval="")
        if is_new:
            table.writeheader()
        for step, wall, row in attempt.rows(names):
            table.writerow({"step": step, "time": wall, **row})
            noted(points, step, row)
    return points


def _tensorboard(path: Path, attempt: Attempt, names: dict[str, str]) -> Points:
    """Event files of the real writer, named by the attempt. Their first record has the time at which it wrote them."""
    points = Points()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        writer = EventFileWriter(scratch)
        for step, wall, row in attempt.rows(names):
            values = [event_points.scalar(name, value) for name, value in row.items()]
            writer.add_event(Event(wall_time=wall, step=step, summary=Summary(value=values)))
            noted(points, step, {name: float(np.float32(value)) for name, value in row.items()})
        writer.close()
        (written,) = Path(scratch).iterdir()
        name = f"events.out.tfevents.{int(attempt.begin)}.node1.{4000 + attempt.number}.0"
        shutil.move(written, path.with_name(name))
    return points


def _wandb(path: Path, attempt: Attempt, names: dict[str, str]) -> Points:
    points, run_id = Points(), f"{zlib.crc32(path.parent.parent.name.encode()):08x}"
    setting = field(1, field(1, "max_steps") + field(16, str(attempt.total)))
    start = field(1, int(attempt.begin)) + field(2, 0)
    about = (
        field(1, run_id)
        + field(3, "train")
        + field(4, setting)
        + field(8, path.parent.parent.name)
        + field(13, "node1")
    )
    records = [field(1, 1) + field(17, about + field(17, start))]
    for step, wall, row in attempt.rows(names):
        shown = {"_step": step, "_timestamp": wall, "_runtime": wall - attempt.begin, **row}
        records.append(history(len(records) + 1, {name: json.dumps(value) for name, value in shown.items()}, step))
        noted(points, step, row)
    if attempt.completed:
        records.append(field(1, len(records) + 1) + field(18, field(1, 0)))
    directory = path.parent / f"run-{stamp(attempt.begin, '%Y%m%d_%H%M%S')}-{run_id}"
    directory.mkdir(parents=True)
    (directory / f"run-{run_id}.wandb").write_bytes(framed(WANDB, records))
    return points


# ---------------------------------------------------------------------- names

_VERL = {
    "reward": "critic/score/mean", "val_reward": "val-core/openai/gsm8k/acc/mean@1", "entropy": "actor/entropy",
    "kl": "actor/kl_loss", "grad_norm": "actor/grad_norm", "loss": "actor/pg_loss", "length": "response_length/mean",
    "truncated": "response_length/clip_ratio", "lr": "actor/lr", "step_time": "timing_s/step",
    "memory": "perf/max_memory_allocated_gb",
}  # fmt: skip
_TRL = {
    "reward": "reward", "val_reward": "eval_reward", "entropy": "entropy", "kl": "kl", "grad_norm": "grad_norm",
    "loss": "loss", "length": "completions/mean_length", "truncated": "completions/clipped_ratio",
    "lr": "learning_rate", "dead_groups": "frac_reward_zero_std", "step_time": "step_time",
}  # fmt: skip
_OWN = {
    "reward": "train/reward_mean", "val_reward": "eval/reward_mean", "entropy": "train/entropy", "kl": "train/kl_ref",
    "grad_norm": "train/grad_norm", "loss": "train/policy_loss", "length": "rollout/response_length_mean",
    "truncated": "rollout/truncated_ratio", "dead_groups": "train/frac_reward_zero_std", "lr": "train/lr",
    "step_time": "perf/step_time_s", "memory": "system/gpu_mem_allocated_gb",
}  # fmt: skip
_SFT = {"loss": "loss", "val_loss": "eval_loss", "grad_norm": "grad_norm", "lr": "learning_rate"}
_OWN_SFT = {
    "loss": "train/loss", "val_loss": "val/loss", "grad_norm": "train/grad_norm", "lr": "train/lr",
    "step_time": "perf/step_time_s", "memory": "system/gpu_mem_allocated_gb",
}  # fmt: skip
_SHORT = {
    "reward": "reward", "val_reward": "val_reward", "kl": "kl", "entropy": "entropy", "grad_norm": "grad_norm",
    "length": "response_length", "lr": "lr", "step_time": "step_time",
}  # fmt: skip
_SHORT_SFT = {"loss": "loss", "val_loss": "val_loss", "grad_norm": "grad_norm", "lr": "lr"}

TRAINERS = (
    Trainer("verl", "rl", "train.log", _verl, _VERL, says_total=True, is_console=True),
    Trainer("trl", "rl", "train.log", _trl, _TRL, says_total=True, is_console=True, ends=True),
    Trainer("trl", "sft", "train.log", _trl, _SFT, says_total=True, is_console=True, ends=True),
    Trainer("prints", "rl", "train.log", _prints, _SHORT, says_total=True, is_console=True, ends=True),
    Trainer("prints", "sft", "train.log", _prints, _SHORT_SFT, says_total=True, is_console=True, ends=True),
    Trainer("jsonl", "rl", "metrics.jsonl", _jsonl, _OWN),
    Trainer("jsonl", "sft", "metrics.jsonl", _jsonl, _OWN_SFT),
    Trainer("csv", "rl", "metrics.csv", _csv, _OWN),
    Trainer("csv", "sft", "metrics.csv", _csv, _OWN_SFT),
    Trainer("tensorboard", "rl", "events", _tensorboard, _OWN, own_files=True),
    Trainer("tensorboard", "sft", "events", _tensorboard, _OWN_SFT, own_files=True),
    Trainer("wandb", "rl", "wandb/run", _wandb, _OWN, says_total=True, ends=True, own_files=True),
    Trainer("wandb", "sft", "wandb/run", _wandb, _OWN_SFT, says_total=True, ends=True, own_files=True),
)
"""Rows of trainers; the words at the end of a console are those of the story."""
_TAKEN = ("reward", "val_reward", "length", "truncated", "dead_groups")
ASYNC = {
    "trainer": {name: own for name, own in _OWN.items() if name not in _TAKEN} | {"mismatch_kl": "train/mismatch_kl"},
    "orchestrator": {name: own for name, own in _OWN.items() if name in _TAKEN},
}
"""Asynchronous RL: two programs, each with a log of its own; the orchestrator is some steps ahead."""


def same(one: float, other: float) -> bool:
    """Return whether two values are equal, NaN to NaN, but for the precision of float32."""
    return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=2e-6, abs_tol=1e-12)
