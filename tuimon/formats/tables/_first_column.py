"""Decision whether the first column of a table is the step although its name does not say so."""

from __future__ import annotations

import numpy as np

from tuimon.formats._shared.cells import read_cells
from tuimon.formats.tables._header import Header
from tuimon.formats.tables._rows import EPISODES, EXACT
from tuimon.vocabulary import classify

ROWS_DECIDING = 5
"""Number of rows that decide whether a first column that rises evenly is the step."""
_FEWEST_DECIDING = 3
"""Number of rows of a short table that decide it."""


class FirstColumn:
    """The rows that decide about the first column, until there are ROWS_DECIDING of them.

    A flush decides by fewer rows; more of them can show later that it was wrong, also after the table was rewritten."""

    def __init__(self) -> None:
        self.guessed_wrong = False
        self._guesses: dict[str, bool] = {}
        """Whether the first column is the step, as a flush has decided by few rows; by the name of the column."""
        self.restart()

    def restart(self) -> None:
        self.is_open = False
        """Whether rows are kept until it is decided."""
        self._header: Header | None = None
        self._rows: list[bytes] = []

    def begin(self, header: Header) -> None:
        """Begin with the rows below a header."""
        self.is_open = may_be_step(header)
        self._header, self._rows = header if self.is_open else None, []

    def add(self, rows: list[bytes]) -> bool:
        """Add rows, and return whether there are enough to decide; False if that has been done."""
        if self._header is None:
            return False
        self._rows += rows
        are_enough = len(self._rows) >= ROWS_DECIDING
        if not self.is_open:
            self._check(self._header)
            self._header = None if are_enough else self._header
        return self.is_open and are_enough

    def decide(self, by_flush: bool = False) -> tuple[list[bytes], Header | None]:
        """Decide by the rows so far. Return (these rows, the header if its first column is the step, else None).

        by_flush: more rows may follow and show that the decision was wrong."""
        if self._header is None or not self.is_open or not self._rows:
            return [], None
        header, rows = self._header, self._rows
        known = self._check(header)
        self.is_open = False
        if by_flush:
            self._guesses[header.names[0]] = known
            self._rows = [*rows]
        else:
            self._header = None
        return rows, header if known else None

    def _check(self, header: Header) -> bool:
        """Return whether the first column is the step by the rows so far, and note if a flush has decided otherwise."""
        known = is_step(header, self._rows[:ROWS_DECIDING])
        self.guessed_wrong |= self._guesses.get(header.names[0], known) != known
        return known


def may_be_step(header: Header) -> bool:
    """Return whether the first column may be the step although its name is not that of a step."""
    if any(header.names[column] for column in header.steps) or 0 in header.times or not header.names[0]:
        return False
    if header.names[:3] == EPISODES:
        return False
    return len(header.names) > 1 and header.numeric[0] and classify(header.names[0]).concept == "other"


def is_step(header: Header, rows: list[bytes]) -> bool:
    """Return whether the first column of these rows holds integers that rise evenly. No row has quotes."""
    if len(rows) < _FEWEST_DECIDING:
        return False
    values, present = read_cells(rows, header.separator, len(header.names))
    first = values[:, 0]
    if not (present[:, 0].all() and (np.abs(first) < EXACT).all() and (first == np.floor(first)).all()):
        return False
    strides = np.diff(first)
    return bool((strides == strides[0]).all() and strides[0] > 0)
