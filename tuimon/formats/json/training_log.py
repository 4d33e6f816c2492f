"""training_log.json of the Qwen3-VL fine-tuning scripts: an object with config, histories and best result.

    {"config": {…}, "train_history": [{"step": 10, "epoch": 1, "loss": 0.5, …}, …], "val_history": [{"step": 200, …}],
     "best_checkpoint": {"step": 400, …, "path": "…"} | null, "final_metrics": {"best_metric": 0.98, …}}

Every list of objects with a step is a section, whatever its name (`usability_history` was added later); its metrics are
<list>/<key>. The file is truncated and rewritten at each validation, so it may be read while empty or half written.
Other programs use the name, too: a document of any shape of _shapes is read.
Source: the recorder of github.com/Wu-didi/qwen3-vl-det and its TRAINING_LOGS.md.
"""

from __future__ import annotations

from tuimon.formats import Format
from tuimon.formats.json import rows
from tuimon.formats.json._document import RowsDocument


def matches(name: str, head: bytes) -> bool:
    """Return True for an empty file of this name, which is waited for, and for one that holds metrics in any shape."""
    return name == "training_log.json" and (not head.strip() or rows.matches(name, head))


FORMAT = Format(
    id="training_log",
    title="training_log.json",
    writers="the Qwen3-VL scripts: LoRA, GRPO, DPO",
    rank=30,
    matches=matches,
    decoder=lambda: RowsDocument(rows.layout),
    wants_name=lambda name: name == "training_log.json",
    metric_name=rows.metric_name,
)
