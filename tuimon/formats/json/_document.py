"""Decoder of documents that hold rows and are rewritten whole at each save.

`RowsDocument` is the DocumentDecoder of every such format; a format adds a layout: parsed JSON -> Content.

Points emitted before are not kept, only a digest of them for each section, which shows whether they still begin the
section. Of a document over SUFFIX_FROM bytes only the part after the known rows is parsed, if the bytes before it are
unchanged; see Tail. A document over STREAM_FROM bytes is parsed in parts, whose points are returned as they are taken;
see _parts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from msgspec import Struct

from tuimon.errors import FormatError, Unfinished
from tuimon.formats._shared.json import BOM, NOT_JSON, UTF16, is_utf16, parse
from tuimon.formats._shared.row_reader import Names, RowReader
from tuimon.formats._shared.rows import same, trimmed
from tuimon.formats.json._parts import LISTS, MAX_WHOLE, STREAM_FROM, TOO_LARGE, Damaged, RowParts, find_parts
from tuimon.formats.json._salvage import mended
from tuimon.model.points import Damage, Fact, Item, Points, Replaced, Topic

SUFFIX_FROM = 2 << 20
"""Bytes. Parsing a smaller document takes about 10 ms."""
_BLANK = b" \t\r\n\0"
_BOUNDARY = re.compile(rb"\}\s*+\{")
_POINT = np.dtype([("metric", "<u4"), ("step", "<i8"), ("value", "<f8"), ("wall_time", "<f8")])


class Content(Struct, frozen=True):
    """The rows and facts of a document."""

    sections: Mapping[str, Sequence[Any]]
    """Prefix of metric names ("train_history/", or "") -> list of rows; other values in the list are ignored."""
    facts: Sequence[Fact] = ()
    unit: str = ""
    """What the steps of the rows are: "epoch" or "step"; "" if it is not known yet."""


class _Section:
    """The rows of one list: count and digest of the points emitted so far."""

    def __init__(self, names: Names, prefix: str) -> None:
        self.reader = RowReader(names, prefix)
        self.count = 0
        self.digest = hashlib.blake2b(digest_size=16)

    def read(self, rows: Sequence[Any], facts: dict[str, Fact]) -> Points | None:
        """Return the points of the next rows, and add their facts to `facts` by topic."""
        items = self.reader.read([row for row in rows if type(row) is dict])
        facts.update({item.topic: item for item in items if isinstance(item, Fact)})
        points = next((item for item in items if isinstance(item, Points)), None)
        if points is not None:
            self.count += len(points)
            self.digest.update(_packed(points))
        return points

    def begins(self, points: Iterable[Points | None]) -> bool:
        """Return True if the points emitted so far are the first of these."""
        digest, left = hashlib.blake2b(digest_size=16), self.count
        for part in points:
            if left and part is not None:
                digest.update(_packed(part.select(slice(left))))
                left -= min(left, len(part))
            if not left:
                break
        return not left and digest.digest() == self.digest.digest()


class RowsDocument:
    """A DocumentDecoder. `layout` returns the Content of a parsed document, or None if it is not of this format.

    sequences: also read objects that follow one another as a list of them.
    """

    def __init__(self, layout: Callable[[Any], Content | None], sequences: bool = False) -> None:
        self._layout = layout
        self._sequences = sequences
        self._names = Names()
        self._sections: dict[str, _Section] = {}
        self._facts: dict[str, Fact] = {}
        self._unit = "step"
        self._tail: Tail | None = None

    def load(self, data: bytes) -> Iterable[Item]:
        if data[-1:] in _BLANK and (len(data) < STREAM_FROM or data.endswith(b"\0")):
            data = data.rstrip(_BLANK)
        try:
            items = self._load_tail(data)
            return self._load_whole(data) if items is None else items
        except Unfinished as error:
            error.items, error.damage = self._load_mended(data.rstrip(_BLANK))
            raise

    def _load_mended(self, data: bytes) -> tuple[Iterable[Item], list[Damage]]:
        """Return (what is new in the undamaged rows of a document, its damage). No items if known rows are missing."""
        if not data.lstrip(_BLANK):
            return [], []
        damage = [Damage(0, len(data), "document damaged")]
        try:
            whole = mended(data)
            if whole is None:
                return [], damage
            beginning, damage = whole
            content = self._layout(_parsed(beginning, parse))
        except FormatError:
            return [], damage
        items = self._update(content, None, may_replace=False) if content is not None else None
        if items:
            self._tail = None  # its rows after the known ones are known now
        return items or [], damage

    def _load_tail(self, data: bytes) -> list[Item] | None:
        """Parse only the rows after the known ones and return what is new; None if the whole document is needed."""
        if self._tail is None or (document := self._tail.parse(data)) is None:
            return None
        content = self._layout(document)
        continued = _section_of(content, self._tail.rows(document))
        if content is None or continued not in self._sections:
            return None
        items = self._update(content, continued)
        if items is not None:
            items = list(items)
            self._tail = Tail.find(data, document, self._tail.key)
        return items

    def _load_whole(self, data: bytes) -> Iterable[Item]:
        document = _parsed(data, parse_objects if self._sequences else parse_document, self._sequences)
        content = self._layout(document)
        if content is None and not self._sections:
            raise FormatError("no rows, columns or series of metrics in this document")
        content = content or Content({})
        items = self._update(content, None)
        self._tail = Tail.find(data, document, _longest(document, content)) if len(data) >= SUFFIX_FROM else None
        return items or []

    def _update(self, content: Content, continued: str | None, may_replace: bool = True) -> Iterable[Item] | None:
        """Return what is new in the content.

        continued: prefix of the section of which `content` only has the rows after the known ones. If another section
        was rewritten then, or if known rows have changed and `may_replace` is False, return None and change nothing.
        """
        if any(isinstance(rows, RowParts) for rows in content.sections.values()):
            return self._update_in_parts(content, may_replace)
        fresh: dict[str, _Section] = {}
        points: dict[str, Points | None] = {}
        facts: dict[str, Fact] = {}
        for prefix, rows in content.sections.items():
            if prefix != continued:
                fresh[prefix] = _Section(self._names, prefix)
                points[prefix] = fresh[prefix].read(rows, facts)
        replaced = any(
            not known.begins([points.get(prefix)]) for prefix, known in self._sections.items() if prefix != continued
        )
        if replaced and (continued is not None or not may_replace):
            return None
        for prefix, known in self._sections.items():
            if prefix == continued:
                points[prefix] = known.read(content.sections[prefix], facts)
            elif known.count and not replaced and (whole := points[prefix]) is not None:
                points[prefix] = whole.select(slice(known.count, None)) if len(whole) > known.count else None
        kept = {continued: self._sections[continued]} if continued is not None else {}
        self._sections = fresh | kept
        items: list[Item] = [Replaced()] if replaced else []
        items += [new for prefix in content.sections if (new := points[prefix]) is not None]
        if may_replace or not self._facts:  # of a document that ends early, facts may be missing
            items += self._changed([*facts.values(), *content.facts])  # facts of the document override its rows'
        return items + self._changed_unit(content.unit)

    def _update_in_parts(self, content: Content, may_replace: bool) -> Iterator[Item] | None:
        """Return what is new in a large document as `_update`, part by part. Known rows are first read and compared."""
        replaced = False
        for prefix, known in self._sections.items():
            other = _Section(self._names, prefix)
            parts = (other.read(part, {}) for part in _parts(content.sections.get(prefix, ())))
            replaced = replaced or not known.begins(parts)
        return None if replaced and not may_replace else self._new_parts(content, replaced, may_replace)

    def _new_parts(self, content: Content, replaced: bool, may_replace: bool) -> Iterator[Item]:
        if replaced:
            yield Replaced()
        known, self._sections = self._sections, {}
        facts: dict[str, Fact] = {}
        for prefix, rows in content.sections.items():
            section = self._sections[prefix] = _Section(self._names, prefix)
            left = known[prefix].count if prefix in known and not replaced else 0
            for part in _parts(rows):
                points = section.read(part, facts)
                if points is not None and len(points) > left:
                    yield points.select(slice(left, None)) if left else points
                left -= min(left, len(points or ()))
        if may_replace or not self._facts:
            yield from self._changed([*facts.values(), *content.facts])
        yield from self._changed_unit(content.unit)

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


class Tail(Struct, frozen=True):
    """A document cut after the last row of its longest list, so that only what follows must be parsed next time.

    If the bytes before the cut are unchanged, a parser that has read them is inside that list of the top-level object
    (or inside the top-level list), after a complete element. A parser that has read a short opener, `{"<key>":[null`,
    is in the same state. So the opener followed by the bytes after the cut is valid JSON exactly if the document is.
    `find` proves that the cut lies there: what follows it must then parse as an empty rest of the list and the keys
    and values that follow the list in the whole document.
    """

    digest: bytes
    """Digest of the bytes before the cut."""
    cut: int
    key: str | None
    """Key of the list; None if the document itself is the list."""
    before: Mapping[str, Any]
    """Entries of the object before the list."""

    @staticmethod
    def find(data: bytes, document: Any, key: str | None) -> Tail | None:
        if isinstance(document, LISTS):
            closing, before, after = data.rfind(b"]"), {}, {}
        elif key is None:
            return None
        else:
            keys = list(document)
            index = keys.index(key)
            before = {name: document[name] for name in keys[:index]}
            after = {name: document[name] for name in keys[index + 1 :]}
            end = data.rfind(orjson.dumps(keys[index + 1])) if after else len(data)
            closing = data.rfind(b"]", 0, max(end, 0))
        if any(isinstance(value, RowParts) for value in (*before.values(), *after.values())):
            return None  # several large lists
        cut = data.rfind(b"}", 0, max(closing, 0)) + 1
        if not cut or len(data) - cut > STREAM_FROM:
            return None
        tail = Tail(_digest(data, cut), cut, key, before)
        try:
            rest = tail._rest(data)
        except FormatError:
            return None
        proved = rest == [None] if key is None else same(rest, {key: [None], **after}) and list(rest) == [key, *after]
        return tail if proved else None

    def parse(self, data: bytes) -> Any:
        """Return the document with only the new rows in its list; None if the bytes before the cut have changed."""
        if not self.cut <= len(data) < self.cut + STREAM_FROM or _digest(data, self.cut) != self.digest:
            return None
        try:
            rest = self._rest(data)
        except FormatError as error:
            raise Unfinished("half-written document") from error
        if self.key is None:
            return rest[1:] if isinstance(rest, list) else None
        rows = rest[self.key] if isinstance(rest, dict) else None
        if not isinstance(rows, list) or rows[:1] != [None] or not self.before.keys().isdisjoint(rest):
            return None  # a duplicate key
        return {**self.before, **rest, self.key: rows[1:]}

    def rows(self, document: Any) -> list[Any]:
        """Return the list within a document from `parse`."""
        rows: list[Any] = document if self.key is None else document[self.key]
        return rows

    def _rest(self, data: bytes) -> Any:
        opener = b"[null" if self.key is None else b"{" + orjson.dumps(self.key) + b":[null"
        return parse(opener + memoryview(data)[self.cut :])


def _digest(data: bytes, end: int) -> bytes:
    return hashlib.blake2b(memoryview(data)[:end], digest_size=16).digest()


def _parts(rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return rows.parts() if isinstance(rows, RowParts) else (rows,)


def _parsed(data: bytes, whole: Callable[[bytes], Any], sequences: bool = False) -> Any:
    """Parse a document as `whole` does, a large one in parts. Raises FormatError also if it is too large for that."""
    if len(data) < STREAM_FROM:
        return whole(data)
    if is_utf16(data):
        raise FormatError(UTF16)
    if b"\0" in data:
        raise Unfinished("half-written document")
    try:
        document = find_parts(data, sequences)
    except Damaged as error:
        raise Unfinished("half-written document") from error
    if document is not None:
        return document
    if len(data) > MAX_WHOLE:
        raise FormatError(TOO_LARGE)
    return whole(data.rstrip(_BLANK))


def parse_document(data: bytes) -> Any:
    """Parse JSON. Raises Unfinished if the document may still become complete, FormatError if it cannot."""
    start = data[:64].removeprefix(BOM).lstrip(b" \t\r\n")[:1]
    if is_utf16(data):
        raise FormatError(UTF16)
    if start in b"\0":
        raise Unfinished("empty document")
    if start not in b"{[":
        raise FormatError(NOT_JSON)
    if data[-1:] not in b"}]" or b"\0" in data:
        raise Unfinished("half-written document")
    try:
        return parse(data)
    except FormatError as error:
        if error.message == NOT_JSON:
            raise Unfinished("half-written document") from error
        raise


def parse_objects(data: bytes) -> Any:
    """Parse a document as `parse_document`, or flat objects that follow one another as a list of them:
    json.dump(row, file, indent=2) for each row of a file that is opened for appending."""
    try:
        return parse_document(data)
    except Unfinished:
        rows = sequence(data)
        if rows is None:
            raise
        return rows


def sequence(data: bytes) -> list[dict[str, Any]] | None:
    """Return two or more flat objects that follow one another; None for anything else."""
    data = data.removeprefix(BOM).strip(_BLANK)
    if b"\0" in data or not (data.startswith(b"{") and data.endswith(b"}") and _BOUNDARY.search(data)):
        return None
    try:
        rows = parse(b"[" + _BOUNDARY.sub(b"},{", data) + b"]")
    except FormatError:
        return None
    flat = all(isinstance(row, dict) and not any(isinstance(value, list) for value in row.values()) for row in rows)
    return rows if flat else None


def _longest(document: Any, content: Content) -> str | None:
    """Return the key of the longest section that is a list in the top-level object, or None."""
    entries = document.items() if isinstance(document, dict) else ()
    lists = {key: len(rows) for key, rows in entries if _section_of(content, rows) is not None}
    return max(lists, key=lists.__getitem__, default=None)


def _section_of(content: Content | None, rows: Any) -> str | None:
    """Return the prefix of the section that is this list (the same object), or None."""
    sections = content.sections.items() if content else ()
    return next((prefix for prefix, section in sections if section is rows), None)


def _packed(points: Points) -> bytes:
    """Return the points as packed records, so that a digest does not depend on how they are batched."""
    packed = np.empty(len(points), _POINT)
    packed["metric"], packed["step"] = points.metric, points.steps
    packed["value"], packed["wall_time"] = points.values, points.wall_times
    return packed.tobytes()
