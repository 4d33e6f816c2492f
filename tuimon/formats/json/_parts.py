"""Large JSON documents whose lists of objects are parsed a part at a time, so that memory stays near the size of the
file: a parsed row takes about ten times its bytes.

    [{…}, {…}, …]                          a list of objects
    {"key": …, "list": [{…}, {…}, …], …}   an object with such lists beside small values
    {…} {…} …                              objects that follow one another

`find_parts` splits a list at commas outside of strings and brackets, found with numpy, and parses each part once to
prove that the document is valid. A part that begins at an element of the list and is valid between brackets of its own
consists of whole elements, so the split does not change what is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from tuimon.errors import FormatError
from tuimon.formats._shared.json import BOM, parse

STREAM_FROM = 8 << 20
"""Bytes from which a document is parsed in parts."""
MAX_WHOLE = 64 << 20
"""Maximum size (bytes) of a document of another shape, which is parsed as a whole."""
TOO_LARGE = f"larger than {MAX_WHOLE >> 20} MiB, and not a list of objects"
PART = 1 << 20
"""Bytes of a part, unless a single element is larger."""
_MAX_PART = 16 << 20
_SMALL = 4 << 20
"""Maximum size (bytes) of the values of an object that are parsed as a whole, together."""
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_BLANKS = re.compile(rb"[ \t\r\n]*")
_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*+")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_LIST = re.compile(rb"\[[ \t\r\n]*(?=\{)")
_NEXT = re.compile(rb"[ \t\r\n]*([,}])")
_JOINT = re.compile(rb"\}\s*+\{")
_STRICT = json.JSONDecoder(parse_int=float)
_QUOTE, _COMMA = b'",'
_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")], _DEPTH[list(b"]}")] = 1, -1
_IS_TOKEN = _DEPTH != 0
_IS_TOKEN[list(b'",')] = True


class Place(NamedTuple):
    """A place in a document up to which it is valid."""

    offset: int
    stack: bytes = b""
    """Brackets that are open there; empty at the end of a whole document that is followed by other bytes."""
    values: bool = False
    """Whether the innermost bracket holds values before the offset."""

    @property
    def opener(self) -> bytes:
        """A short beginning of a document, after which a parser is in the same state as here."""
        openers = {b"[": (b"[", b"[0,"), b"{": (b"{", b'{"":0,')}
        return openers[self.stack[-1:]][self.values] if self.stack else b""


class Damaged(FormatError):
    """The document is not valid JSON; the first error is after `place`."""

    def __init__(self, place: Place) -> None:
        super().__init__("half-written document")
        self.place = place


class _OtherShape(Exception):
    """The document cannot be parsed in parts."""


class _Structure(NamedTuple):
    """Commas and brackets outside of strings in a text that begins outside of a string."""

    offsets: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.uint8]
    depths: npt.NDArray[np.int64]
    """Number of open brackets after each token, relative to the beginning of the text."""

    @staticmethod
    def of(text: bytes) -> _Structure:
        if b"\\" in text:
            text = _ESCAPED.sub(b"__", text)
        codes = np.frombuffer(text, np.uint8)
        offsets = np.flatnonzero(_IS_TOKEN[codes])
        tokens = codes[offsets]
        quotes = tokens == _QUOTE
        outside = ~quotes & (np.cumsum(quotes) % 2 == 0)
        offsets, tokens = offsets[outside], tokens[outside]
        return _Structure(offsets, tokens, np.cumsum(_DEPTH[tokens], dtype=np.int64))


class RowParts(Sequence[Any]):
    """The elements of a list in a document, parsed again at each iteration.

    spans: (start, end) of each part, which consists of whole elements.
    """

    def __init__(
        self,
        data: bytes,
        spans: list[tuple[int, int]],
        count: int,
        parsed: Callable[[bytes], list[Any]],
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        self._data, self._spans, self._count = data, spans, count
        self._parsed, self._convert = parsed, convert

    def parts(self) -> Iterator[list[Any]]:
        """Yield the elements in order, in lists of about PART bytes of text."""
        for start, end in self._spans:
            part = self._parsed(self._data[start:end])
            yield part if self._convert is None else [self._convert(element) for element in part]

    def map(self, convert: Callable[[Any], Any]) -> RowParts:
        """Return the elements as `convert` returns them."""
        before = self._convert
        both = convert if before is None else lambda element: convert(before(element))
        return RowParts(self._data, self._spans, self._count, self._parsed, both)

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts():
            yield from part

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return an element, or several of the first part."""
        if isinstance(index, slice):
            return next(self.parts(), [])[index]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        index %= self._count
        for part in self.parts():
            if index < len(part):
                return part[index]
            index -= len(part)
        raise IndexError(index)


LISTS = (list, RowParts)
"""Types of a list in a document."""


def find_parts(data: bytes, sequences: bool = False, check: Callable[[bytes], Any] = parse) -> Any:
    """Return a document with RowParts in place of large lists of objects, or None if it has another shape.

    sequences: also read objects that follow one another, without lists in them. check: parses a part. Raises Damaged if
    the document is not valid, and FormatError as `check`.
    """
    start = len(BOM) if data.startswith(BOM) else 0
    start = _end_of_blanks(data, start)
    rows: Any
    try:
        if data[start : start + 1] == b"[":
            if not _LIST.match(data, start):
                return None
            rows, end = _list(data, start, check)
        elif data[start : start + 1] == b"{":
            rows, end = _object(data, start, check)
        else:
            return None
        end = _end_of_blanks(data, end)
        if end == len(data):
            return rows
        if sequences and isinstance(rows, dict) and (objects := _sequence(data, start)) is not None:
            return objects
    except _OtherShape:
        return None
    raise Damaged(Place(end))


def _end_of_blanks(data: bytes, start: int) -> int:
    match = _BLANKS.match(data, start)
    return match.end() if match else start


def _checked(text: bytes, check: Callable[[bytes], Any]) -> Any:
    """Parse a part. A document that is not UTF-8 has to be decoded as a whole."""
    if check is parse and not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            raise _OtherShape from None
    return check(text)


def _elements(text: bytes) -> list[Any]:
    elements: list[Any] = parse(b"[%b]" % text)
    return elements


def _objects(text: bytes) -> list[Any]:
    return _elements(_JOINT.sub(b"},{", text))


def _list(data: bytes, start: int, check: Callable[[bytes], Any]) -> tuple[RowParts, int]:
    """Return (elements of the list whose bracket is at `start`, offset after the list)."""
    spans: list[tuple[int, int]] = []
    count = 0
    position, size = start + 1, PART
    while True:
        text = data[position : position + size]
        structure = _Structure.of(text)
        ends = np.flatnonzero(structure.depths < 0)
        commas = np.flatnonzero((structure.tokens == _COMMA) & (structure.depths == 0))
        if len(ends):
            text = text[: structure.offsets[ends[0]]]
        elif len(commas):
            text = text[: structure.offsets[commas[-1]]]
        elif position + size >= len(data):
            raise Damaged(Place(position, b"[", bool(spans)))
        elif size >= _MAX_PART:
            error = error_in(b"[%b" % text)
            if error is not None and error < len(text) // 2:  # a quote is missing
                raise Damaged(Place(position, b"[", bool(spans)))
            raise _OtherShape
        else:
            size *= 2
            continue
        try:
            elements = len(_checked(b"[%b]" % text, check))
        except FormatError as error:
            raise Damaged(Place(position, b"[", bool(spans))) from error
        end = position + len(text)
        if not elements or (len(ends) and data[end : end + 1] != b"]"):
            raise Damaged(Place(position, b"[", bool(spans)))
        spans.append((position, end))
        count += elements
        position, size = end + 1, PART
        if len(ends):
            return RowParts(data, spans, count, _elements), position


def _object(data: bytes, start: int, check: Callable[[bytes], Any]) -> tuple[dict[str, Any], int]:
    """Return (members of the object whose bracket is at `start`, offset after the object)."""
    members: dict[str, Any] = {}
    position, whole = start + 1, 0
    while True:
        key = _KEY.match(data, position)
        if key is None:
            raise Damaged(Place(position, b"{", position > start + 1))
        try:
            name = _checked(key[1], check)
            if name in members:
                raise _OtherShape
            if _LIST.match(data, key.end()):
                rows, end = _list(data, key.end(), check)
                small = whole + end - position < _SMALL
                members[name] = list(rows) if small else rows
            else:
                end, small = _value_end(data, key.end()), True
                members[name] = _checked(data[key.end() : end], check)
        except Damaged as error:
            error.place = error.place._replace(stack=b"{" + error.place.stack)
            raise
        except FormatError as error:
            raise Damaged(Place(position, b"{", position > start + 1)) from error
        following = _NEXT.match(data, end)
        if following is None:
            raise Damaged(Place(position, b"{", position > start + 1))
        whole += (end - position) * small
        if whole > _SMALL:
            raise _OtherShape
        position = following.end()
        if following[1] == b"}":
            return members, position


def error_in(data: bytes) -> int | None:
    """Return the offset of the first byte that is not JSON; None for valid JSON. The memory is ten times the data."""
    try:
        _STRICT.decode(data.decode("latin-1"))
    except json.JSONDecodeError as error:
        return error.pos
    except RecursionError:
        return 0
    return None


def _value_end(data: bytes, start: int) -> int:
    """Return the offset after a value of an object; that of the end of a document that ends early."""
    size = 1 << 12
    while True:
        structure = _Structure.of(data[start : start + size])
        ends = np.flatnonzero((structure.depths < 0) | ((structure.tokens == _COMMA) & (structure.depths == 0)))
        if len(ends):
            return start + int(structure.offsets[ends[0]])
        if start + size >= len(data):
            return len(data)
        if size >= _SMALL:
            raise _OtherShape
        size *= 4


def _sequence(data: bytes, start: int) -> RowParts | None:
    """Return flat objects that follow one another; None for anything else."""
    spans: list[tuple[int, int]] = []
    count = 0
    position, size = start, PART
    while position < len(data):
        text = data[position : position + size]
        structure = _Structure.of(text)
        closed = np.flatnonzero((structure.tokens == b"}"[0]) & (structure.depths == 0))
        if not len(closed):
            if not data[position:].strip():
                break
            if position + size >= len(data) or size >= _MAX_PART:
                return None
            size *= 2
            continue
        end = position + int(structure.offsets[closed[-1]]) + 1
        text = data[position:end]
        try:
            rows = _checked(b"[%b]" % _JOINT.sub(b"},{", text), parse)
        except FormatError:
            return None
        if not all(isinstance(row, dict) and not any(isinstance(v, list) for v in row.values()) for row in rows):
            return None
        spans.append((position, end))
        count += len(rows)
        position, size = end, PART
    return RowParts(data, spans, count, _objects)
