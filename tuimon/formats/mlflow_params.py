"""MLflow's file store: mlruns/<experiment>/<run>/params/<name>, one parameter a file, whose content is its value.

The name of the parameter is the path below params/, its "/" being directories; the decoder gives it as "", and whoever
knows the path puts it in. A parameter is written once.
Source: mlflow/store/tracking/file_store.py, and files that it wrote.
"""

from __future__ import annotations

import re

from tuimon.formats import Format
from tuimon.model.points import Fact, Item, Replaced

_PATH = re.compile(r"(?P<source>.*/[0-9a-f]{32}/params)/(?P<name>.+)", re.DOTALL)


class ParameterDocument:
    """A DocumentDecoder of one value."""

    def __init__(self) -> None:
        self._told: str | None = None

    def load(self, data: bytes) -> list[Item]:
        """See DocumentDecoder."""
        value = data.decode("utf-8", "replace").rstrip("\r\n")
        if value == self._told:
            return []
        items: list[Item] = [Replaced()] if self._told is not None else []
        self._told = value
        return [*items, Fact("config", {"": value})]


def _source(path: str) -> str:
    found = _PATH.fullmatch(path)
    return found["source"] if found else path


def _name(path: str) -> str | None:
    found = _PATH.fullmatch(path)
    return found["name"] if found else None


FORMAT = Format(
    id="mlflow-params",
    title="MLflow parameter",
    writers="MLflow 3.17: settings of a run",
    rank=3,
    matches=lambda name, head: bool(head),
    decoder=ParameterDocument,
    wants_path=lambda path: _PATH.fullmatch(path) is not None,
    source_path=_source,
    metric_name=_name,
    describes_run=True,
    largest=64 << 10,
)
