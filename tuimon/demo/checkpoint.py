"""Checkpoints: everything a resumed run needs to go on as if it had never stopped, in one npz file.

checkpoints/global_step_N/state.npz holds the arrays, named `weights.w0` and so on, and `meta`, a JSON text.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tuimon.demo.learner import Learner, Settings
from tuimon.demo.pipeline import Pipeline, half_precision
from tuimon.demo.policy import Params

KEPT = 2
"""The newest checkpoints that are kept, beside the best."""


@dataclass(frozen=True)
class Best:
    """The validation with the highest reward so far, as training_log.json names it."""

    step: int
    epoch: int
    samples: int
    val_reward: float
    path: str


def directory(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"global_step_{step}"


def is_sound(pipeline: Pipeline) -> bool:
    """False when a weight is NaN or infinite: nothing worth keeping."""
    return all(bool(np.isfinite(array).all()) for array in pipeline.learner.weights.values())


def save(run: Path, step: int, pipeline: Pipeline, best: Best | None) -> None:
    """Writes the checkpoint of `step` and removes older ones. A half-written one never has the name."""
    learner = pipeline.learner
    parts = dict(zip(("weights", "first", "second"), learner.states, strict=True)) | {"reference": pipeline.reference}
    arrays: dict[str, Any] = {f"{part}.{name}": array for part, state in parts.items() for name, array in state.items()}
    meta = {
        "step": step,
        "updates": learner.updates,
        "random": pipeline.rng.bit_generator.state,
        "settings": asdict(pipeline.settings),
        "best": asdict(best) if best else None,
    }
    target = directory(run, step) / "state.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(file, meta=json.dumps(meta), **arrays)
    unfinished.replace(target)
    best_path = best.path if best else ""
    for old in steps(run)[:-KEPT]:
        if str(directory(run, old)) != best_path:
            shutil.rmtree(directory(run, old))


def steps(run: Path) -> list[int]:
    """Steps of the finished checkpoints, ascending."""
    files = (run / "checkpoints").glob("global_step_*/state.npz")
    return sorted(int(file.parent.name.removeprefix("global_step_")) for file in files)


def load(run: Path, inject_at: int | None = None, max_steps: int | None = None) -> tuple[int, Pipeline, Best | None]:
    """Return the newest checkpoint: its step, the pipeline and the best result. ValueError without a checkpoint."""
    if not (found := steps(run)):
        raise ValueError(f"no checkpoint to resume from in {run / 'checkpoints'}")
    with np.load(directory(run, found[-1]) / "state.npz") as file:
        meta = json.loads(str(file["meta"]))
        parts: dict[str, Params] = {"weights": {}, "first": {}, "second": {}, "reference": {}}
        for key in file.files:
            part, _, name = key.partition(".")
            if part in parts:
                parts[part][name] = file[key]
    settings = Settings(**meta["settings"] | ({"max_steps": max_steps} if max_steps else {}))
    pipeline = Pipeline(settings, inject_at, parts.pop("reference"))
    pipeline.learner = Learner(**parts, updates=meta["updates"])
    pipeline.sampler = half_precision(pipeline.learner.weights)
    pipeline.rng.bit_generator.state = meta["random"]
    return meta["step"], pipeline, Best(**meta["best"]) if meta["best"] else None
