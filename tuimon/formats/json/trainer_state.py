"""trainer_state.json of Hugging Face's Trainer, also of TRL, Axolotl, ms-swift, LLaMA-Factory.

    {"global_step": 40, "max_steps": 120, "epoch": 0.5, "num_train_epochs": 2, "best_metric": null, …,
     "log_history": [{"epoch": 0.02, "loss": 4.01, "step": 2, …}, {"eval_loss": 1.9, "step": 20, …}, …]}

Written whole, not atomically, into each <output>/checkpoint-<N>/, and into <output>/ itself by `save_state()`. Each
holds the whole history, so only the newest of an output directory is read. A copy under another name is recognised by
its keys. The format ranks below JSON lines, which hold the same rows as soon as they are logged, not only up to the
last checkpoint.
Source: TrainerState and Trainer._save_checkpoint of transformers 4.57 and 5.23, and files they wrote.
"""

from __future__ import annotations

from typing import Any

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats.json._document import Content, RowsDocument
from tuimon.formats.json._whole_values import LISTS
from tuimon.model.points import Fact, Topic

_CHECKPOINT = re.compile(r"/(?:tmp-)?checkpoint-[^/]+(?=/)")
_PROGRESS = {"step": "global_step", "total": "max_steps", "epoch": "epoch", "total_epochs": "num_train_epochs"}
_KEYS = re.compile(
    rb'"(?:best_metric|best_model_checkpoint|best_global_step|global_step|log_history|is_hyper_param_search|'
    rb'is_local_process_zero|is_world_process_zero)"\s*:'
)
_BEST = ("best_metric", "best_model_checkpoint", "best_global_step")


def layout(document: Any) -> Content | None:
    if not isinstance(document, dict) or not isinstance(document.get("log_history"), LISTS):
        return None
    progress = {ours: document[key] for ours, key in _PROGRESS.items() if document.get(key) is not None}
    best = {key: document[key] for key in _BEST if document.get(key) is not None}
    facts = [
        Fact(topic, value) for topic, value in ((Topic.PROGRESS, progress), (Topic.BEST_CHECKPOINT, best)) if value
    ]
    return Content({"": document["log_history"]}, facts)


def matches(name: str, head: bytes) -> bool:
    """Return True for the usual name, and for a document of another name that begins like a TrainerState."""
    return name.endswith("trainer_state.json") or (head.lstrip().startswith(b"{") and len(_KEYS.findall(head)) >= 3)


def supersedes(path: str) -> str:
    """Return the output directory, which all checkpoints of a run share; of a file of another name, its path."""
    if not path.endswith("trainer_state.json"):
        return path
    return _CHECKPOINT.sub("", path).rpartition("/")[0]


FORMAT = Format(
    id="trainer_state",
    title="Hugging Face trainer_state.json",
    writers="transformers 4.57 and 5.23, TRL 1.16",
    rank=29,
    matches=matches,
    decoder=lambda: RowsDocument(layout),
    wants_name=lambda name: name.endswith(".json"),
    supersedes=supersedes,
)
