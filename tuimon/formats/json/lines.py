"""JSON lines: one object per line, written by json.dumps, orjson or a framework's own logger; grows at its end.

Trainers differ only in their keys; see _shared.rows for what they mean:

    LLaMA-Factory  trainer_log.jsonl  {"current_steps": 10, "total_steps": 40, "loss": 0.5, "elapsed_time": "0:00:10"}
    ms-swift       logging.jsonl      {"loss": 1.2, "global_step/max_steps": "5/3766", "memory(GiB)": 37.2, …}, or
                                      "iteration": "5/100" (Megatron); the last line is a trainer state, not a row
    verl           <run>.jsonl        {"step": 7, "data": {"actor/pg_loss": null, …}}; truncated at a restart
    prime-rl       metrics.jsonl      {"step": 3, "time": 1795224000.2, "loss/mean": …}; several rows per step
    torchtune      log_<time>.jsonl   {"step": 4, "loss": NaN, …}
    Ray Tune       result.json        nested objects, "training_iteration", "timestamp", "config" in each line
    SB3            progress.json      {"time/total_timesteps": 512, "rollout/ep_rew_mean": 20.4, …}
    own loggers    metrics.jsonl      {"metric": "loss", "value": 0.5, "step": 3}: also key, tag or name
    DETR, MAE      log.txt            {"epoch": 0, "train_loss": …}
    MMDetection 2  <time>.log.json    {"mode": "train", "epoch": 1, "iter": 50, "loss": …}: counted anew in each epoch,
                                      see _shared.row_steps (mmcv 1.7, runner/hooks/logger/text.py)

metrics.jsonl of an offline session of ClearML has an array of events in each line; other types are plots and texts:

    [{"timestamp": 1795224836077, "type": "training_stats_scalar", "iter": 0, "metric": "critic",
      "variant": "score/mean", "value": 0.5, …}, …]

Sources: the writers of these projects, and files that they wrote; clearml 2.1 (backend_interface/metrics).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.json import BOM, is_utf16, parse
from tuimon.formats._shared.lines import JSONLines
from tuimon.formats._shared.long_form import CLEARML
from tuimon.formats._shared.row_reader import RowReader
from tuimon.formats._shared.row_steps import UNKNOWN_STEP, StepUnit, with_step
from tuimon.formats._shared.rows import STEP_KEYS, flatten, has_step, is_sample, looks_like_metrics, staged
from tuimon.formats.json.rows import beginning
from tuimon.model.points import Item, Names

_SCALAR = "training_stats_scalar"
"""Type of ClearML's events that are points."""
_ROWS_EXAMINED = 3
_LINES_BY_NAME = (".jsonl", ".ndjson", ".jsonlines")
_LINES_DESPITE_NAME = ("progress.json", "result.json")
_OTHER_NAMES = (".json", ".log", ".txt", ".out")
_NAME_KEYS = ("metric", "metric_name", "key", "tag", "name")
"""Keys of the name of the metric in rows of one metric each."""
_SHORT = 64
"""Bytes of a beginning that says nothing yet."""


class MetricLines(JSONLines):
    """StreamDecoder of lines of metrics."""

    def __init__(self) -> None:
        super().__init__(self._points, lambda: "" if self._validated else self._reader.remark)
        self._reader = RowReader(Names(), lists=True, unit=StepUnit())
        self._read_events = CLEARML.reader(_scalars)
        self._validated = False
        """Whether there are rows of MMDetection's validation, which have the step of the row before by right."""

    @property
    def unread(self) -> str:
        return self._reader.unread

    def _points(self, values: list[Any]) -> list[Item]:
        logged = [value for value in values if type(value) is dict]
        rows = [*map(_metrics_of, logged)]
        pairs = zip(logged, rows, strict=True)
        self._validated = self._validated or any(
            row is not value and "iter" in value.keys() - row for value, row in pairs
        )
        items = self._reader.read(rows)
        if len(rows) == len(values):
            return items
        # a ClearML log shares its name with others, and is taken for one of them while it is empty
        return items + self._read_events([value for value in values if type(value) is list])


def decoder() -> MetricLines:
    return MetricLines()


def tail(head: bytes, data: bytes) -> list[Item]:
    """Read the last rows, from the first one that has a step, as Format.tail."""
    reader = RowReader(Names(), step_before=UNKNOWN_STEP, lists=True)
    lines = JSONLines(lambda values: reader.read([_metrics_of(value) for value in values if type(value) is dict]))
    parsed = map(_parsed, head[: head.rfind(b"\n") + 1].split(b"\n"))
    first = next((row for row in parsed if isinstance(row, dict) and "epoch" in row), {})
    reader.find_batch_key([first])
    points = with_step(lines.feed(data[data.find(b"\n") + 1 :]))
    epoch = first.get("epoch")
    return points if reader.tail_is_known(epoch if type(epoch) in (int, float) else None) else []


def _metrics_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the metrics under their names, also one of the name and the value of a single metric."""
    if "value" not in row or (key := next((key for key in _NAME_KEYS if type(row.get(key)) is str), None)) is None:
        return staged(row)
    if type(row["value"]) not in (int, float) or not has_step(row):
        return staged(row)
    return {**{name: value for name, value in row.items() if name not in (key, "value")}, row[key]: row["value"]}


def matches(name: str, head: bytes) -> bool:
    lines = head.removeprefix(BOM).lstrip().split(b"\n")
    whole = [line for line in lines[:-1] if line.strip()]
    by_name = name.endswith(_LINES_BY_NAME)
    if not whole:
        last = lines[-1].strip(b"\0\r\t ")
        return (by_name or name in _LINES_DESPITE_NAME) and _begins_like_metrics(last)
    rows = [_parsed(line) for line in whole[:_ROWS_EXAMINED]]
    if by_name:
        if all(row is None for row in rows) or (any(map(looks_like_metrics, rows)) and not _of_one_step(rows)):
            return True
    elif not all(isinstance(row, dict) for row in rows):
        return False
    else:
        return any(looks_like_metrics(row) and has_step(flatten(row)) for row in rows)
    return False


def _of_one_step(rows: Sequence[Any]) -> bool:
    """Return True if rows with texts share a step: then they are samples, however many numbers each of them has."""
    flat = [flatten(row) for row in rows if isinstance(row, dict)]
    steps = [
        next((row[key] for key in STEP_KEYS if key in row), None)
        for row in flat
        if any(is_sample(key, value) for key, value in row.items())
    ]
    return any(step is not None and step == after for step, after in pairwise(steps))


def _begins_like_metrics(line: bytes) -> bool:
    """Return True if an incomplete first line may be a row of metrics; the file name already says so."""
    if not line or is_utf16(line):  # for UTF-16 JSONLines then reports the reason
        return True
    if not line.startswith(b'{"'):
        return False
    if (row := _parsed(line)) is not None:
        return looks_like_metrics(row)
    begun = _parsed(line.rstrip(b"\\") + b'"}') or beginning(line)
    row = begun[0] if type(begun) is list and begun else begun  # lines that end with a carriage return only
    if type(row) is not dict:
        return len(line) < _SHORT
    may_be = len(line) < _SHORT or type(row.get("config")) is dict  # a row of Ray Tune with a long config
    return looks_like_metrics(row) or (may_be and not any(is_sample(*entry) for entry in row.items()))


def _parsed(line: bytes) -> Any:
    try:
        return parse(line.strip(b"\0\r\t "))
    except FormatError:
        return None


def _scalars(line: Any) -> Iterator[Any]:
    """Return the points among the events of a line of ClearML."""
    events = line if type(line) is list else [line]
    return (event for event in events if type(event) is dict and event.get("type") == _SCALAR)


def _has_events(name: str, head: bytes) -> bool:
    first = head.lstrip().partition(b"\n")[0]
    return first.startswith((b"[{", b"[ {")) and all(key in first for key in (b'"type"', b'"metric"', b'"variant"'))


FORMAT = Format(
    id="jsonl",
    title="JSON lines",
    writers="LLaMA-Factory, ms-swift, verl, SB3 2.9, Ray, torchtune, prime-rl, any logger of an object a line",
    rank=30,
    matches=matches,
    decoder=decoder,
    tail=tail,
    wants_name=lambda name: name.endswith(_LINES_BY_NAME + _OTHER_NAMES),
)
CLEARML_FORMAT = Format(
    id="clearml",
    title="ClearML offline metrics",
    writers="ClearML 1.16 and 2.1, offline mode",
    rank=30,
    matches=_has_events,
    decoder=lambda: JSONLines(CLEARML.reader(_scalars)),
    wants_name=lambda name: name.endswith(".jsonl"),
)
FORMATS = (CLEARML_FORMAT,)
