"""JSON as trainers write it: orjson where it is JSON, a tolerant parser where it is nearly so.

orjson keeps to RFC 8259 and so refuses what Python's `json.dumps` writes on the day a run diverges: bare NaN, Infinity
and -Infinity. It also refuses a byte order mark, bytes that are not UTF-8, lone surrogates, control characters in
strings, numbers beyond a float and deep nesting. All but the last are read here:

- NaN, Infinity, -Infinity are floats; a number too big for a float is an infinity; a long integer is a float;
- a byte order mark is passed over; bytes that are not UTF-8, and lone surrogates, become U+FFFD;
- of a key that is there twice, the last value counts (as in RFC 8259's note on duplicates).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

from tuimon.errors import FormatError

MAX_SALVAGE = 16
"""How many times a broken line is searched for the start of a whole object: keeps a hostile line linear."""

NOT_JSON = "not JSON"
UTF16 = "UTF-16, not UTF-8"
BOM = b"\xef\xbb\xbf"

_WHITESPACE = re.compile(r"\s*")
_EXACT_DIGITS = 19
"""Positive integers of up to this many digits fit 64 bits; what does not becomes a float, as orjson makes it. Longer
ones are not even tried, which bounds the time they take."""
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _integer(digits: str) -> int | float:
    exact = int(digits) if len(digits.lstrip("-")) <= _EXACT_DIGITS else None
    return exact if exact is not None and exact >= -(2**63) else float(digits)


_MARKS = ((b"-Infinity", rb'"\u0000-"'), (b"Infinity", rb'"\u0000+"'), (b"NaN", rb'"\u0000?"'))
"""What takes the place of bare numbers that are not finite: texts that nothing without a backslash holds …"""
_MARKED = {"\0-": -math.inf, "\0+": math.inf, "\0?": math.nan}
"""… and what they stand for."""
_TOLERANT = json.JSONDecoder(strict=False, parse_int=_integer)


def parse(data: bytes) -> Any:
    """The value of one JSON text. Raises FormatError with a short reason: "not JSON", "UTF-16, not UTF-8",
    "nested too deeply"."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse_refused(data)


def parse_refused(data: bytes) -> Any:
    """The same of a text that orjson has refused."""
    if (value := _not_finite(data)) is not None:
        return value
    text = _text(data)
    try:
        return _TOLERANT.decode(text)
    except RecursionError:
        raise FormatError("nested too deeply") from None
    except ValueError:
        raise FormatError(NOT_JSON) from None


def _not_finite(data: bytes) -> Any:
    """The value of a text that orjson refuses for its NaN and infinities alone, three times as quick as the tolerant
    parser; None for any other text."""
    if b"\\" in data or (b"NaN" not in data and b"Infinity" not in data):
        return None
    for word, mark in _MARKS:
        data = data.replace(word, mark)  # within a text, what comes after its quote is no JSON
    try:
        return _unmarked(orjson.loads(data))
    except (ValueError, RecursionError):
        return None


def _unmarked(value: Any) -> Any:
    """The value with the numbers that its marks stand for, in place."""
    kind = type(value)
    if kind is str:
        return _MARKED.get(value, value)
    if kind is dict or kind is list:
        if kind is dict and not _MARKED.keys().isdisjoint(value.keys()):
            raise ValueError("a number as a key")
        for key, inner in value.items() if kind is dict else enumerate(value):
            if type(inner) is not float:
                value[key] = _unmarked(inner)
    return value


def is_utf16(data: bytes) -> bool:
    """Do these bytes begin (or go on, as a line) in UTF-16, with or without its byte order mark?"""
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or b'{\x00"' in data[:64]


def parse_broken(data: bytes, first_key: str | None) -> tuple[list[dict[str, Any]], bool]:
    """(the whole objects of a line that is not one JSON text, whether something of it is lost).

    Objects may be glued to each other, or to the torn end of a record whose writer was killed. After damage only an
    object that begins with `first_key` counts, as a torn record may hold whole objects that are no records.
    """
    text = _text(data)
    begin = re.compile(r"\{\s*" + re.escape(json.dumps(first_key, ensure_ascii=False)) + r"\s*:") if first_key else None
    found: list[dict[str, Any]] = []
    at, lost = 0, False
    for _ in range(MAX_SALVAGE):
        while text.startswith("{", at):
            try:
                value, at = _TOLERANT.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            found.append(value)
            at = _WHITESPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string too
        if at >= len(text):
            break
        lost = True
        following = begin.search(text, at + 1) if begin else None
        if following is None:
            break
        at = following.start()
    return found, lost


def _text(data: bytes) -> str:
    if is_utf16(data):
        raise FormatError(UTF16)
    text = data.removeprefix(BOM).decode("utf-8", "replace")
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(lambda found: "\\ufffd" if found["lone"] else found[0], text)
    return text
