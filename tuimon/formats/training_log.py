"""training_log.json of the Qwen3-VL fine-tuning scripts: one object with its config, its histories and its best result.

    {"config": {…}, "train_history": [{"step": 10, "epoch": 1, "loss": 0.5, …}, …], "val_history": [{"step": 200, …}],
     "best_checkpoint": {"step": 400, …, "path": "…"} | null, "final_metrics": {"best_metric": 0.98, …}}

Every list of objects with a step is a section, whatever its name (`usability_history` came later); its metrics are
<list>/<key>. The file is truncated and written anew at each validation, so a reader meets empty and half documents.
Source: the recorder of github.com/Wu-didi/qwen3-vl-det and its TRAINING_LOGS.md.
"""

from __future__ import annotations

from typing import Any

from tuimon.formats import Format
from tuimon.formats._document import Content, RowsDocument
from tuimon.formats._rows import has_step
from tuimon.model.points import Fact

_FACTS = ("config", "best_checkpoint", "final_metrics")


def layout(document: Any) -> Content | None:
    if not isinstance(document, dict):
        return None
    sections = {f"{key}/": value for key, value in document.items() if is_history(value)}
    facts = [Fact(key, document[key]) for key in _FACTS if document.get(key) and isinstance(document[key], dict)]
    return Content(sections, facts)


def is_history(value: Any) -> bool:
    """Is this a list of rows, each with a step? An empty one may become one."""
    return isinstance(value, list) and (not value or (isinstance(value[0], dict) and has_step(value[0])))


FORMAT = Format(
    id="training_log",
    title="training_log.json",
    writers="the Qwen3-VL scripts: LoRA, GRPO, DPO",
    rank=30,
    matches=lambda name, head: name == "training_log.json",
    decoder=lambda: RowsDocument(layout),
    wants_name=lambda name: name == "training_log.json",
)
