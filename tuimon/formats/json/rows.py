"""A JSON document of metrics from any origin; _shapes lists the shapes that are read.

    [{"step": 1, "loss": 0.5}, …]
    {"train": [{"epoch": 1, "loss": 0.5}, …], "eval": [{"epoch": 1, …}, …], "args": {…}}
    {"loss": [0.5, 0.4, …], "val_loss": [0.6, 0.5, …]}
    {                                                     rows that follow one another, over several lines or in one;
      "step": 1, …                                        lines of one object each are JSON lines
    }
    {

training_log.json of the Qwen3-VL fine-tuning scripts is truncated and rewritten at each validation, so it may be read
while it is empty or half written: {"config": {…}, "train_history": [{"step": 10, "loss": 0.5, …}, …],
"val_history": […], "best_checkpoint": {…}, "final_metrics": {…}}.

A file is recognised by its content: the beginning must hold rows with a step, or columns of numbers of which one is
named like a metric. Settings are the objects under the keys of SETTINGS.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.json import BOM, parse
from tuimon.formats._shared.rows import has_step, seconds
from tuimon.formats.json import _shapes
from tuimon.formats.json._document import Content, RowsDocument
from tuimon.formats.json._whole_values import WholeValues
from tuimon.model.points import Fact, Topic

SETTINGS = ("config", "args", "hparams", "hyperparameters", "hyper_parameters", "settings", "params")
_NAMED_AS_LOG = re.compile(r"history|metrics|train.*log|loss|reward|progress|curve", re.IGNORECASE)
_NUMBERS = re.compile(rb"\[\s*-?\d[\d.eE+-]*\s*,\s*-?\d[\d.eE+-]*\s*,")


class Columns(NamedTuple):
    """The lists of numbers of one object in a document."""

    path: tuple[str, ...]
    """Keys of the objects around them, the outermost first."""
    lists: dict[str, list[Any]]
    beside: dict[str, Any]
    """The other entries of the object."""

    @property
    def metrics(self) -> list[str]:
        """Names of the lists that are no steps. Names that are numbers are left out: such lists belong to one step."""
        return [name for name in self.lists if not name.isdecimal() and not _shapes.is_axis(name)]

    def are_parallel(self) -> bool:
        """Return whether two of the lists have the same length."""
        lengths = [len(values) for values in self.lists.values()]
        return len(set(lengths)) < len(lengths)

    def have_one_step(self) -> bool:
        """Return whether the lists belong to one step, such as the rewards of its samples."""
        return has_step(self.beside)


def layout(document: Any) -> Content | None:
    """Return the rows, settings and results of a document, or None if it has no metrics."""
    sections = _shapes.sections_of(document)
    if not sections:
        return None
    unit = _shapes.step_unit(sections)
    if not isinstance(document, dict):
        return Content(sections, unit=unit)
    settings = next((document[key] for key in SETTINGS if isinstance(document.get(key), dict)), None)
    results = ((topic, document.get(topic)) for topic in (Topic.BEST_CHECKPOINT, Topic.FINAL_METRICS))
    facts = [(Topic.CONFIG, settings), *results]
    return Content(sections, [Fact(topic, value) for topic, value in facts if value and isinstance(value, dict)], unit)


def matches(name: str, head: bytes) -> bool:
    """Return True if the beginning of a document has a shape of metrics, or a list of numbers in a file named as a log.

    The beginning may end anywhere.
    """
    head = head.removeprefix(BOM).lstrip()
    if not head.startswith((b"{", b"[")):
        return False
    document = beginning(head)
    if isinstance(document, list) and head.startswith(b"{") and _is_whole(head.partition(b"\n")[0]):
        document = document[0]  # JSON lines
    named = _NAMED_AS_LOG.search(name) is not None
    if isinstance(document, list) and document and not isinstance(document[0], dict):
        timed = isinstance(document[0], list) and len(document[0]) == 3 and seconds(document[0][0]) is not None
        return (named or timed) and _shapes.holds_metrics(document)
    return _shapes.holds_metrics(document) or (named and _NUMBERS.search(head) is not None)


def beginning(head: bytes) -> Any:
    """Return what is whole in the beginning of a document; None if nothing is."""
    try:
        return WholeValues(head, keep_cut=True).document
    except FormatError:
        return None


def without_columns(document: Any) -> tuple[Any, list[Columns]]:
    """Return (the document without its lists of numbers, those lists by object), outside of lists of objects."""
    found: list[Columns] = []

    def stripped(mapping: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        lists = {key: value for key, value in mapping.items() if isinstance(value, list) and _shapes.is_column(value)}
        rest = {
            key: stripped(value, (*path, key)) if isinstance(value, dict) and len(path) < _shapes.MAX_DEPTH else value
            for key, value in mapping.items()
            if key not in lists
        }
        if lists:
            found.append(Columns(path, lists, rest))
        return rest

    return (stripped(document, ()), found) if isinstance(document, dict) else (document, found)


def _is_whole(line: bytes) -> bool:
    try:
        parse(line)
    except FormatError:
        return False
    return True


def metric_name(path: str) -> str:
    """Return the name of the only series of a document: the name of its file without the suffix."""
    return posixpath.splitext(posixpath.basename(path))[0]


FORMAT = Format(
    id="json_rows",
    title="JSON document of metrics",
    writers="any JSON document with rows, columns or series: Keras, CatBoost, Sacred, skorch, downloads of TensorBoard",
    rank=28,
    matches=matches,
    decoder=lambda: RowsDocument(layout),
    wants_name=lambda name: name.endswith(".json"),
    metric_name=metric_name,
)
TRAINING_LOG = replace(
    FORMAT,
    id="training_log",
    title="training_log.json",
    writers="the Qwen3-VL scripts: LoRA, GRPO, DPO",
    rank=30,
    matches=lambda name, head: not head.strip() or matches(name, head),  # an empty file is waited for
    wants_name=lambda name: name == "training_log.json",
)
FORMATS = (TRAINING_LOG,)
