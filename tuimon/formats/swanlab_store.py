"""SwanLab's run file: backup.swanlab (0.6.2 to 0.7) and run-<id>.swanlab (from 0.8). The framing is that of _log_blocks
in all versions; the version byte says what the records are, but so does their first byte.

Versions 0 and 1: one JSON object a record, {"model_type": …, "data": {…}}
    Scalar      key, step, metric {index, data, create_time}; for the forms of data see _swanlab_values
    Column      key, kid (the folder below logs/), cls "CUSTOM" | "SYSTEM", name, y_range [low, high]
    Project     name      Experiment  id, name, description, tags      Log  message, level, create_time
    Footer      success, create_time: after a clean end only

Version 2: a protobuf message, swanlab.record.v1.Record: num=1 timestamp=2 and one of
    start=10    project=1 workspace=2 name=4 description=5 tags=6* group=7 job_type=8 id=10 started_at=12
    finish=11   state=1 (0 running, 1 finished, 2 crashed, 3 aborted) error=2
    column=12   column_class=1 (2 system) column_key=3 column_name=4 y_range=7 {min=1 max=2, doubles}
    scalar=13   key=1 step=2 timestamp=4 value=5 {number=1, a double}
    log=16      line=1 level=2 timestamp=3

proto3 leaves out zeros: a scalar without a step is step 0, an empty value is 0.0.
Names that begin with "__swanlab__." are the machine's; their steps count the measurements, not training steps.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import numpy as np

from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._block_decoder import BlockDecoder
from tuimon.formats._console_lines import ConsoleLines
from tuimon.formats._json import parse
from tuimon.formats._message import Message
from tuimon.formats._protobuf import BYTES, VARINT, fields, signed, varint
from tuimon.formats._swanlab_scalars import read_scalars
from tuimon.formats._swanlab_values import number, seconds, step
from tuimon.model.points import Damage, Fact, Item, PointsBuilder

MAGIC = b":SWL\xd6\xe1"
SYSTEM = "__swanlab__."
"""Before the names of what SwanLab measured of the machine."""

_DOUBLE = struct.Struct("<d")
_SCALAR = 13
_MANY = 16
"""Records from which on it is worth while to read them all together."""
_VERSION = re.compile(r"swanlab version (\d[\w.]*)")
_STATES = {1: "finished", 2: "crashed", 3: "crashed"}


class SwanLabStoreDecoder(BlockDecoder):
    """A StreamDecoder of one run file, of any version."""

    def __init__(self) -> None:
        super().__init__(MAGIC)
        self._points = PointsBuilder()
        self._waiting: list[tuple[int, bytes]] = []
        """Protobuf records of this feed, and where they begin."""
        self._console = ConsoleLines()
        self._writer: dict[str, Any] = {"name": "swanlab"}
        self._writer_told: dict[str, Any] = {}
        self._metrics: dict[str, dict[str, Any]] = {}
        self._time_bytes, self._time = b"", math.nan

    def _record(self, record: bytes) -> None:
        if record[:1] == b"{":
            self._read_waiting()
            self._json_record(record)
        else:
            self._waiting.append((self._offset, record))

    def _read_waiting(self) -> None:
        """The protobuf records since the last call."""
        waiting, self._waiting = self._waiting, []
        begun, columns, alone = 0, None, list(range(len(waiting)))
        if len(waiting) >= _MANY:
            found = read_scalars([record for _, record in waiting], self._metric_id)
            columns = [column.tolist() for column in found[1:]]
            alone = np.flatnonzero(~found.usual).tolist()
        for index in [*alone, len(waiting)]:
            if columns is not None and index > begun:
                self._points.extend(*(column[begun:index] for column in columns))
            begun = index + 1
            for offset, record in waiting[index:begun]:
                try:
                    self._protobuf_record(record)
                except FormatError:
                    self._news.append(Damage(offset, len(record), "record not readable"))

    def _metric_id(self, key: bytes) -> int:
        return self._points.metric_id(key.decode("utf-8", "replace"))

    def _take(self) -> list[Item]:
        self._read_waiting()
        items = self._points.take() + self._console.take() + self._news
        if self._metrics:
            items.append(Fact("metrics", self._metrics))
            self._metrics = {}
        if self._writer != self._writer_told and len(self._writer) > 1:
            self._writer_told = dict(self._writer)
            items.append(Fact("writer", self._writer_told))
        return items

    def _protobuf_record(self, record: bytes) -> None:
        for field, wire, start, end in fields(record, 0, len(record)):
            if wire != BYTES:
                continue
            if field == _SCALAR:
                self._scalar(record, start, end)
            elif field in _READERS:
                _READERS[field](self, Message(record[start:end]))

    def _scalar(self, record: bytes, begin: int, stop: int) -> None:
        key, at_step, value, time = b"", 0, 0.0, b""
        for field, wire, start, end in fields(record, begin, stop):
            if field == 2 and wire == VARINT:
                at_step = signed(varint(record, start, end)[0])
            elif wire != BYTES:
                continue
            elif field == 1:
                key = record[start:end]
            elif field == 4:
                time = record[start:end]
            elif field == 5 and end - start == 9:
                value = _DOUBLE.unpack_from(record, start + 1)[0]
        if not key:
            raise FormatError("scalar without a name")
        self._add(key, at_step, value, time)

    def _add(self, key: bytes, at_step: int, value: float, time: bytes) -> None:
        if time != self._time_bytes:  # the scalars of one call share their time
            self._time_bytes, self._time = time, _timestamp(time)
        self._points.add(key.decode("utf-8", "replace"), at_step, value, self._time)

    def _read_start(self, start: Message) -> None:
        texts = {1: "project", 2: "workspace", 4: "run_name", 5: "notes", 7: "group", 8: "job_type", 10: "run_id"}
        self._writer.update({key: start.text(field) for field, key in texts.items() if start.text(field)})
        if tags := start.texts(6):
            self._writer["tags"] = tags
        started = start.timestamp(12)
        if started is not None:
            self._writer["started"] = started

    def _read_finish(self, finish: Message) -> None:
        state = finish.integer(1)
        if state in _STATES:
            words = {1: "finished", 2: "crashed", 3: "aborted"}
            self._state(_STATES[state], f"swanlab wrote that the run {words[state]} {finish.text(2)}".rstrip())

    def _read_column(self, column: Message) -> None:
        value_range = None
        if 7 in column:
            limits = column.message(7)
            value_range = [limits.double(field) if field in limits else None for field in (1, 2)]
        self._column(column.text(3), column.text(4), value_range, column.integer(1) == 2, None)

    def _read_log(self, log: Message) -> None:
        self._log(str(log.integer(2)), log.text(1), log.timestamp(3))

    def _json_record(self, record: bytes) -> None:
        value = parse(record)
        data = value.get("data") if isinstance(value, dict) else None
        if not isinstance(data, dict):
            raise FormatError("not a SwanLab record")
        kind = value.get("model_type")
        if kind == "Scalar":
            metric = data.get("metric")
            if not isinstance(metric, dict):
                raise FormatError("scalar without a value")
            at_step, logged = step(data.get("step", metric.get("index"))), number(metric.get("data"))
            if at_step is None or logged is None:
                raise FormatError("scalar without a step or a value")
            self._points.add(str(data.get("key", "")), at_step, logged, seconds(metric.get("create_time")))
        elif kind == "Column":
            limits = data.get("y_range")
            value_range = [number(limit) for limit in limits] if isinstance(limits, list) else None
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
            self._state("finished" if good else "crashed", f"swanlab wrote its end, success {str(good).lower()}")

    def _column(
        self, key: str, title: str, value_range: list[float | None] | None, system: bool, folder: str | None
    ) -> None:
        facts = {"title": title, "range": value_range, "system": system, "folder": folder}
        if known := {name: fact for name, fact in facts.items() if fact}:
            self._metrics[key] = known

    def _log(self, level: str, line: str, time: float | None) -> None:
        if "version" not in self._writer and (found := _VERSION.search(line)):
            self._writer["version"] = found[1]
        self._console.add(level, line + "\n", time)

    def _state(self, state: str, evidence: str) -> None:
        self._console.end()
        self._news.append(Fact("state", {"state": state, "evidence": evidence}))


def _timestamp(data: bytes) -> float:
    time = Message(data)
    return time.integer(1) + time.integer(2) / 1e9 if data else math.nan


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
