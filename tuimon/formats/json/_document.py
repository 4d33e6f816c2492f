"""Decoder of documents that hold rows and are rewritten whole at each save.

`RowsDocument` is the DocumentDecoder of every such format; a format adds a layout: parsed JSON -> Content.

A document is parsed as a whole up to MAX_WHOLE bytes; of a larger one, and of one that is cut or damaged, see
_whole_values. Points emitted before are not kept, only a digest of them for each section, which shows whether they
still begin the section.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.errors import FormatError, Unfinished
from tuimon.formats._shared.json import BOM, NOT_JSON, UTF16, is_utf16, parse
from tuimon.formats._shared.row_reader import RowReader
from tuimon.formats._shared.rows import same, staged, trimmed
from tuimon.formats.json._whole_values import WholeValues
from tuimon.model.points import Damage, Fact, Item, Names, Points, Replaced, Topic

MAX_WHOLE = 64 << 20
"""Bytes up to which a document is parsed at once: its objects take about ten times as much memory."""
_ROWS_AT_ONCE = 1 << 14
_BLANK = b" \t\r\n\0"
_POINT = np.dtype([("metric", "<u4"), ("step", "<i8"), ("value", "<f8"), ("wall_time", "<f8")])


class Content(Struct, frozen=True):
    """The rows and facts of a document."""

    sections: Mapping[str, Sequence[Any]]
    """Prefix of metric names ("train_history/", or "") -> list of rows; other values in the list are ignored."""
    facts: Sequence[Fact] = ()
    unit: str = ""
    """What the steps of the rows are: "epoch" or "step"; "" if it is not known yet."""


class RowsDocument:
    """A DocumentDecoder. `layout` returns the Content of a parsed document, or None if it is not of this format."""

    def __init__(self, layout: Callable[[Any], Content | None]) -> None:
        self._layout = layout
        self._names = Names()
        self._emitted: dict[str, tuple[int, bytes]] = {}
        """Number and digest of the points of each section that were emitted."""
        self._facts: dict[str, Fact] = {}
        self._unit = "step"

    def load(self, data: bytes) -> list[Item]:
        data = data.rstrip(_BLANK)
        _check_beginning(data)
        if len(data) <= MAX_WHOLE:
            with suppress(Unfinished):
                return self._whole(parse_document(data))
        values = WholeValues(data, large=len(data) > MAX_WHOLE)
        if values.damaged_at is None:
            return self._whole(values.document)
        error = Unfinished("half-written document")
        error.damage = [Damage(values.damaged_at, len(data) - values.damaged_at, "document damaged")]
        content = self._layout(values.document)
        error.items = self._update(content, is_whole=False) if content is not None else []
        raise error

    def _whole(self, document: Any) -> list[Item]:
        content = self._layout(document)
        if content is None and not self._emitted:
            raise FormatError("no rows, columns or series of metrics in this document")
        return self._update(content or Content({}), is_whole=True)

    def _update(self, content: Content, is_whole: bool) -> list[Item]:
        """Return what is new in the content. Nothing is if known rows are missing in a document that is not whole."""
        facts: dict[str, Fact] = {}
        points = {prefix: self._read(prefix, rows, facts) for prefix, rows in content.sections.items()}
        before = self._emitted
        replaced = any(_digest(points.get(prefix, ()), count) != known for prefix, (count, known) in before.items())
        if replaced and not is_whole:
            return []
        self._emitted = {prefix: (sum(map(len, parts)), _digest(parts)) for prefix, parts in points.items()}
        items: list[Item] = [Replaced()] if replaced else []
        for prefix, parts in points.items():
            left = before[prefix][0] if prefix in before and not replaced else 0
            for part in parts:
                if len(part) > left:
                    items.append(part.select(slice(left, None)))
                left -= min(left, len(part))
        if is_whole or not self._facts:  # of a document that ends early, facts may be missing
            items += self._changed([*facts.values(), *content.facts])  # facts of the document override its rows'
        return items + self._changed_unit(content.unit)

    def _read(self, prefix: str, rows: Sequence[Any], facts: dict[str, Fact]) -> list[Points]:
        """Return the points of a section, and add the facts of its rows to `facts` by topic."""
        reader = RowReader(self._names, prefix)
        points: list[Points] = []
        remaining = (staged(row) for row in rows if type(row) is dict)
        while some := list(islice(remaining, _ROWS_AT_ONCE)):
            for item in reader.read(some):
                if isinstance(item, Points):
                    points.append(item)
                elif isinstance(item, Fact):
                    facts[item.topic] = item
        return points

    def _changed_unit(self, unit: str) -> list[Item]:
        if unit in ("", self._unit):
            return []
        self._unit = unit
        return [Fact(Topic.PROGRESS, {"unit": unit})]

    def _changed(self, facts: Sequence[Fact]) -> list[Fact]:
        changed = []
        for fact in (Fact(fact.topic, trimmed(fact.value)) for fact in facts):
            known = self._facts.get(fact.topic)
            if known is None or not same(fact.value, known.value):
                self._facts[fact.topic] = fact
                changed.append(fact)
        return changed


def parse_document(data: bytes) -> Any:
    """Parse JSON. Raises Unfinished if the document may still become complete, FormatError if it cannot."""
    _check_beginning(data)
    if data[-1:] not in b"}]" or b"\0" in data:
        raise Unfinished("half-written document")
    try:
        return parse(data)
    except FormatError as error:
        if error.message == NOT_JSON:
            raise Unfinished("half-written document") from error
        raise


def json_object(data: bytes) -> dict[str, Any]:
    """Parse a document that is an object. Raises FormatError or Unfinished."""
    document = parse_document(data.rstrip(b" \t\r\n\0"))
    if not isinstance(document, dict):
        raise FormatError("no metadata in this document")
    return document


def _check_beginning(data: bytes) -> None:
    """Raise FormatError if the first value is neither an object nor an array, Unfinished if there is none."""
    if is_utf16(data):
        raise FormatError(UTF16)
    first = data[:64].removeprefix(BOM).lstrip(b" \t\r\n")[:1]
    if first in b"\0":
        raise Unfinished("empty document")
    if first not in b"{[":
        raise FormatError(NOT_JSON)


def _digest(parts: Iterable[Points], count: int | None = None) -> bytes:
    """Return a digest of the first `count` points, however they are divided; b"" if there are fewer."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        points = part if count is None else part.select(slice(count))
        packed = np.empty(len(points), _POINT)
        packed["metric"], packed["step"] = points.metric, points.steps
        packed["value"], packed["wall_time"] = points.values, points.wall_times
        digest.update(packed.tobytes())
        count = None if count is None else count - len(points)
    return b"" if count else digest.digest()
