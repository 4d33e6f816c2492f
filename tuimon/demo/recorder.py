"""Every log that the run leaves, as real trainers leave them. All are flushed at every step.

tensorboard/events.out.tfevents.*   all metrics
metrics.jsonl                       a line a step: all but memory/*
training_log.json                   config, train_history, val_history, best_checkpoint; rewritten at each validation
log/train.log                       console lines in ROLL's format
rollouts/STEP.jsonl                 the responses of each step that validates
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tuimon.demo.checkpoint import Best
from tuimon.demo.devices import MODELLED, Metrics
from tuimon.demo.event_file import EventFile
from tuimon.demo.texts import write


class Recorder:
    """Writes the logs of one run."""

    def __init__(
        self, run: Path, config: Mapping[str, Any], resumed_from: int | None = None, best: Best | None = None
    ) -> None:
        """Goes on with the logs in `run` where they exist; steps after `resumed_from` are about to be done again."""
        self.events = EventFile(run / "tensorboard", None if resumed_from is None else resumed_from + 1)
        self.events.text("notes/text_summary", MODELLED, 0, time.time())
        self.log = console(run / "log" / "train.log")
        self.log.info(MODELLED)
        self._lines = (run / "metrics.jsonl").open("a", encoding="utf-8")
        self._path = run / "training_log.json"
        self._rollouts = run / "rollouts"
        self._document: dict[str, Any] = {"train_history": [], "val_history": []}
        if resumed_from is not None and self._path.exists():
            known = json.loads(self._path.read_text("utf-8"))
            for name in ("train_history", "val_history"):
                self._document[name] = [entry for entry in known[name] if entry["step"] <= resumed_from]
        self._document = {"config": dict(config), **self._document, "best_checkpoint": asdict(best) if best else None}
        self.save()

    def step(self, step: int, metrics: Metrics, progress: Mapping[str, Any]) -> None:
        """One training step; `progress` (step, epoch, samples) begins its entry in train_history."""
        now = time.time()
        self.events.scalars(metrics, step, now)
        self.events.flush()
        shown = {name: value for name, value in metrics.items() if not name.startswith("memory/")}
        self._lines.write(json.dumps({"step": step, "timestamp": now, **shown}) + "\n")
        self._lines.flush()
        self._document["train_history"].append(
            {
                **progress,
                "loss": metrics["actor/total_loss"],
                "reward": metrics["critic/score/mean"],
                "kl": metrics["critic/kl"],
                "lr": metrics["actor/lr"],
            }
        )
        self.log.info(json.dumps(shown))

    def texts(self, step: int, rows: Iterator[dict[str, Any]]) -> None:
        """The responses of a step."""
        write(self._rollouts / f"{step}.jsonl", rows)

    def validated(self, entry: Mapping[str, float], best: Best | None) -> None:
        """A validation: its entry for val_history, and the best one so far."""
        self._document["val_history"].append(dict(entry))
        self._document["best_checkpoint"] = asdict(best) if best else None
        self.log.info(f"val metrics: {dict(entry)}")
        self.save()

    def save(self) -> None:
        """Rewrites training_log.json; a reader sees the old or the new one, never a part."""
        unfinished = self._path.with_suffix(".part")
        unfinished.write_text(json.dumps(self._document, indent=2), "utf-8")
        unfinished.replace(self._path)

    def close(self) -> None:
        """Saves and closes everything."""
        self.save()
        self.events.close()
        self._lines.close()
        for handler in self.log.handlers[:]:
            self.log.removeHandler(handler)
            handler.close()


def console(path: Path) -> logging.Logger:
    """A log in ROLL's line format (roll/utils/logging.py), into a file and onto standard output."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = logging.Logger("demo", logging.INFO)
    layout = "[%(asctime)s] [%(filename)s (%(lineno)d)] [%(levelname)s] [DRIVER 0 / 1][PID %(process)d] %(message)s"
    for handler in (logging.FileHandler(path, encoding="utf-8"), logging.StreamHandler(sys.stdout)):
        handler.setFormatter(logging.Formatter(layout, "%Y-%m-%d %H:%M:%S"))
        log.addHandler(handler)
    return log
