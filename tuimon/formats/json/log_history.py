"""Documents with a `log_history`, one of which lies in each checkpoint and holds all rows up to it.

trainer_state.json of Hugging Face's Trainer, also of TRL, Axolotl, ms-swift, LLaMA-Factory:

    {"global_step": 40, "max_steps": 120, "epoch": 0.5, "num_train_epochs": 2, "best_metric": null, …,
     "log_history": [{"epoch": 0.02, "loss": 4.01, "step": 2, …}, {"eval_loss": 1.9, "step": 20, …}, …]}

<output>/pipeline/checkpoint-<N>/pipeline/worker_state_pipeline.json of Alibaba ROLL, whose names have the reducers
("@sum", "@mean") that its trackers remove:

    {"kv": {…}, "log_history": [{"actor/pg_loss@sum": 0.5, "system/step": 1, …}, …], "step": 2}

Both are written whole, not atomically. Of the documents of one output directory only the newest is read. A copy of
trainer_state.json under another name is recognised by its keys. The formats rank below JSON lines, which hold the same
rows as soon as they are logged, not only up to the last checkpoint.
Source: TrainerState and Trainer._save_checkpoint of transformers 4.57 and 5.23; roll/utils/checkpoint and
base_pipeline.do_checkpoint of ROLL (8eb27cc); files they wrote.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats.json._document import Content, RowsDocument
from tuimon.formats.json._whole_values import LISTS
from tuimon.model.points import Fact, Topic

_PROGRESS = {"step": ("global_step", "step"), "total": ("max_steps",), "epoch": ("epoch",)}
_PROGRESS |= {"total_epochs": ("num_train_epochs",)}
_CHECKPOINT = re.compile(r"/(?:tmp-)?checkpoint-[^/]+(?=/)")
_KEYS = re.compile(
    rb'"(?:best_metric|best_model_checkpoint|best_global_step|global_step|log_history|is_hyper_param_search|'
    rb'is_local_process_zero|is_world_process_zero)"\s*:'
)
_ROLL = re.compile(r"(?:\w+_)?worker_state_\w+\.json")
_BEST = ("best_metric", "best_model_checkpoint", "best_global_step")


def layout(document: Any) -> Content | None:
    if not isinstance(document, dict) or not isinstance(document.get("log_history"), LISTS):
        return None
    progress = {
        ours: document[key] for ours, keys in _PROGRESS.items() for key in keys if document.get(key) is not None
    }
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
ROLL = replace(
    FORMAT,
    id="roll_worker_state",
    title="ROLL worker state",
    writers="ROLL",
    matches=lambda name, head: True,
    wants_name=lambda name: _ROLL.fullmatch(name) is not None,
    supersedes=lambda path: _CHECKPOINT.sub("", path),
)
FORMATS = (ROLL,)
