"""JSON as trainers write it: orjson for valid JSON, a tolerant parser for text that is nearly JSON.

orjson follows RFC 8259 and rejects what Python's `json.dumps` writes when a run diverges: bare NaN, Infinity and
-Infinity. It also rejects a byte order mark, invalid UTF-8, lone surrogates, control characters in strings, numbers
beyond a float and deep nesting. All but the last are accepted here:

- NaN, Infinity and -Infinity are floats; a number too large for a float is an infinity; a long integer is a float.
- A byte order mark is skipped; a text that is not UTF-8 is read as Latin-1, lone surrogates become U+FFFD.
- The last value of a duplicate key is used (as in RFC 8259's note on duplicates).
"""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.text import decoded

MAX_SALVAGE = 16
"""Parts of a broken line that are read."""

NOT_JSON = "not JSON"
UTF16 = "UTF-16, not UTF-8"
BOM = b"\xef\xbb\xbf"

_EXACT_DIGITS = 19
"""Positive integers of up to this many digits fit 64 bits; larger ones become floats, as with orjson. Longer numbers
are not parsed as integers, which bounds the time."""
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _integer(digits: str) -> int | float:
    exact = int(digits) if len(digits.lstrip("-")) <= _EXACT_DIGITS else None
    return exact if exact is not None and exact >= -(2**63) else float(digits)


_NON_FINITE = ((b"-Infinity", rb'"\u0000-"'), (b"Infinity", rb'"\u0000+"'), (b"NaN", rb'"\u0000?"'))
"""Replacements of bare non-finite numbers: strings that cannot occur in a text without backslashes."""
_MARKED = {"\0-": -math.inf, "\0+": math.inf, "\0?": math.nan}  # values of the replacements
_TOLERANT = json.JSONDecoder(strict=False, parse_int=_integer)


def parse(data: bytes) -> Any:
    """Parse one JSON text. Raises FormatError with a short reason: "not JSON", "UTF-16, not UTF-8" or "nested too
    deeply"."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse_refused(data)


def parse_refused(data: bytes) -> Any:
    """Parse a JSON text that orjson has rejected. Raises FormatError as `parse` does."""
    if (value := _not_finite(data)) is not None:
        return value
    text = decoded_text(data)
    try:
        return _TOLERANT.decode(text)
    except RecursionError:
        raise FormatError("nested too deeply") from None
    except ValueError:
        raise FormatError(NOT_JSON) from None


def _not_finite(data: bytes) -> Any:
    """Parse a text that orjson rejects only because of NaN and infinities, three times as fast as the tolerant parser.
    Return None for any other text."""
    if b"\\" in data or (b"NaN" not in data and b"Infinity" not in data):
        return None
    for word, mark in _NON_FINITE:
        data = data.replace(word, mark)  # inside a string the quotes make the text invalid
    try:
        return _unmarked(orjson.loads(data))
    except (ValueError, RecursionError):
        return None


def _unmarked(value: Any) -> Any:
    """Replace the marks in a value by the numbers that they represent, in place."""
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


def decode_value(text: str, position: int) -> tuple[Any, int]:
    """Return (the JSON value that begins at `position`, its end). Raises ValueError without a whole value."""
    try:
        return _TOLERANT.raw_decode(text, position)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_utf16(data: bytes) -> bool:
    """Return whether the bytes are the beginning of a UTF-16 text, or a line of one, with or without a byte order
    mark."""
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or b'{\x00"' in data[:64]


def whole_values(line: bytes) -> tuple[list[Any], bool]:
    """Return (objects and lists that are whole in a line that is not one JSON text, whether anything is lost).

    {"step": 1} {"step": 2}          two writers, or no newline between them: both, and nothing is lost
    \\0\\0\\0{"step": 2}               the hole that a crash has left: what is beside it
    """
    values: list[Any] = []
    lost = False
    for part in re.split(rb"\0++|(?<=\})\s*+(?=\{)", line, maxsplit=MAX_SALVAGE):
        try:
            value = parse(part) if part.strip() else None
        except FormatError:
            lost = True
            continue
        values += [value] if isinstance(value, dict | list) else []
    return values, lost


def decoded_text(data: bytes) -> str:
    """Return the text of a document as `parse` reads it. Raises FormatError for UTF-16."""
    if is_utf16(data):
        raise FormatError(UTF16)
    text = decoded(data.removeprefix(BOM))
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(lambda match: "\\ufffd" if match["lone"] else match[0], text)
    return text
