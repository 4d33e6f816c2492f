"""trainer_state.json of Hugging Face's Trainer, so of TRL, Axolotl, ms-swift, LLaMA-Factory: the state at a checkpoint.

    {"global_step": 40, "max_steps": 120, "epoch": 0.5, "num_train_epochs": 2, "best_metric": null, …,
     "log_history": [{"epoch": 0.02, "loss": 4.01, "step": 2, …}, {"eval_loss": 1.9, "step": 20, …}, …]}

Written whole, not atomically, into each <output>/checkpoint-<N>/, and into <output>/ itself by `save_state()`. Each
holds the whole history, so of one output directory only the newest is read. It ranks below JSON lines, which hold
the same rows as they are logged, not only up to the last checkpoint.
Source: TrainerState and Trainer._save_checkpoint of transformers 4.57 and 5.23, and files they wrote.
"""

from __future__ import annotations

import re
from typing import Any

from tuimon.formats import Format
from tuimon.formats._document import Content, RowsDocument
from tuimon.model.points import Fact

_CHECKPOINT = re.compile(r"/(?:tmp-)?checkpoint-[^/]+(?=/)")
_PROGRESS = {"step": "global_step", "total": "max_steps", "epoch": "epoch", "total_epochs": "num_train_epochs"}
_BEST = ("best_metric", "best_model_checkpoint", "best_global_step")


def layout(document: Any) -> Content | None:
    if not isinstance(document, dict) or not isinstance(document.get("log_history"), list):
        return None
    progress = {ours: document[key] for ours, key in _PROGRESS.items() if document.get(key) is not None}
    best = {key: document[key] for key in _BEST if document.get(key) is not None}
    facts = [Fact(topic, value) for topic, value in (("progress", progress), ("best_checkpoint", best)) if value]
    return Content({"": document["log_history"]}, facts)


def supersedes(path: str) -> str:
    """The output directory, to which all checkpoints of a run belong."""
    return _CHECKPOINT.sub("", path).rpartition("/")[0]


FORMAT = Format(
    id="trainer_state",
    title="Hugging Face trainer_state.json",
    writers="transformers 4.57 and 5.23, TRL 1.16",
    rank=29,
    matches=lambda name, head: name.endswith("trainer_state.json"),
    decoder=lambda: RowsDocument(layout),
    wants_name=lambda name: name.endswith("trainer_state.json"),
    supersedes=supersedes,
)
