"""MLflow's file store: mlruns/<experiment>/<run>, one value per file.

metrics/<name>: one line per point, in the order of logging. Steps may repeat and decrease.

    1795226147449 inf 30            milliseconds, value (also nan, inf, -inf), step
    1795226147473 0.5               no step before MLflow 1.0
    2 0.5 0                         the caller took the time for the step: no time is known
    1795226147473 0.5 31 <model>    metrics of a model or a data set have more fields

params/<name>: the content is the value. It is written once.

tags/mlflow.source.name, tags/mlflow.source.git.commit and the like: the content is the value; see TAGS.

meta.yaml: the name and state of the run, one "key: value" per line, rewritten whole.

    run_id: 1aa84f0dd0d442049dfd593365bbfd12
    run_name: lr1e-2
    status: 3                       1 running, 2 scheduled, 3 finished, 4 failed, 5 killed
    end_time: 1795226148645         milliseconds; null while it runs

meta.yaml in the directory above: the experiment, with its name.

The name of a metric or parameter is the path below metrics/ or params/, with "/" for directories. The decoders use the
name "", which the reader replaces. Source: mlflow/store/tracking/file_store.py, and files written by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import nan

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.errors import FormatError, Unfinished
from tuimon.formats import Format
from tuimon.formats._shared.lines import SingleLineDecoder
from tuimon.formats._shared.rows import seconds
from tuimon.formats._shared.settings import FactsDocument
from tuimon.model.points import Fact

_LINE = re.compile(rb"\d{1,16} [-+]?(?:\d|\.\d|nan|inf)\S*(?: -?\d+(?: \S+){0,2})?\r?\n?", re.IGNORECASE)
EARLIEST = 1e9
"""Seconds; before it no time is known. log_metric(run, key, value, step) of the client gives the step as time."""
_NOT_POINT = "not a metric's line"

_ENTRY = re.compile(r"^(\w+):[ \t]*('(?:[^'\n]|'')*'|[^\n]*?)[ \t\r]*$", re.MULTILINE)
_STATES = {"1": "running", "3": "finished", "4": "crashed", "5": "crashed"}
_WORDS = {"1": "runs", "3": "finished", "4": "failed", "5": "was killed"}
TAGS = {
    "mlflow.user": "user",
    "mlflow.source.name": "program",
    "mlflow.source.git.commit": "git_commit",
    "mlflow.source.git.branch": "git_branch",
    "mlflow.source.git.repoURL": "git_remote",
}
"""Tags that MLflow sets, and the facts about the writer that they are."""
_WRITER = {"run_id": "run_id", "run_uuid": "run_id", "run_name": "run_name", "user_id": "user"}


class MetricDecoder(SingleLineDecoder):
    """Decoder of the points of one metric. The last number of a line without a newline may be incomplete."""

    def _read(self, line: bytes) -> str:
        fields = line.split(None, 3)
        if not fields:
            return ""
        try:
            time, value, step = int(fields[0]) / 1e3, float(fields[1]), int((*fields, b"0")[2])
        except (ValueError, IndexError, OverflowError):
            return _NOT_POINT
        if b"_" in line or not -(2**63) <= step < 2**63:
            return _NOT_POINT
        self._points.add("", step, value, time if time >= EARLIEST else nan)
        return ""


def _content(topic: str) -> FactsDocument:
    """Return the decoder of a file whose content is a parameter or a tag."""
    return FactsDocument(lambda data: [Fact(topic, {"": data.decode("utf-8", "replace").rstrip("\r\n")})], True)


def read_run(data: bytes) -> list[Fact]:
    """Return the facts "writer" and "state" in meta.yaml."""
    if not data.endswith(b"\n"):
        raise Unfinished("half-written document")
    entries = _entries(data)
    if "status" not in entries:
        raise FormatError("no status of a run in this document")
    writer = {ours: entries[key] for key, ours in _WRITER.items() if entries.get(key)}
    facts = [Fact("writer", {"name": "mlflow", **writer})]
    status = entries["status"]
    if status in _STATES:
        end = entries.get("end_time", "")
        value = {"state": _STATES[status], "evidence": f"MLflow says that it {_WORDS[status]}"}
        facts.append(Fact("state", value, wall_time=seconds(int(end)) if end.isdecimal() else None))
    return facts


def _entries(data: bytes) -> dict[str, str]:
    return {key: _scalar(value) for key, value in _ENTRY.findall(data.decode("utf-8", "replace"))}


def _experiment(data: bytes) -> dict[str, str]:
    """Return the name of the experiment that a meta.yaml describes."""
    entries = _entries(data)
    return {"experiment": entries["name"]} if "experiment_id" in entries and entries.get("name") else {}


def _scalar(value: str) -> str:
    """Decode a plain or single-quoted YAML scalar."""
    return value[1:-1].replace("''", "'") if value.startswith("'") and len(value) > 1 else value


class _RunFolder:
    """The path functions of Format for the files below metrics/, params/ or tags/ of a run. names: of the files that
    are wanted, and what they are called; None: all."""

    def __init__(self, folder: str, names: Mapping[str, str] | None = None) -> None:
        self._path = re.compile(rf"(.*/[0-9a-f]{{32}}/{folder})/(.+)", re.DOTALL)
        self._names = names

    def source(self, path: str) -> str:
        """Return the folder, or `path` itself if it is not in such a folder."""
        match = self._path.fullmatch(path)
        return match[1] if match else path

    def name(self, path: str) -> str | None:
        match = self._path.fullmatch(path)
        return None if match is None else match[2] if self._names is None else self._names.get(match[2])

    def contains(self, path: str) -> bool:
        return self.name(path) is not None


_METRICS, _PARAMETERS, _TAGS = _RunFolder("metrics"), _RunFolder("params"), _RunFolder("tags", TAGS)

METRIC = Format(
    id="mlflow-file",
    title="MLflow file store",
    writers="MLflow 2.3 to 3.17",
    rank=45,
    matches=lambda name, head: not head or _LINE.match(head) is not None,
    decoder=MetricDecoder,
    wants_path=_METRICS.contains,
    source_path=_METRICS.source,
    metric_name=_METRICS.name,
)
TAG = Format(
    id="mlflow-tags",
    title="MLflow tag",
    writers="MLflow 2.3 to 3.17: program, commit and user of a run",
    rank=2,
    matches=lambda name, head: bool(head),
    decoder=partial(_content, "writer"),
    wants_path=_TAGS.contains,
    source_path=_TAGS.source,
    metric_name=_TAGS.name,
    describes_run=True,
    max_size=64 << 10,
)
PARAMETER = replace(
    TAG,
    id="mlflow-params",
    title="MLflow parameter",
    writers="MLflow 2.3 to 3.17: settings of a run",
    rank=3,
    decoder=partial(_content, "config"),
    wants_path=_PARAMETERS.contains,
    source_path=_PARAMETERS.source,
    metric_name=_PARAMETERS.name,
)
RUN = Format(
    id="mlflow-meta",
    title="MLflow run description",
    writers="MLflow 2.3 to 3.17: state and name of a run",
    rank=1,
    matches=lambda name, head: re.search(rb"^run_u?u?id: ", head, re.MULTILINE) is not None,
    decoder=partial(FactsDocument, read_run),
    wants_name=lambda name: name == "meta.yaml",
    facts_above=_experiment,
)
FORMATS = (METRIC, PARAMETER, TAG, RUN)
