"""SwanLab's run file: backup.swanlab (0.6.2 to 0.7) and run-<id>.swanlab (from 0.8). The framing is described in
log_blocks for all versions. The version byte determines the kind of records, and so does their first byte.

Versions 0 and 1: one JSON object per record, {"model_type": …, "data": {…}}
    Scalar      key, step, metric {index, data, create_time}; data is a number, "NaN",
                "Infinity", "-Infinity", or "INF" for both infinities (0.3.12 to 0.7)
    Column      key, kid (the folder below logs/), cls "CUSTOM" | "SYSTEM", name, y_range [low, high]
    Project     name      Experiment  id, name, description, tags      Log  message, level, create_time
    Footer      success, create_time: only after a clean end

Version 2: a protobuf message, swanlab.record.v1.Record: num=1 timestamp=2 and one of
    start=10    project=1 workspace=2 name=4 description=5 tags=6* group=7 job_type=8 id=10 started_at=12
    finish=11   state=1 (0 running, 1 finished, 2 crashed, 3 aborted) error=2
    column=12   column_class=1 (2 system) column_key=3 column_name=4 y_range=7 {min=1 max=2, doubles}
    scalar=13   key=1 step=2 timestamp=4 value=5 {number=1, a double}
    log=16      line=1 level=2 timestamp=3

proto3 omits zeros: a scalar without a step is step 0, an empty value is 0.0. Names that begin with "__swanlab__." are
measurements of the machine; their steps count the measurements, not training steps.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.log_blocks import BlockDecoder
from tuimon.formats._shared.protobuf import BYTES, FIXED64, VARINT, Message, fields, signed, timestamp, varint
from tuimon.formats._shared.rows import number, seconds, step_of
from tuimon.model.points import Fact, Item, PointsBuilder, Topic

MAGIC = b":SWL\xd6\xe1"

_SCALAR = 13
_DOUBLE = struct.Struct("<d").unpack_from
_VERSION = re.compile(r"swanlab version (\d[\w.]*)")
_STATES = {1: "finished", 2: "crashed", 3: "crashed"}


class SwanLabStoreDecoder(BlockDecoder):
    """StreamDecoder of one run file of any version."""

    def __init__(self) -> None:
        super().__init__(MAGIC, "swanlab")
        self._points = PointsBuilder()
        self._reported_writer: dict[str, Any] = {}
        self._metrics: dict[str, dict[str, Any]] = {}

    def _decode_record(self, record: bytes) -> None:
        if record[:1] == b"{":
            self._decode_json(record)
            return
        for field, wire, start, end in fields(record, 0, len(record)):
            if wire == BYTES and field == _SCALAR:
                self._read_scalar(record, start, end)
            elif wire == BYTES and field in _READERS:
                _READERS[field](self, Message(record[start:end]))

    def _take_items(self) -> list[Item]:
        items = self._points.take() + self._console.take() + self._other_items
        if self._metrics:
            items.append(Fact(Topic.METRICS, self._metrics))
            self._metrics = {}
        if self._writer != self._reported_writer and len(self._writer) > 1:
            self._reported_writer = dict(self._writer)
            items.append(Fact(Topic.WRITER, self._reported_writer))
        return items

    def _read_scalar(self, data: bytes, start: int, end: int) -> None:
        """Add the point of the scalar data[start:end]; field by field, as a run may have a million of them."""
        key, step, time, value = b"", 0, math.nan, 0.0
        for field, wire, first, stop in fields(data, start, end):
            if field == 1 and wire == BYTES:
                key = data[first:stop]
            elif field == 2 and wire == VARINT:
                step = signed(varint(data, first, stop)[0])
            elif field == 4 and wire == BYTES and stop > first:
                time = timestamp(data, first, stop)
            elif field == 5 and wire == BYTES:
                for inner, inner_wire, begin, _ in fields(data, first, stop):
                    if inner == 1 and inner_wire == FIXED64:
                        (value,) = _DOUBLE(data, begin)
        if not key:
            raise FormatError("scalar without a name")
        self._points.add(key.decode("utf-8", "replace"), step, value, time)

    def _read_start(self, start: Message) -> None:
        texts = {1: "project", 2: "workspace", 4: "run_name", 5: "notes", 7: "group", 8: "job_type", 10: "run_id"}
        self._read_writer(start, texts, 6, 12)

    def _read_finish(self, finish: Message) -> None:
        state = finish.integer(1)
        if state in _STATES:
            words = {1: "finished", 2: "crashed", 3: "aborted"}
            self._add_state(_STATES[state], f"swanlab wrote that the run {words[state]} {finish.text(2)}".rstrip())

    def _read_column(self, column: Message) -> None:
        value_range = None
        if 7 in column:
            limits = column.message(7)
            value_range = [limits.double(field) if field in limits else None for field in (1, 2)]
        self._column(column.text(3), column.text(4), value_range, column.integer(1) == 2, None)

    def _read_log(self, log: Message) -> None:
        self._log(str(log.integer(2)), log.text(1), log.timestamp(3))

    def _decode_json(self, record: bytes) -> None:
        value = parse(record)
        data = value.get("data") if isinstance(value, dict) else None
        if not isinstance(data, dict):
            raise FormatError("not a SwanLab record")
        kind = value.get("model_type")
        if kind == "Scalar":
            metric = data.get("metric")
            if not isinstance(metric, dict):
                raise FormatError("scalar without a value")
            place, logged = step_of(data.get("step", metric.get("index"))), number(metric.get("data"), "")
            if place is None or logged is None:
                raise FormatError("scalar without a step or a value")
            time = seconds(metric.get("create_time"))
            self._points.add(str(data.get("key", "")), place[0], logged, math.nan if time is None else time)
        elif kind == "Column":
            limits = data.get("y_range")
            value_range = [number(limit, "") for limit in limits] if isinstance(limits, list) else None
            title, folder = str(data.get("name") or ""), str(data.get("kid") or "")
            self._column(str(data.get("key", "")), title, value_range, data.get("cls") == "SYSTEM", folder)
        elif kind == "Log":
            self._log(str(data.get("level")), str(data.get("message", "")), seconds(data.get("create_time")))
        elif kind == "Project":
            self._writer["project"] = data.get("name")
        elif kind == "Experiment":
            names = {"id": "run_id", "name": "run_name", "description": "notes", "tags": "tags"}
            self._writer.update({ours: data[theirs] for theirs, ours in names.items() if data.get(theirs)})
        elif kind == "Footer":
            good = data.get("success") is True
            self._add_state("finished" if good else "crashed", f"swanlab closed the run, success {str(good).lower()}")

    def _column(
        self, key: str, title: str, value_range: list[float | None] | None, system: bool, folder: str | None
    ) -> None:
        facts = {"title": title, "range": value_range, "system": system, "folder": folder}
        if known := {name: fact for name, fact in facts.items() if fact}:
            self._metrics[key] = known

    def _log(self, level: str, line: str, time: float | None) -> None:
        if "version" not in self._writer and (match := _VERSION.search(line)):
            self._writer["version"] = match[1]
        self._console.add(level, line + "\n", time)


_READERS = {
    10: SwanLabStoreDecoder._read_start,
    11: SwanLabStoreDecoder._read_finish,
    12: SwanLabStoreDecoder._read_column,
    16: SwanLabStoreDecoder._read_log,
}

FORMAT = Format(
    id="swanlab",
    title="SwanLab run file",
    writers="SwanLab 0.6 to 0.10: store v0, v1 and v2",
    rank=50,
    matches=lambda name, head: head.startswith(MAGIC),
    wants_name=lambda name: name.endswith(".swanlab"),
    decoder=SwanLabStoreDecoder,
)
