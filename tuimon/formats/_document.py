"""Documents of rows that are rewritten whole at each save: what is new since the last load.

`RowsDocument` is the DocumentDecoder of every such format; a format gives it a layout: parsed JSON -> Content.

What was given before is not kept, only a digest of it for each section, which tells whether the known points still
begin the section. Of a document over SUFFIX_FROM bytes only what follows the rows known so far is parsed, when the
bytes before are unchanged: see _document_tail.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.errors import FormatError, Unfinished
from tuimon.formats._document_tail import Tail
from tuimon.formats._json import BOM, NOT_JSON, UTF16, is_utf16, parse
from tuimon.formats._row_reader import Names, RowReader
from tuimon.formats._rows import same, trimmed
from tuimon.model.points import Fact, Item, Points, Replaced

SUFFIX_FROM = 2 << 20
"""Bytes. Below it a whole parse takes some 10 ms, and keeping the document is not worth it."""
_BLANK = b" \t\r\n\0"
_POINT = np.dtype([("metric", "<u4"), ("step", "<i8"), ("value", "<f8"), ("wall_time", "<f8")])


class Content(Struct, frozen=True):
    """What a document holds."""

    sections: Mapping[str, Sequence[Any]]
    """Name prefix ("train_history/", or "") -> list of rows; what is no object in it is passed over."""
    facts: Sequence[Fact] = ()


class _Section:
    """The rows of one list: its points so far as their count and digest."""

    def __init__(self, names: Names, prefix: str) -> None:
        self.reader = RowReader(names, prefix)
        self.count = 0
        self.digest = hashlib.blake2b(digest_size=16)

    def read(self, rows: Sequence[Any]) -> tuple[Points | None, list[Fact]]:
        """The points of the next rows, and facts."""
        items = self.reader.read([row for row in rows if type(row) is dict])
        points = next((item for item in items if isinstance(item, Points)), None)
        if points is not None:
            self.add(points)
        return points, [item for item in items if isinstance(item, Fact)]

    def add(self, points: Points) -> None:
        self.count += len(points)
        self.digest.update(_packed(points))

    def begins(self, points: Points | None) -> bool:
        """Are the points known so far the first of these?"""
        if self.count == 0:
            return True
        if points is None or len(points) < self.count:
            return False
        return hashlib.blake2b(_packed(_slice(points, 0, self.count)), digest_size=16).digest() == self.digest.digest()


class RowsDocument:
    """A DocumentDecoder. `layout` gives the Content of a parsed document, or None when it is not one of this format."""

    def __init__(self, layout: Callable[[Any], Content | None]) -> None:
        self._layout = layout
        self._names = Names()
        self._sections: dict[str, _Section] = {}
        self._facts: dict[str, Fact] = {}
        self._tail: Tail | None = None

    def load(self, data: bytes) -> list[Item]:
        """See DocumentDecoder."""
        if data[-1:] in _BLANK:
            data = data.rstrip(_BLANK)
        items = self._load_tail(data)
        return self._load_whole(data) if items is None else items

    def _load_tail(self, data: bytes) -> list[Item] | None:
        """What is new when only the rows after the known ones are parsed; None when that does not do."""
        if self._tail is None or (document := self._tail.parse(data)) is None:
            return None
        content = self._layout(document)
        rows = self._tail.rows(document)
        continued = _section_of(content, rows)
        if content is None or continued not in self._sections:
            return None
        items = self._take(content, continued)
        if items is not None:
            self._tail = Tail.find(data, document, self._tail.key)
        return items

    def _load_whole(self, data: bytes) -> list[Item]:
        document = parse_document(data)
        content = self._layout(document)
        if content is None:
            raise FormatError("no rows of metrics in this document")
        items = self._take(content, None)
        self._tail = Tail.find(data, document, _longest(document, content)) if len(data) >= SUFFIX_FROM else None
        return items or []

    def _take(self, content: Content, continued: str | None) -> list[Item] | None:
        """What is new in the content. The rows of the section `continued` are those after the rows known so far, of the
        others all; None, and nothing changed, when one of the others was rewritten."""
        fresh: dict[str, _Section] = {}
        points: dict[str, Points | None] = {}
        facts: dict[str, Fact] = {}
        for prefix, rows in content.sections.items():
            if prefix != continued:
                fresh[prefix] = _Section(self._names, prefix)
                points[prefix] = self._read(fresh[prefix], rows, facts)
        replaced = any(
            not known.begins(points.get(prefix)) for prefix, known in self._sections.items() if prefix != continued
        )
        if replaced and continued is not None:
            return None
        for prefix, known in self._sections.items():
            if prefix == continued:
                points[prefix] = self._read(known, content.sections[prefix], facts)
            elif known.count and not replaced and (whole := points[prefix]) is not None:
                points[prefix] = _slice(whole, known.count, len(whole)) if len(whole) > known.count else None
        kept = {continued: self._sections[continued]} if continued is not None else {}
        self._sections = fresh | kept
        items: list[Item] = [Replaced()] if replaced else []
        items += [new for prefix in content.sections if (new := points[prefix]) is not None]
        items += self._changed([*facts.values(), *content.facts])  # what it says of itself is its latest word
        return items

    def _read(self, section: _Section, rows: Sequence[Any], facts: dict[str, Fact]) -> Points | None:
        points, found = section.read(rows)
        facts.update({fact.topic: fact for fact in found})
        return points

    def _changed(self, facts: Sequence[Fact]) -> list[Fact]:
        changed = []
        for fact in (Fact(fact.topic, trimmed(fact.value)) for fact in facts):
            known = self._facts.get(fact.topic)
            if known is None or not same(fact.value, known.value):
                self._facts[fact.topic] = fact
                changed.append(fact)
        return changed


def parse_document(data: bytes) -> Any:
    """Raises Unfinished for what may become whole, FormatError for what cannot."""
    start = data[:64].removeprefix(BOM).lstrip(b" \t\r\n")[:1]
    if is_utf16(data):
        raise FormatError(UTF16)
    if start in b"\0":
        raise Unfinished("empty document")
    if start not in b"{[":
        raise FormatError(NOT_JSON)
    if data[-1:] not in b"}]":
        raise Unfinished("half-written document")
    try:
        return parse(data)
    except FormatError as error:
        if error.message == NOT_JSON:
            raise Unfinished("half-written document") from error
        raise


def _longest(document: Any, content: Content) -> str | None:
    """The key of the longest section that is a list of the document's own object."""
    lists = (
        {key: len(rows) for key, rows in document.items() if _section_of(content, rows) is not None}
        if isinstance(document, dict)
        else {}
    )
    return max(lists, key=lists.__getitem__, default=None)


def _section_of(content: Content | None, rows: Any) -> str | None:
    """Which section of the content this very list is."""
    sections = content.sections.items() if content else ()
    return next((prefix for prefix, section in sections if section is rows), None)


def _slice(points: Points, begin: int, end: int) -> Points:
    part = slice(begin, end)
    return Points(points.names, points.metric[part], points.steps[part], points.values[part], points.wall_times[part])


def _packed(points: Points) -> bytes:
    """The points one after another, so that the digest does not depend on their batches."""
    packed = np.empty(len(points), _POINT)
    packed["metric"], packed["step"] = points.metric, points.steps
    packed["value"], packed["wall_time"] = points.values, points.wall_times
    return packed.tobytes()
