"""run.json of Sacred's FileStorageObserver, beside metrics.json and config.json: how the run ended.

    {"experiment": {"name": "mlp", …}, "status": "COMPLETED", "heartbeat": "…", "stop_time": "2026-11-22T19:21:19.59"}

Rewritten whole at every heartbeat. Times are UTC without a zone. The settings are in config.json.
Source: sacred/observers/file_storage.py and sacred/run.py of Sacred 0.8.7.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.settings import FactsDocument
from tuimon.formats.json._metadata import json_object
from tuimon.model.points import Fact, Topic

_STATES = {
    "COMPLETED": "finished",
    "FAILED": "crashed",
    "INTERRUPTED": "crashed",
    "TIMEOUT": "crashed",
    "DIED": "crashed",
}


def read_run(data: bytes) -> list[Fact]:
    """Return the fact about how the run ended."""
    document = json_object(data)
    status = document.get("status")
    if not isinstance(status, str):
        raise FormatError("no status in this document")
    if status not in _STATES:
        return []
    state = {"state": _STATES[status], "evidence": f"Sacred wrote the status {status}"}
    return [Fact(Topic.STATE, state, wall_time=_utc(document.get("stop_time")))]


def _utc(time: Any) -> float | None:
    try:
        return datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def matches(name: str, head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"experiment"' in head and b'"command"' in head


FORMAT = Format(
    id="sacred-run",
    title="Sacred run",
    writers="run.json of Sacred 0.8",
    rank=6,
    matches=matches,
    decoder=partial(FactsDocument, read_run),
    wants_name=lambda name: name == "run.json",
    describes_run=True,
    max_size=4 << 20,
)
