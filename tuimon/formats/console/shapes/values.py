"""Numbers, name-value pairs and dictionaries as Python prints them. All expressions take linear time.

0.5   1e-06   nan   -inf   np.float64(0.5)   tensor(0.5, device='cuda:0')   '0.5'      numbers
None  null  True  other text                                                           not numbers
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from tuimon import lazy_re as re
from tuimon.formats._shared.rows import is_sample
from tuimon.formats._shared.rows import number as number_of

Pair: TypeAlias = tuple[str, float]
"""(metric name, value)"""


class Quantity(float):
    """A number with the unit that is printed after it, and the whole of which it is a part ("29.2/32.0GB") or None."""

    __slots__ = ("unit", "whole")
    unit: str
    whole: float | None

    def __new__(cls, value: float, unit: str, whole: float | None = None) -> Quantity:
        quantity = super().__new__(cls, value)
        quantity.unit, quantity.whole = unit, whole
        return quantity


NUMBER = r"(?<!\d[,'_])[+-]?(?:(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?![,'_]\d)|nan|inf(?:inity)?+)"
"""Regular expression of a number, to be compiled with re.IGNORECASE. It does not match a part of a number whose digits
are grouped (1,231 or 1'231 or 1_231) or that has a decimal comma."""
_WRAPPED = re.compile(
    rf"(?:(?:np|numpy)\.\w++|(?:torch\.)?tensor|array)\(\s*+\[?({NUMBER})\]?(?:\s*+,[^()\[\]]*+)?\)",
    re.IGNORECASE | re.ASCII,
)
_MAX_DIGITS = 400
_PAIR = re.compile(
    r"""\s*+(?:'([^'\\]*+(?:\\.[^'\\]*+)*+)'|"([^"\\]*+(?:\\.[^"\\]*+)*+)")\s*+:\s*+"""
    r"""(?:'([^'\\]*+(?:\\.[^'\\]*+)*+)'|"([^"\\]*+(?:\\.[^"\\]*+)*+)"|"""
    r"""([^\s,'"\[\]{}()]++(?:\([^()]*+\))?+)|(?=([\[({])))\s*+([,}]?)""",
    re.DOTALL,
)
"""Key in single or double quotes; value in single or double quotes, bare or nested; the delimiter after it."""
_BRACKET = re.compile(r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\](){}]""", re.DOTALL)
_ESCAPE = re.compile(r"\\(['\"\\/])")
_WORD = re.compile(r"\s*+[A-Za-z]{2}")
_DELIMITER = re.compile(r"\s*+([,}]?)")


def number(token: str) -> float | None:
    """Parse a printed number; return None for any other text."""
    if len(token) > _MAX_DIGITS:
        return None
    if token.endswith(")"):
        match = _WRAPPED.fullmatch(token)
        return float(match[1]) if match else None
    if "_" in token:
        return None
    try:
        return float(token)
    except ValueError:
        return None


def pairs(text: str, separator: str | None, joint: str) -> Iterator[Pair]:
    """Yield the pairs of the parts `<name><joint><number>` of a text; separator None splits at whitespace."""
    for part in text.split(separator):
        name, _, printed = part.rpartition(joint)
        value = number(printed.strip())
        if value is not None and (name := name.strip()):
            yield name, value


def printed_dict(text: str, start: int = 0, whole: bool = False) -> dict[str, float | str] | None:
    """Parse the dictionary printed at `start` into numbers and texts by key; return None if it is empty or incomplete.
    whole: also return None if words follow it, as in an error message that quotes a dictionary.

    Lists, dictionaries, None and booleans as values are left out. A text that is a number becomes one (Hugging Face
    from 5.0), unless its key says that it is a name. A row that holds a sample becomes {}, by the rules of
    formats._shared.rows, except that long texts are allowed in rows without a step.
    """
    if not text.startswith("{", start):
        return None
    row: dict[str, float | str] = {}
    position = start + 1
    while True:
        pair = _PAIR.match(text, position)
        if pair is None:  # the end, perhaps after a trailing comma
            end_match = _DELIMITER.match(text, position)
            assert end_match is not None
            return row if row and end_match[1] == "}" and not (whole and _WORD.match(text, end_match.end())) else None
        single, double, quoted, double_quoted, bare, nested, delimiter = pair.groups()
        position = pair.end()
        key = single if single is not None else double
        if "\\" in key:
            key = _ESCAPE.sub(r"\1", key)
        if nested:
            end = _closing(text, position)
            if end is None:
                return None
            match = _DELIMITER.match(text, end)
            assert match is not None
            position, delimiter = match.end(), match[1]
        elif bare is not None:
            value = number(bare)
            if value is not None:
                row[key] = value
        else:
            content = quoted if quoted is not None else double_quoted
            if is_sample(key, content):
                return {}
            value = None if _is_name(key) else number(content)
            row[key] = content if value is None else value
        if delimiter == "}":
            return None if whole and _WORD.match(text, position) else row
        if not delimiter:
            return None


@lru_cache(4096)
def _is_name(key: str) -> bool:
    """Return True if the key says that its value is a name, even if it looks like a number ("run_id")."""
    return number_of("0", key) is None


def numbers(row: dict[str, float | str]) -> Iterator[Pair]:
    """Yield the entries that are numbers."""
    return ((key, value) for key, value in row.items() if not isinstance(value, str))


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names with the number of each that occurs again: ["P", "R", "R/2"]."""
    counts = [names[:index].count(name) + 1 for index, name in enumerate(names)]
    return [name if count == 1 else f"{name}/{count}" for name, count in zip(names, counts, strict=True)]


def _closing(text: str, start: int) -> int | None:
    """Return the index after the bracket that closes the one at `start`, or None."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        if match[0] in "[({":
            depth += 1
        elif match[0] in "])}":
            depth -= 1
            if not depth:
                return match.end()
    return None
