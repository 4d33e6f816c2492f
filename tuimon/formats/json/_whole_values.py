"""What is whole in the text of a JSON document that is cut, damaged, or too large to be held as objects.

    {"args": {"lr": 0.1}, "train": [{"step": 1, "loss": 0.5}, {"step": 2, "lo      the first row of "train", and args

- Reading stops at the first byte that is not JSON, or is NUL; what follows it is not read.
- Of a list its whole elements are kept, of an object outside of lists its whole members.
- A number counts only with the comma or bracket behind it, as its last digits may be missing.
- A list of numbers that is cut is dropped if its object has others before it: lists of one length belong together.
- Flat objects that follow one another are rows: json.dump(row, file, indent=2) in a file opened for appending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from tuimon import lazy_re as re
from tuimon.formats._shared.json import decode_value, decoded_text

_BLANKS = re.compile(r"[ \t\r\n]*+")
_MAX_DEPTH = 32
"""Objects nested deeper are read as a whole or not at all."""


class LargeList(Sequence[Any]):
    """The elements of a list in a text, decoded again at each iteration, so that only the text is held."""

    def __init__(self, text: str, start: int, count: int, convert: Callable[[Any], Any] | None = None) -> None:
        """start: where the first element begins. convert: applied to each element."""
        self._text, self._start, self._count, self._convert = text, start, count, convert

    def map(self, convert: Callable[[Any], Any]) -> LargeList:
        """Return the elements as `convert` returns them."""
        before = self._convert
        both = convert if before is None else lambda element: convert(before(element))
        return LargeList(self._text, self._start, self._count, both)

    def __iter__(self) -> Iterator[Any]:
        position = self._start
        for _ in range(self._count):
            element, position = decode_value(self._text, position)
            position = _after_blanks(self._text, _after_blanks(self._text, position) + 1)
            yield element if self._convert is None else self._convert(element)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return an element or several, counted from the first one."""
        last = (index.stop if isinstance(index, slice) else index + 1) or 0
        return [element for element, _ in zip(self, range(last), strict=False)][index]


LISTS = (list, LargeList)
"""Types of a list in a document."""


class WholeValues:
    """The whole values of a document.

    large: keep lists of objects as LargeList. keep_cut: keep lists of numbers that are cut, for recognising a document
    by its beginning.
    """

    def __init__(self, data: bytes, large: bool = False, keep_cut: bool = False) -> None:
        text = decoded_text(data)
        self._text = text if (hole := text.find("\0")) < 0 else text[:hole]
        self._large, self._keep_cut = large, keep_cut
        self._damaged_at: int | None = None
        self.document: Any = None
        """The document, or the list of rows that follow one another; None if nothing is whole."""
        self._read(hole >= 0)

    @property
    def damaged_at(self) -> int | None:
        """Offset in bytes of the first value that is not whole, or of what follows the document; None without one."""
        place = self._damaged_at
        return place if place is None or self._text.isascii() else len(self._text[:place].encode())

    def _read(self, has_hole: bool) -> None:
        values: list[Any] = []
        position = self._after(0)
        while position < len(self._text) and self._damaged_at is None:
            begin = position
            try:
                value, position = self._value(begin, 0)
            except ValueError:
                self._damaged_at = begin
                break
            if values and not (_is_flat(values[0]) and _is_flat(value)):
                self._damaged_at = begin
                break
            values.append(value)
            position = self._after(position)
        if self._damaged_at is None and (has_hole or not values):
            self._damaged_at = len(self._text)
        self.document = values if len(values) > 1 else values[0] if values else None

    def _after(self, position: int) -> int:
        return _after_blanks(self._text, position)

    def _value(self, position: int, depth: int) -> tuple[Any, int]:
        mark = self._text[position : position + 1]
        if mark == "{" and depth < _MAX_DEPTH:
            return self._object(position, depth)
        return self._list(position) if mark == "[" else decode_value(self._text, position)

    def _object(self, position: int, depth: int) -> tuple[dict[str, Any], int]:
        """Return (whole members of the object at `position`, its end)."""
        members: dict[str, Any] = {}
        begin = self._after(position + 1)
        if self._text[begin : begin + 1] == "}":
            return members, begin + 1
        while True:
            try:
                key, position = decode_value(self._text, begin)
                position = self._after(position)
                if type(key) is not str or self._text[position : position + 1] != ":":
                    raise ValueError("no key")
                value, position = self._value(self._after(position + 1), depth + 1)
            except ValueError:
                self._damaged_at = begin
                return members, begin
            position = self._after(position)
            mark = self._mark_after(begin, position, "}")
            beside_others = _of_numbers(value) and not self._keep_cut and any(map(_of_numbers, members.values()))
            if mark or not (type(value) in (int, float) or beside_others):
                members[key] = value
            if mark != ",":
                return members, position + 1
            begin = self._after(position + 1)

    def _list(self, position: int) -> tuple[Sequence[Any], int]:
        """Return (whole elements of the list at `position`, its end)."""
        elements: list[Any] = []
        count = 0
        start = begin = self._after(position + 1)
        if self._text[begin : begin + 1] == "]":
            return elements, begin + 1
        large = self._large and self._text[begin : begin + 1] == "{"
        mark = ","
        while mark == ",":
            try:
                value, position = decode_value(self._text, begin)
            except ValueError:
                self._damaged_at = begin
                break
            position = self._after(position)
            mark = self._mark_after(begin, position, "]")
            if mark or type(value) not in (int, float):
                count += 1
                if not large:
                    elements.append(value)
            begin = self._after(position + 1)
        return LargeList(self._text, start, count) if large else elements, position + 1

    def _mark_after(self, begin: int, position: int, closing: str) -> str:
        """Return the comma or bracket after the value that began at `begin`; "" if that is not whole or has none."""
        mark = self._text[position : position + 1]
        if self._damaged_at is None and mark not in (",", closing):
            self._damaged_at = begin
        return mark if self._damaged_at is None else ""


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _of_numbers(value: Any) -> bool:
    return type(value) is list and bool(value) and type(value[0]) in (int, float)


def _is_flat(value: Any) -> bool:
    return type(value) is dict and not any(isinstance(inner, LISTS) for inner in value.values())
