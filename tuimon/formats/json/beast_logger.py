"""Beast-Logger's .json.log (AgentJet, AgentScope Tuner): records for a viewer, written through loguru.

    2026-01-29 12:01:00.123 | INFO     | ajet.backbone.trainer_verl:eval_dataset:1051 -
    {"header": "appworld", "color": "#4422cc", "content": "…│ │ TGC@1 │ 0.5 │ │…", "attach": null}

The `content` of an evaluation is a table drawn by rich: each row with a number becomes a point of <header>/<name>. It
has no step, so the step is the number of the evaluation, from 0; the time is that of the line above. A rollout record
is "base64:" and zlib-packed JSON. Its header, "[3] Task abc (Reward 0.500)", is kept as a text; its tokens are not
read. Source: beast_logger 0.1.4 (register.py) and ajet/backbone/trainer_verl.py.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from math import isnan
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format, StreamDecoder
from tuimon.formats._shared.beast_rows import BeastRows
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.lines import LineSplitter
from tuimon.formats._shared.rows import number, seconds
from tuimon.model.points import Damage, Fact, Item, PointsBuilder, Topic

_HEAD = re.compile(rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \| [A-Z]+ *\| ")
_PACKED = b"base64:"
_ROLLOUT = re.compile(rb'"header"\s*:\s*"((?:[^"\\]|\\.)*)"')
_UNPACKED = 4096
"""Bytes of a rollout that are unpacked: enough for its header, and a limit for decompression bombs."""


class BeastDecoder(StreamDecoder):
    """A StreamDecoder of pairs of lines: a loguru line with the time, then a record."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._points = PointsBuilder()
        self._time = float("nan")
        self._evaluations: dict[str, int] = {}

    def feed(self, data: bytes) -> Sequence[Item]:
        items: list[Item] = []
        for part in self._lines.feed(data):
            if isinstance(part, Damage):
                items.append(part)
                continue
            offset, lines = part
            for line in lines:
                items += self._line(offset, line)
                offset += len(line) + 1
        return self._points.take() + items

    def flush(self) -> Sequence[Item]:
        damage = self._lines.hole_at_end()
        line = self._lines.pending()
        if not line.startswith(b"{") or not line.rstrip().endswith(b"}") or b"\0" in line:
            return damage
        try:
            record = parse(line)
        except FormatError:
            return damage
        self._lines.take()
        self._evaluation(record)
        return self._points.take()

    def _line(self, offset: int, line: bytes) -> list[Item]:
        if head := _HEAD.match(line):
            self._time = seconds(head[1].decode()) or float("nan")
        elif line.startswith(b"{"):
            try:
                self._evaluation(parse(line))
            except FormatError as error:
                return [Damage(offset, len(line) + 1, error.message)]
        elif line.startswith(_PACKED):
            return self._rollout(offset, line)
        return []

    def _evaluation(self, record: Any) -> None:
        content = record.get("content") if isinstance(record, dict) else None
        if not isinstance(content, str):
            return
        header = str(record.get("header") or "evaluation")
        table = BeastRows()
        step = self._evaluations.get(header, 0)
        for line in content.split("\n"):
            if (row := table.line(line)) and (value := number(row[1], "")) is not None:
                self._points.add(f"{header}/{row[0]}", step, value, self._time)
                self._evaluations[header] = step + 1

    def _rollout(self, offset: int, line: bytes) -> list[Item]:
        try:
            packed = base64.b64decode(line.removeprefix(_PACKED).strip(), validate=True)
            text = zlib.decompressobj().decompress(packed, _UNPACKED)
        except (binascii.Error, zlib.error):
            return [Damage(offset, len(line) + 1, "unreadable rollout record")]
        header = _ROLLOUT.search(text)
        if header is None:
            return []
        title = header[1].decode("utf-8", "replace")
        return [
            Fact(Topic.TEXT, {"tag": "rollout", "text": title}, wall_time=None if isnan(self._time) else self._time)
        ]


def matches(name: str, head: bytes) -> bool:
    return _HEAD.match(head) is not None


FORMAT = Format(
    id="beast_logger",
    title="Beast-Logger records",
    writers="beast_logger 0.1.4",
    rank=30,
    matches=matches,
    decoder=BeastDecoder,
    wants_name=lambda name: name.endswith(".json.log"),
)
