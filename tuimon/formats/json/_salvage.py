"""Salvage of JSON documents that are cut, or damaged in the middle.

A document that is cut (the writer died, the disk was full) is closed after the last value that is complete: a value of
an object outside of any list, or an element of a list that is not inside a row. A row that is cut is dropped whole.

Of a document that is damaged in the middle, the row with the damage is dropped, and reading goes on with the next row
of the same list, if it is certain that it is the same: the bytes in between must not hide the end of the list.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from tuimon.errors import FormatError
from tuimon.formats._shared.json import NOT_JSON, parse
from tuimon.formats.json._parts import MAX_WHOLE, STREAM_FROM, TOO_LARGE, Damaged, Place, error_in, find_parts
from tuimon.model.points import Damage

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_TOKEN = re.compile(_STRING + rb"|[\[\]{},]", re.DOTALL)
_TO_BRACKET_OR_COMMA = re.compile(rb'(?:[^"\[\]{},]++|' + _STRING + rb")*+[\[\]{},]", re.DOTALL)
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+[\[\]{}]", re.DOTALL)
_CLOSING = {ord("["): b"]", ord("{"): b"}"}
_ROWS = re.compile(rb'"((?:[^"\\]|\\.){1,200}+)"\s*:\s*\[\s*\{')
_AXIS = re.compile(
    rb'"[^"]{0,80}(?:step|epoch|iter|time|round|episode|update|generation)[^"]{0,20}"\s*:\s*\[', re.IGNORECASE
)
_FIRST_KEY = re.compile(rb'[\s,]*\{\s*("(?:[^"\\]|\\.){1,200}+")\s*:')
_ONE_LIST = re.compile(rb'"log_history"\s*:\s*\[')
"""The list of a trainer_state.json, which has no other."""
_HIDES = 8
"""NUL bytes that may hide the end of one list and the beginning of another."""
_MAX_MENDED = 32
_MAX_TRIED = 64
"""Places tried after one damage."""
_WINDOW = 4 << 20
"""Bytes in which the first error is looked for; twice as far from a whole element as parts are large."""
_MAX_WORK = 1 << 28
"""Bytes parsed for one document."""


def whole_part(data: bytes) -> bytes | None:
    """Return the beginning of a cut document, closed so that it is valid JSON; None if no value in it is complete.

    Takes linear time. The result still has to be parsed: other damage is not repaired.
    """
    cut, stack = _last_whole(data, len(data), None)
    return data[:cut] + _closed(stack) if cut else None


def _last_whole(data: bytes, end: int, known: Place | None) -> tuple[int, bytes]:
    """Return (end of the last value that is complete before `end`, brackets that are open there).

    known: where reading may begin instead of at the beginning.

    A list of numbers that is cut does not count, if another list of the object holds steps: those belong to the lists
    of the same length.
    """
    stack = bytearray()
    outer = 0
    """Number of brackets open before the elements of the outermost list; 0 outside of a list."""
    cut, open_at_cut = 0, b""
    before_list = 0, b""
    """The end of the last value before the outermost list, as long as that holds no object."""
    numbers = False
    start = 0
    if known is not None and known.values:
        start, stack = known.offset, bytearray(known.stack)
        outer = len(stack) if stack.endswith(b"[") else 0
        cut, open_at_cut = start - 1, known.stack
    position = start
    while True:
        # commas inside of a row are not ends of values that count
        match = (_TO_BRACKET if outer and len(stack) > outer else _TO_BRACKET_OR_COMMA).match(data, position, end)
        if match is None:
            break
        position = match.end()
        token = data[position - 1 : position]
        if token in b"[{":
            stack += token
            if token == b"[" and not outer:
                outer, before_list, numbers = len(stack), (cut, open_at_cut), len(stack) > 1
            elif token == b"{":
                numbers = False
            continue
        whole = not outer or len(stack) == outer
        if token in b"]}":
            if not stack or _CLOSING[stack[-1]] != token:
                break
            stack.pop()
            if outer and len(stack) < outer:
                outer, numbers, whole = 0, False, True
            elif outer:
                whole = len(stack) == outer
            if whole:
                cut, open_at_cut = position, bytes(stack)
            if not stack:
                break
        elif token == b"," and whole:
            cut, open_at_cut = position - 1, bytes(stack)
    return before_list if numbers and _AXIS.search(data, 0, end) else (cut, open_at_cut)


def _closed(stack: bytes) -> bytes:
    return b"".join(_CLOSING[bracket] for bracket in reversed(stack))


def mended(data: bytes) -> tuple[bytes, list[Damage]] | None:
    """Return (valid JSON made of the undamaged values of a document, what was left out); None if nothing can be read.

    The offsets of the damage are those of `data`. Raises FormatError for a large document that cannot be parsed in
    parts.
    """
    damage: list[Damage] = []
    origin = 0
    """Offset in the original of the bytes after the repaired part."""
    work = 0
    while len(damage) < _MAX_MENDED and work < _MAX_WORK:
        work += len(data)
        error, known = _first_error(data)
        if error is None:
            return data, damage
        shift = origin
        cut, stack = _last_whole(data, error, known)
        if not cut:
            if data.lstrip()[:1] != b"{":
                return None
            cut, stack = data.find(b"{") + 1, b"{"
        if not stack:  # a whole document, and something after it
            return _last_document(data, cut, damage, shift)
        if stack == b"{" and (begun := _list_begun(data, cut, error)):
            cut, stack = begun, b"{["
        place = _next_row(data, cut, error) if stack.endswith(b"[") else None
        joint = b"" if data[cut - 1 : cut] in (b"[", b"{") else b","
        if place is None:
            place, closing = _next_list(data, cut, error, stack)
            joint = closing + b"," if closing else joint
        if place is None:
            damage.append(Damage(cut + shift, len(data) - cut, "document damaged"))
            return b"".join((memoryview(data)[:cut], _closed(stack))), damage
        damage.append(Damage(cut + shift, place - cut, "document damaged"))
        origin += place - cut - len(joint)
        data = b"".join((memoryview(data)[:cut], joint, memoryview(data)[place:]))
    return None


def _first_error(data: bytes) -> tuple[int | None, Place | None]:
    """Return (offset of the first byte that is not JSON or None, a place in front of it that is known)."""
    hole = data.find(b"\0")
    known: Place | None = None
    if len(data) < STREAM_FROM:
        place = error_in(data)
    else:
        try:
            in_parts = find_parts(data, check=_strict) is not None
            if not in_parts and len(data) > MAX_WHOLE:
                raise FormatError(TOO_LARGE)
            place = None if in_parts else error_in(data)
        except Damaged as error:
            place, known = _error_after(data, error.place), error.place
    return place if place is None or hole < 0 else min(place, hole), known


def _error_after(data: bytes, known: Place) -> int:
    """Return the offset of the first byte that is not JSON in a large document."""
    start, opener = known.offset, known.opener
    if not opener:
        return start
    size = _WINDOW
    while True:
        text = opener + data[start : start + size]
        error = error_in(text)
        whole = start + size >= len(data)
        if whole or (error is not None and error < len(text) // 2):
            return len(data) if error is None else start + error - len(opener)
        size *= 4


def _strict(text: bytes) -> Any:
    """Parse a part. Raises FormatError where `error_in` finds an error."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if error_in(text) is not None:
            raise FormatError(NOT_JSON) from None
        return parse(text)


def _last_document(data: bytes, end: int, damage: list[Damage], shift: int) -> tuple[bytes, list[Damage]]:
    """Return the second of two documents if it is whole, otherwise the first."""
    rest = data[end:].strip(b" \t\r\n\0")
    damage.append(Damage(end + shift, len(data) - end, "document followed by other bytes"))
    if rest[:1] == data.lstrip()[:1] and _first_error(rest)[0] is None:
        return rest, damage
    return data[:end], damage


def _next_row(data: bytes, cut: int, error: int) -> int | None:
    """Return the offset of the next whole row of the list that is open at `cut`."""
    known = _rows_before(data, cut)
    first = json.dumps(next(iter(known[-1]))).encode() if known else _first_key(data, cut)
    if not first:
        return None
    begin = re.compile(rb"\{\s*" + re.escape(first) + rb"\s*:")
    others = len(set(_ROWS.findall(data))) > 1
    layouts = {tuple(row) for row in known}
    opening = data.find(b"{", cut)
    if opening < 0:
        return None
    start = cut if error <= opening else opening + 1
    for _ in range(_MAX_TRIED):
        match = begin.search(data, start)
        if match is None:
            return None
        start = match.start() + 1
        row, _ = _row_at(data, match.start())
        if row is None:
            continue
        between = data[cut : match.start()]
        if between.count(b"\0") >= _HIDES and not _same_list(data, cut):
            # the end of the list may be hidden, unless the list that follows it comes later
            following = _ROWS.search(data, match.start()) is not None
            if not (following and tuple(row) in layouts and _step(row) >= _step(known[-1])):
                return None
        elif others and b"]" in between:
            return None
        return match.start()
    return None


def _same_list(data: bytes, cut: int) -> bool:
    """Return whether the document has only one list, whatever is hidden."""
    return data.lstrip()[:1] == b"[" or _ONE_LIST.search(data, 0, cut) is not None


def _rows_before(data: bytes, cut: int) -> list[dict[str, Any]]:
    """Return some rows in front of `cut`, in the same list."""
    rows: list[dict[str, Any]] = []
    end = cut
    while len(rows) < 8:
        start = data.rfind(b"{", 0, end)
        if start < 0:
            break
        row, stop = _row_at(data, start)
        if row is None or stop > end:
            end = start
            if cut - end > 1 << 16:
                break
            continue
        if data[stop:end].strip(b" \t\r\n,"):
            break
        rows.append(row)
        end = start
    return rows[::-1]


def _row_at(data: bytes, start: int) -> tuple[dict[str, Any] | None, int]:
    """Return (the object that begins at `start`, its end); (None, start) without a whole object."""
    depth = 0
    for match in _TOKEN.finditer(data, start):
        if match[0] in b"[{":
            depth += 1
        elif match[0] in b"]}":
            depth -= 1
            if not depth:
                try:
                    row = parse(data[start : match.end()])
                except FormatError:
                    return None, start
                return (row, match.end()) if isinstance(row, dict) and row else (None, start)
        if match.end() - start > 1 << 20:
            break
    return None, start


def _step(row: dict[str, Any]) -> float:
    return next(
        (
            float(row[key])
            for key in ("step", "global_step", "epoch", "iteration")
            if type(row.get(key)) in (int, float)
        ),
        0.0,
    )


def _list_begun(data: bytes, cut: int, error: int) -> int:
    """Return the offset after the bracket of a list of rows whose first row is damaged; 0 without one."""
    begun = [match for match in _ROWS.finditer(data, cut, error + 1) if data.find(b"}", match.end(), error) < 0]
    return data.rfind(b"[", 0, begun[-1].end()) + 1 if begun else 0


def _first_key(data: bytes, cut: int) -> bytes:
    """Return the first key of the row after `cut`, in quotes; b"" if it is damaged."""
    match = _FIRST_KEY.match(data, cut)
    return match[1] if match else b""


def _next_list(data: bytes, cut: int, error: int, stack: bytes) -> tuple[int | None, bytes]:
    """Return (offset of the next list of rows with its name, brackets to close before it), if it is certain that the
    list is in the outermost object."""
    match = _ROWS.search(data, max(error, cut))
    if match is None or stack not in (b"{", b"{[", b"{{"):
        return None, b""
    between = data[cut : match.start()]
    if between.count(b"\0") >= _HIDES:
        certain = stack == b"{" and _ONE_LIST.match(data, match.start()) is not None
        return (match.start() if certain else None), b""
    if stack == b"{[":
        return match.start(), b"]"
    if between.count(b"}") - between.count(b"{") != len(stack) - 1:
        return None, b""
    return match.start(), b"}" * (len(stack) - 1)
