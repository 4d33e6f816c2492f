"""clean(): the one door through which foreign text (metric, run and file names, log lines, config, messages) enters.

After it no text can move a cursor, set a title, write a clipboard, hide or reorder what a person reads:
control bytes of C0 and C1, DEL, line and paragraph separators become visible pictures or escapes; bidirectional
controls, zero-width characters and lone surrogates become escapes; a pile of combining marks is cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

MAX_COMBINING = 4
"""Combining marks kept on one base character; more is a pile that spills over neighbouring rows."""

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_COMBINING = re.compile(f"[{_MARKS}]{{{MAX_COMBINING + 1},}}")


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)  # ␀ … ␟
    if code == 0x7F:
        return "␡"
    if 0xFE00 <= code <= 0xFE0F:
        return ""  # variation selectors carry no meaning of their own; terminals disagree about their width
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str, limit: int = 4096) -> str:
    """Foreign text made safe to show. Printable text of any script comes back unchanged; cut at `limit` characters."""
    if text.isascii() and text.isprintable():
        return text if len(text) <= limit else text[: limit - 1] + "…"
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    text = _UNSAFE.sub(_picture, text)
    return _COMBINING.sub(lambda found: found[0][:MAX_COMBINING], text)


def cell_width(text: str) -> int:
    """How many terminal cells `clean`ed text takes: 2 for wide and full-width characters, 0 for combining marks."""
    return len(text) if text.isascii() else _width(text)


@lru_cache(maxsize=4096)
def _width(text: str) -> int:
    width = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
            continue
        width += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return width


_RIGHT = 4
_OTHER_PLACES = (3, 2, 5, 1)
"""How many sixths of a text whose middle is cut are its end, and how many else they may be."""


def shown_path(path: str) -> str:
    """Of a run, for a person; cleaned."""
    return "standard input" if path == "-" else clean(path)


def fit(text: str, width: int, keep: str = "start") -> str:
    """Text cut or filled with blanks to exactly `width` cells.

    keep="start" cuts the end; keep="end" cuts the start, as the last part of a metric name says most;
    keep="ends" cuts the middle.
    """
    if width <= 0:
        return ""
    length = cell_width(text)
    if length <= width:
        return text + " " * (width - length)
    if width == 1:
        return "…"
    if keep == "end":
        cut = "…" + _tail(text, width - 1)
    elif keep == "ends":
        cut = _without_middle(text, width, _RIGHT)
    else:
        cut = _head(text, width - 1) + "…"
    return cut + " " * (width - cell_width(cut))


def fit_apart(texts: Sequence[str], width: int) -> list[str]:
    """Each as `fit` cuts its middle; those that would look the same are cut elsewhere, if that tells them apart."""
    cut = [fit(text, width, "ends") for text in texts]
    alike: dict[str, set[str]] = {}
    for text, shown in zip(texts, cut, strict=True):
        alike.setdefault(shown, set()).add(text)
    apart: dict[str, str] = {}
    for group in alike.values():
        for right in _OTHER_PLACES if len(group) > 1 and width > 1 else ():
            found = {text: fit(_without_middle(text, width, right), width) for text in group}
            if len(set(found.values())) == len(group) and not alike.keys() & set(found.values()):
                apart |= found
                break
    return [apart.get(text, shown) for text, shown in zip(texts, cut, strict=True)]


def _without_middle(text: str, width: int, right: int) -> str:
    """right: the sixths of the width that go to the end of the text."""
    tail = (width - 1) * right // 6
    return _head(text, width - 1 - tail) + "…" + _tail(text, tail)


def _head(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += cell_width(character)
        if taken > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    taken = 0
    for index in range(len(text) - 1, -1, -1):
        taken += cell_width(text[index])
        if taken > width:
            return text[index + 1 :]
    return text
