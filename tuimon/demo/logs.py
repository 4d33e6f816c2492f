"""Every log that the run leaves, as real trainers leave them. All are flushed at every step.

metrics.jsonl                    a line a step, with all metrics
training_log.json                config, train_history, val_history, best_checkpoint; rewritten at each validation
log/train.log                    console lines in ROLL's format: all metrics but memory/*
rollouts/STEP.jsonl              the responses of each step that validates
checkpoints/global_step_STEP/    a directory with a note, at each validation
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuimon.demo.curves import Metrics
from tuimon.demo.samples import GROUP, PROMPTS

MADE_UP = "The numbers of this run are made up: nothing is trained. Only the texts and their rewards are computed."


class Logs:
    """Writes the logs of one run."""

    def __init__(self, run: Path, config: Mapping[str, Any]) -> None:
        """run: its directory, which is created."""
        self._run = run
        self.console = _console(run / "log" / "train.log")
        self.console.info(MADE_UP)
        self._lines = (run / "metrics.jsonl").open("w", encoding="utf-8")
        self._document: dict[str, Any] = {
            "config": dict(config), "train_history": [], "val_history": [], "best_checkpoint": None,
        }  # fmt: skip
        self.save()

    def step(self, step: int, metrics: Metrics, wall_time: float) -> None:
        """Write the metrics of a step. wall_time: seconds since the epoch."""
        self._lines.write(json.dumps({"step": step, "timestamp": wall_time, **metrics}) + "\n")
        self._lines.flush()
        names = {"loss": "actor/total_loss", "reward": "critic/score/mean", "kl": "critic/kl", "lr": "actor/lr"}
        entry = _progress(step) | {short: metrics[name] for short, name in names.items()}
        self._document["train_history"].append(entry)
        self.console.info(
            json.dumps({name: value for name, value in metrics.items() if not name.startswith("memory/")})
        )

    def validation(self, step: int, reward: float, samples: list[dict[str, Any]]) -> None:
        """Write a validation, the texts of its step and a checkpoint."""
        (self._run / "rollouts").mkdir(exist_ok=True)
        text = "".join(json.dumps(row) + "\n" for row in samples)
        (self._run / "rollouts" / f"{step}.jsonl").write_text(text, "utf-8")
        checkpoint = self._run / "checkpoints" / f"global_step_{step}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "note.txt").write_text(MADE_UP + "\n", "utf-8")
        entry = _progress(step) | {"val_reward": reward}
        self._document["val_history"].append(entry)
        best = self._document["best_checkpoint"]
        if best is None or reward > best["val_reward"]:
            self._document["best_checkpoint"] = entry | {"path": str(checkpoint)}
        self.console.info(f"val metrics: {entry}")
        self.save()

    def save(self) -> None:
        """Rewrite training_log.json; a reader sees the old or the new one, never a part."""
        path = self._run / "training_log.json"
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(self._document, indent=2), "utf-8")
        unfinished.replace(path)

    def close(self) -> None:
        """Save and close everything."""
        self.save()
        self._lines.close()
        for handler in self.console.handlers:
            handler.close()


def _progress(step: int) -> dict[str, int]:
    """Return the fields that identify a step in training_log.json."""
    return {"step": step, "epoch": 1 + (step - 1) // 128, "samples": step * PROMPTS * GROUP}


def _console(path: Path) -> logging.Logger:
    """Return a log in ROLL's line format (roll/utils/logging.py), into a file and onto standard output."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = logging.Logger("demo", logging.INFO)
    layout = "[%(asctime)s] [%(filename)s (%(lineno)d)] [%(levelname)s] [DRIVER 0 / 1][PID %(process)d] %(message)s"
    for handler in (logging.FileHandler(path, encoding="utf-8"), logging.StreamHandler(sys.stdout)):
        handler.setFormatter(logging.Formatter(layout, "%Y-%m-%d %H:%M:%S"))
        log.addHandler(handler)
    return log
