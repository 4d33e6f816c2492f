"""Small jobs of the shape of faults that users found: each once drew a wrong point or said a wrong sentence.

FAULTS names each as "faults/ID"; its maker writes the logs into a directory and returns it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from support.event_points import event, records, scalar, version

from tests.corpus.cases import AGE, NOW

Maker = Callable[[Path], Path]
END = NOW - AGE
"""Time of the last row of each job (s since the epoch)."""


def warm_up_then_constant(directory: Path) -> Path:
    """U0: the learning rate rises for 100 steps and is constant since; 1,800 of 3,000 steps are done."""
    rows = [{"train/loss": 2 / (1 + step / 50), "train/lr": 1e-4 * min(1, step / 100)} for step in range(1, 1801)]
    return _job(directory, rows, {"max_steps": 3000})


def killed(directory: Path) -> Path:
    """U1: killed at step 29 of 300; its console ends with a metric line."""
    rows = [{"critic/rewards/mean": 0.2 + step / 300, "actor/lr": 1e-6} for step in range(1, 30)]
    _job(directory, rows, {"total_steps": 300})
    lines = (f"step:{n} - critic/rewards/mean:{row['critic/rewards/mean']:.6f}\n" for n, row in enumerate(rows, 1))
    (directory / "train.out").write_text("Training for 300 steps\n" + "".join(lines))
    return directory


def at_sign(directory: Path) -> Path:
    """U2: tensorboardX writes the @ of a name as _, JSON lines as it is."""
    rows = [{"reward": step / 100, "val-core/gsm8k/acc/mean@1": 0.5 + step / 500} for step in range(1, 41)]
    _job(directory, rows)
    _events(directory / "tb", [{name.replace("@", "_"): value for name, value in row.items()} for row in rows])
    return directory


def resumed_bars(directory: Path) -> Path:
    """U6: three attempts, each a bar and a row of its own line for each step: 1-57, 51-112 and 101-200."""
    directory.mkdir(parents=True, exist_ok=True)
    for job, (first, last) in enumerate(((1, 57), (51, 112), (101, 200))):
        text = "".join(
            f"{100 * step // 200:3d}%|{'#' * (step // 20):<10}| {step}/200 [00:{step % 60:02d}<01:00, 20.00it/s]\n"
            f"{{'loss': {2 / (1 + step / 50):.4f}, 'learning_rate': 1e-05}}\n"
            for step in range(first, last + 1)
        )
        (directory / f"slurm-{123 + job}.out").write_text(text)
    return directory


def flushed_late(directory: Path) -> Path:
    """U7: constant values, in event files (float32) up to step 90 and in JSON lines up to step 100."""
    rows = [{"critic/rewards/mean": 0.2 + step * 0.003, "perf/max_memory_reserved_gb": 74.2} for step in range(1, 101)]
    _job(directory, rows)
    _events(directory / "tb", rows[:90])
    return directory


def slow_steps(directory: Path) -> Path:
    """U9: 10 s a step, 700 of 1,400 steps; only the steps 500 and 501 took longer, by 50 and 80 s."""
    rows = [{"loss": 2 / (1 + step / 50)} for step in range(1, 701)]
    return _job(directory, rows, {"max_steps": 1400}, [10 + {500: 50, 501: 80}.get(step, 0) for step in range(1, 701)])


def slow_start(directory: Path) -> Path:
    """U9: 10 s a step; only the steps 2 and 3 took longer, by 200 and 100 s, as the model was compiled."""
    rows = [{"loss": 2 / (1 + step / 50)} for step in range(1, 701)]
    return _job(directory, rows, {"max_steps": 1400}, [10 + {2: 200, 3: 100}.get(step, 0) for step in range(1, 701)])


def console_word(directory: Path) -> Path:
    """P1: the console prints a reward every ten steps; the tracker's reward collapses from step 240 on."""
    rows = [{"critic/rewards/mean": _collapsing(step), "actor/loss": 0.4 - step / 1000} for step in range(300)]
    _job(directory, rows, first=0)
    lines = (f"step:{n} - reward:{rows[n]['critic/rewards/mean']:.3f}\n" for n in range(0, 300, 10))
    (directory / "train.log").write_text("".join(lines))
    return directory


def plateau(directory: Path) -> Path:
    """H46: a loss that has fallen stays on a level with autocorrelated noise (AR 0.9)."""
    noise, values = 0.0, []
    random = np.random.default_rng(46)
    for step in range(1, 601):
        noise = 0.9 * noise + float(random.normal(0, 0.02))
        values.append({"loss": 0.5 + 0.3 * math.exp(-step / 40) + noise})
    return _job(directory, values)


def rotated_upwards(directory: Path) -> Path:
    """A1: a rotated log whose numbers grow: train.log.1 is the first part."""
    rows = [json.dumps({"step": n, "loss": round(2 / (1 + n / 50), 4)}) + "\n" for n in range(300)]
    directory.mkdir(parents=True, exist_ok=True)
    for name, part in (("train.jsonl.1", rows[:100]), ("train.jsonl.2", rows[100:200]), ("train.jsonl", rows[200:])):
        (directory / name).write_text("".join(part))
    return directory


FAULTS: dict[str, Maker] = {
    "faults/U0": warm_up_then_constant,
    "faults/U1": killed,
    "faults/U2": at_sign,
    "faults/U6": resumed_bars,
    "faults/U7": flushed_late,
    "faults/U9": slow_steps,
    "faults/U9b": slow_start,
    "faults/P1": console_word,
    "faults/H46": plateau,
    "faults/A1": rotated_upwards,
}


def _collapsing(step: int) -> float:
    return 0.7 * min(1.0, step / 60) - 0.7 * max(0.0, (step - 240) / 60) + 0.01 * (step % 7)


def _job(
    directory: Path,
    rows: list[dict[str, float]],
    config: Mapping[str, int] | None = None,
    seconds: Iterable[float] = (),
    first: int = 1,
) -> Path:
    """Write JSON lines, a row a step, with its time, and the settings. seconds: time of each step; 2 s by default."""
    directory.mkdir(parents=True, exist_ok=True)
    times = np.cumsum([*seconds] or [2.0] * len(rows))
    times = (times - times[-1] + END).tolist()
    with (directory / "metrics.jsonl").open("w") as file:
        for step, (time, row) in enumerate(zip(times, rows, strict=True), first):
            file.write(json.dumps({"step": step, "time": time, **row}) + "\n")
    if config is not None:
        (directory / "config.json").write_text(json.dumps(config))
    return directory


def _events(directory: Path, rows: list[dict[str, float]]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    events = [
        event(step, *(scalar(name, value) for name, value in row.items()), wall=END - 2.0 * (len(rows) - step))
        for step, row in enumerate(rows, 1)
    ]
    (directory / f"events.out.tfevents.{END:.0f}.node").write_bytes(b"".join(records([version(), *events])))
