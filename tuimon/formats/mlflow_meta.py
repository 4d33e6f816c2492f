"""MLflow's file store: mlruns/<experiment>/<run>/meta.yaml, what a run is called and whether it has ended.

    run_id: 1aa84f0dd0d442049dfd593365bbfd12
    run_name: lr1e-2
    status: 3                       1 running, 2 scheduled, 3 finished, 4 failed, 5 killed
    end_time: 1795226148645         milliseconds; null while it runs

One "key: value" a line, rewritten whole. Source: mlflow/store/tracking/file_store.py, and files that it wrote.
"""

from __future__ import annotations

import re
from typing import Any

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import Format
from tuimon.formats._rows import seconds
from tuimon.model.points import Fact, Item

_ENTRY = re.compile(r"^(\w+):[ \t]*('(?:[^'\n]|'')*'|[^\n]*?)[ \t\r]*$", re.MULTILINE)
_STATES = {"1": "running", "3": "finished", "4": "crashed", "5": "crashed"}
_WORDS = {"1": "runs", "3": "finished", "4": "failed", "5": "was killed"}
_WRITER = {"run_id": "run_id", "run_uuid": "run_id", "run_name": "run_name", "user_id": "user"}


class MetaDecoder:
    """A DocumentDecoder that gives facts: writer and state."""

    def __init__(self) -> None:
        self._told: dict[str, Any] = {}

    def load(self, data: bytes) -> list[Item]:
        """See DocumentDecoder."""
        if not data.endswith(b"\n"):
            raise Unfinished("half-written document")
        entries = {key: _text(value) for key, value in _ENTRY.findall(data.decode("utf-8", "replace"))}
        if "status" not in entries:
            raise FormatError("no status of a run in this document")
        writer = {ours: entries[key] for key, ours in _WRITER.items() if entries.get(key)}
        facts = [Fact("writer", {"name": "mlflow", **writer})]
        status = entries["status"]
        if status in _STATES:
            end = entries.get("end_time", "")
            value = {"state": _STATES[status], "evidence": f"MLflow says that it {_WORDS[status]}"}
            facts.append(Fact("state", value, wall_time=seconds(int(end)) if end.isdecimal() else None))
        fresh = [fact for fact in facts if self._told.get(fact.topic) != fact]
        self._told.update((fact.topic, fact) for fact in fresh)
        return list(fresh)


def _text(value: str) -> str:
    """A plain or single-quoted scalar of YAML."""
    return value[1:-1].replace("''", "'") if value.startswith("'") and len(value) > 1 else value


FORMAT = Format(
    id="mlflow-meta",
    title="MLflow run description",
    writers="MLflow 2.3 to 3.17: state and name of a run",
    rank=1,
    matches=lambda name, head: re.search(rb"^run_u?u?id: ", head, re.MULTILINE) is not None,
    decoder=MetaDecoder,
    wants_name=lambda name: name == "meta.yaml",
)
