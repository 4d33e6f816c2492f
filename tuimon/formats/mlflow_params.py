"""MLflow's file store: mlruns/<experiment>/<run>/params/<name>, one parameter a file, whose content is its value.

The name of the parameter is the path below params/, its "/" being directories; the decoder gives it as "", and whoever
knows the path puts it in. A parameter is written once.
Source: mlflow/store/tracking/file_store.py, and files that it wrote.
"""

from __future__ import annotations

from tuimon.formats import Format
from tuimon.formats._mlflow_folder import RunFolder
from tuimon.model.points import Fact, Item, Replaced

_FOLDER = RunFolder("params")


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


FORMAT = Format(
    id="mlflow-params",
    title="MLflow parameter",
    writers="MLflow 2.3 to 3.17: settings of a run",
    rank=3,
    matches=lambda name, head: bool(head),
    decoder=ParameterDocument,
    wants_path=_FOLDER.holds,
    source_path=_FOLDER.source,
    metric_name=_FOLDER.name,
    describes_run=True,
    largest=64 << 10,
)
