"""Rows (name, value) of a table that rich has drawn for Beast-Logger, read from its lines.

    │ │ mean reward of all   │ 0.2850877192982456  │ │
    │ │ tasks                │                     │ │
    │ ├──────────────────────┼─────────────────────┤ │

Text that is too long for its cell continues in the next line, split at a blank. A word that is too long is cut with
"…"; a row with such a name is dropped, as other names may be cut to the same text. Source: beast_logger 0.1.4
(print_dict), rich/table.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re

_LINE = re.compile(r"│ │ ([^│]{0,200})│([^│]{0,200})│ │")
_CUT = "…"
_MAX_LINES = 100


class BeastRows:
    """Reads the lines of a table in order."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._values: list[str] = []

    def line(self, text: str) -> tuple[str, str] | None:
        """Read the next line, and return the (name, printed value) of the row that ends before it."""
        cells = _LINE.fullmatch(text.strip())
        if cells is not None and len(self._names) < _MAX_LINES:
            self._names += cells[1].split()
            self._values += cells[2].split()
            return None
        name, value = " ".join(self._names), " ".join(self._values)
        self._names, self._values = [], []
        return (name, value) if name and value and _CUT not in name else None
