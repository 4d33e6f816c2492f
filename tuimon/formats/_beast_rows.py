"""Rows of a table that rich has drawn for Beast-Logger, a name and a value each, from the lines of the text.

    │ │ mean reward of all   │ 0.2850877192982456  │ │
    │ │ tasks                │                     │ │
    │ ├──────────────────────┼─────────────────────┤ │

A text too long for its cell goes on in the next line, from a blank on; a word too long is cut with "…", and a row with
such a name is none: another one may be cut alike. Source: beast_logger 0.1.4 (print_dict), rich/table.py.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"│ │ ([^│]{0,200})│([^│]{0,200})│ │")
_CUT = "…"
_MAX_LINES = 100


class BeastRows:
    """Takes the lines of a table one after the other."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._values: list[str] = []

    def line(self, text: str) -> tuple[str, str] | None:
        """(name, value as it is printed) of the row that ends before this line."""
        found = _LINE.fullmatch(text.strip())
        if found is not None and len(self._names) < _MAX_LINES:
            self._names += found[1].split()
            self._values += found[2].split()
            return None
        name, value = " ".join(self._names), " ".join(self._values)
        self._names, self._values = [], []
        return (name, value) if name and value and _CUT not in name else None
