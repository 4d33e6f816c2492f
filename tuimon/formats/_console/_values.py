"""Numbers and dictionaries as Python prints them. All expressions are possessive: time is linear in the text.

0.5   1e-06   nan   -inf   np.float64(0.5)   tensor(0.5, device='cuda:0')   '0.5'      numbers
None  null  True  other text                                                           none
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tuimon.formats._rows import is_sample
from tuimon.formats._rows import number as number_of

NUMBER = r"[+-]?(?:(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+|nan|inf(?:inity)?+)"
"""Of an expression that ignores case."""
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
"""key in single quotes, or in double; value in single quotes, in double, bare, or nested; what comes behind it."""
_BRACKET = re.compile(r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\](){}]""", re.DOTALL)
_ESCAPE = re.compile(r"\\(['\"\\/])")
_AFTER = re.compile(r"\s*+([,}]?)")


def number(token: str) -> float | None:
    """The number that a printed value is; None for what is none."""
    if len(token) > _MAX_DIGITS:
        return None
    if token.endswith(")"):
        found = _WRAPPED.fullmatch(token)
        return float(found[1]) if found else None
    if "_" in token:
        return None
    try:
        return float(token)
    except ValueError:
        return None


def printed_dict(text: str, start: int = 0) -> dict[str, float | str] | None:
    """The dictionary printed at `start`: numbers and texts by key; None if it is none, or has no end.

    Values that are lists or dictionaries are passed over, so are None and booleans. A text that is wholly a number
    is one (Hugging Face from 5.0), unless its key says that it is a name. The row of a sample is an empty one: see
    _rows, but that a row of the console may have a long text without a step of its own.
    """
    if not text.startswith("{", start):
        return None
    row: dict[str, float | str] = {}
    at = start + 1
    while True:
        pair = _PAIR.match(text, at)
        if pair is None:  # an empty dictionary is none; a comma behind the last pair is allowed
            return row if row and _AFTER.match(text, at)[1] == "}" else None  # type: ignore[index]
        single, double, said, quoted, bare, nested, behind = pair.groups()
        at = pair.end()
        key = single if single is not None else double
        if "\\" in key:
            key = _ESCAPE.sub(r"\1", key)
        if nested:
            closed = _closing(text, at)
            if closed is None:
                return None
            after = _AFTER.match(text, closed)
            assert after is not None
            at, behind = after.end(), after[1]
        elif bare is not None:
            value = number(bare)
            if value is not None:
                row[key] = value
        else:
            said = said if said is not None else quoted
            if is_sample(key, said):
                return {}
            value = None if _is_name(key) else number(said)
            row[key] = said if value is None else value
        if behind == "}":
            return row
        if not behind:
            return None


@lru_cache(4096)
def _is_name(key: str) -> bool:
    """Does the key say that its value is a name, though it may look like a number ("run_id")?"""
    return number_of("0", key) is None


def numbers(row: dict[str, float | str]) -> Iterator[tuple[str, float]]:
    """The entries that are numbers."""
    return ((key, value) for key, value in row.items() if not isinstance(value, str))


def _closing(text: str, start: int) -> int | None:
    """Just behind the bracket that closes the one at `start`."""
    depth = 0
    for found in _BRACKET.finditer(text, start):
        if found[0] in "[({":
            depth += 1
        elif found[0] in "])}":
            depth -= 1
            if not depth:
                return found.end()
    return None
