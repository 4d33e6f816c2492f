"""worker_state_pipeline.json of Alibaba ROLL: the metrics of every step up to a checkpoint.

    <output>/pipeline/checkpoint-<N>/pipeline/worker_state_pipeline.json
    {"kv": {…}, "log_history": [{"actor/pg_loss@sum": 0.5, "system/step": 1, …}, …], "step": 2}

Names still carry the reducers ("@sum", "@mean") that ROLL's trackers remove. Each checkpoint holds the whole history,
so only the newest is read. Source: roll/utils/checkpoint and base_pipeline.do_checkpoint of ROLL (8eb27cc).
"""

from __future__ import annotations

from typing import Any

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats.json._document import Content, RowsDocument
from tuimon.formats.json._whole_values import LISTS
from tuimon.model.points import Fact, Topic

_NAME = re.compile(r"(?:\w+_)?worker_state_\w+\.json")
_CHECKPOINT = re.compile(r"/checkpoint-[^/]+(?=/)")


def layout(document: Any) -> Content | None:
    if not isinstance(document, dict) or not isinstance(document.get("log_history"), LISTS):
        return None
    step = document.get("step")
    return Content(
        {"": document["log_history"]}, [Fact(Topic.PROGRESS, {"step": step})] if isinstance(step, int) else []
    )


FORMAT = Format(
    id="roll_worker_state",
    title="ROLL worker state",
    writers="ROLL",
    rank=29,
    matches=lambda name, head: _NAME.fullmatch(name) is not None,
    decoder=lambda: RowsDocument(layout),
    wants_name=lambda name: _NAME.fullmatch(name) is not None,
    supersedes=lambda path: _CHECKPOINT.sub("", path),
)
