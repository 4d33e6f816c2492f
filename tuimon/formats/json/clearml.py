"""ClearML offline: metrics.jsonl of an offline session; each line is an array of events.

    offline-<id>/metrics.jsonl
    [{"timestamp": 1795224836077, "type": "training_stats_scalar", "iter": 0, "metric": "critic",
      "variant": "score/mean", "value": 0.5, …}, …]

The metric is <metric>/<variant>, the step is `iter`, the time is in ms. Other event types are plots, images and text.
Source: clearml 2.1 (backend_interface/metrics, offline mode) and a session that it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.lines import JSONLines
from tuimon.formats._shared.long_form import CLEARML
from tuimon.model.points import Item

_SCALAR = "training_stats_scalar"


def reader() -> Callable[[list[Any]], list[Item]]:
    """Return a function that converts parsed lines of one log into items."""
    return CLEARML.reader(_scalars)


def decoder() -> JSONLines:
    return JSONLines(reader())


def _scalars(line: Any) -> Iterator[Any]:
    events = line if type(line) is list else [line]
    return (event for event in events if type(event) is dict and event.get("type") == _SCALAR)


def matches(name: str, head: bytes) -> bool:
    first = head.lstrip().partition(b"\n")[0]
    if not first.startswith((b"[{", b"[ {")):
        return False
    if b'"type"' in first and _SCALAR.encode() in first:
        return True
    try:
        events = parse(first)
    except FormatError:
        return False
    return all(isinstance(event, dict) and {"type", "metric", "variant"} <= event.keys() for event in events)


FORMAT = Format(
    id="clearml",
    title="ClearML offline metrics",
    writers="ClearML 1.16 and 2.1, offline mode",
    rank=30,
    matches=matches,
    decoder=decoder,
    wants_name=lambda name: name.endswith(".jsonl"),
)
