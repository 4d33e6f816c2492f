"""Header of a separated table: its separator and the role of each column.

Cells are separated by ",", ";", a tab or "|". The first line that is neither blank nor begins with "#" names the
columns (Stable-Baselines3's monitor.csv begins with '#{"t_start": …}'), or one behind "#" that names a step:
"# step,loss" (numpy.savetxt), "#  step   rmse" with blanks between the cells (DeePMD's lcurve.out). Names are kept as
written except for quotes and blanks around them (Ultralytics 8.0 to 8.2 pads them); the second column of a name becomes
"name.1", as in pandas.

- Step columns are those in STEP_NAMES, in that order, in any case; without any, pandas' unnamed index is one. The
  column in use is not a metric itself, unless its name has a "/" ("time/total_timesteps").
- Without a named step column, the first column is the step if it holds integers that rise evenly in the first
  ROWS_DECIDING rows, and the vocabulary does not know it as a metric. Until there are as many, no row is read.
- Time columns are those in TIME_NAMES, then those in CLOCK_KEYS whose first cell is a time. In a table without the
  former, a column with a date in the first row is a time column.
- A column whose name says that it holds names or versions ("trial_id", "date") is not a metric, whatever its cells.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.formats._shared.cells import read_cells
from tuimon.formats._shared.rows import CLOCK_KEYS, TIME_KEYS, step_columns
from tuimon.text import decoded
from tuimon.vocabulary import classify

_INDEX = "unnamed: 0"
"""Name that pandas gives to its index when it writes a table that it has read with it."""
SEPARATORS = (",", ";", "\t", "|")
TIME_NAMES = (*TIME_KEYS, "wall time", "walltime", "datetime")
_IDENTIFIER = re.compile(
    r"(?:^|[/_.-])(?:id|uid|uuid|name|version|commit|hash|sha|date|hostname|ip|path|file|tag)$", re.IGNORECASE
)
EXACT = 2.0**53
"""Integers below it are exact as float64."""
EPISODES = ("r", "l", "t")
"""First columns of Stable-Baselines3's monitor.csv, whose rows are episodes."""
ROWS_DECIDING = 3
"""Number of rows that decide whether a first column that rises evenly is the step."""
_KEYS = ("key", "metric", "metric_name", "tag", "name")
_VALUES = ("value", "metric_value")
"""Columns of the name and the value of a metric in tables in long form."""
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?", re.IGNORECASE)


class Header(Struct, frozen=True):
    """A parsed header. Columns are given by index."""

    line: bytes
    """The header as in the file, without the newline."""
    separator: bytes
    names: tuple[str, ...]
    steps: tuple[int, ...]
    """Step columns, best first; includes an unnamed first column only if there is no other."""
    times: tuple[int, ...]
    clocks: tuple[int, ...]
    """Columns in CLOCK_KEYS."""
    numeric: tuple[bool, ...]
    """For each column, whether its numbers may be points."""
    key: int | None = None
    """Column of the name of the metric in each row, in a table in long form."""
    value: int | None = None
    """Column of its value."""

    @property
    def has_step(self) -> bool:
        """Whether a column is named like a step."""
        return any(self.names[column] for column in self.steps)

    def split(self, line: bytes) -> list[bytes]:
        """Return the cells of a row without quotes."""
        return line.split(self.separator)

    def joined(self, lines: list[bytes]) -> list[bytes]:
        """Return rows with a single separator between their cells, where several blanks may stand."""
        return lines if self.separator != b" " else [b" ".join(line.split()) for line in lines]

    def is_last_decisive(self) -> bool:
        """Return whether the last column is a step or a time, without which a row is not read."""
        return len(self.names) - 1 in (*self.steps, *self.times)

    def may_begin_with_step(self) -> bool:
        """Return whether the first column may be the step although its name is not that of a step."""
        if self.has_step or 0 in self.times or not self.names[0] or self.names[:3] == EPISODES:
            return False
        return len(self.names) > 1 and self.numeric[0] and classify(self.names[0]).concept == "other"

    def rises_evenly(self, rows: list[bytes]) -> bool:
        """Return whether the first column of the first rows, which have no quotes, holds integers that rise evenly.

        True for a single row with an integer.
        """
        values, present = read_cells(rows[:ROWS_DECIDING], self.separator, len(self.names))
        first = values[:, 0]
        if not (present[:, 0].all() and (np.abs(first) < EXACT).all() and (first == np.floor(first)).all()):
            return False
        strides = np.diff(first)
        return bool(((strides > 0) & (strides == strides[:1])).all())


def first_header(lines: Iterable[bytes]) -> tuple[Header | None, int]:
    """Return (header at the beginning of a table, number of the lines up to it); the header is None for other text."""
    for count, line in enumerate(lines, 1):
        if line.strip() and (not line.startswith(b"#") or (header := commented_header(line)) is not None):
            return (header, count) if line.startswith(b"#") else (read_header(line), count)
    return None, 0


def commented_header(line: bytes) -> Header | None:
    """Return the header behind "#", if one of its columns is named like a step; None for any other comment."""
    text = line.lstrip(b"# \t").rstrip()
    if not any(mark.encode() in text for mark in SEPARATORS):
        text = b",".join(text.split())
        header = read_header(text, b" ")
    else:
        header = read_header(text)
    return header if header is not None and header.has_step else None


def read_header(line: bytes, blanks: bytes = b"") -> Header | None:
    """Parse a header; return None for fewer than two columns or if a number is in the place of a name.

    blanks: the separator of the rows, if not that of the header.
    """
    text = decoded(line).strip("\r\n\0")
    separator = max(SEPARATORS, key=text.count)
    if separator not in text:
        return None
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=separator), [])]
    except csv.Error:
        return None
    ended = len(names) > 2 and not names[-1]  # a separator ends each row
    if len(names) < 2 or not all(map(_is_name, names[1:-1] if ended else names[1:])):
        return None
    if names[0] and not _is_name(names[0]):
        return None
    if names[0].lower() == _INDEX:
        names[0] = ""
    lower = [name.lower() for name in names]
    steps = step_columns(names)
    if not steps and not names[0]:
        steps = [0]  # the index of pandas
    return Header(
        line=line,
        separator=blanks or separator.encode(),
        names=_unique(names),
        steps=tuple(steps),
        times=tuple(lower.index(name) for name in TIME_NAMES if name in lower),
        clocks=tuple(lower.index(name) for name in CLOCK_KEYS if name in lower),
        numeric=tuple(not _IDENTIFIER.search(name) and (bool(name) or (0 in steps and not ended)) for name in names),
    )


def in_long_form(header: Header) -> Header | None:
    """Return a header with the columns of the name and the value of a metric and a step; None without them."""
    lower = [name.lower() for name in header.names]
    key = next((lower.index(name) for name in _KEYS if name in lower), None)
    value = next((lower.index(name) for name in _VALUES if name in lower), None)
    return None if key is None or value is None or not header.has_step else replace(header, key=key, value=value)


def _is_name(text: str) -> bool:
    """Return True if a column may have this name: it contains a letter and is not a number like "1e5"; "nan" and "inf"
    do occur as names."""
    return not _NUMBER.fullmatch(text) and any(map(str.isalpha, text))


def _unique(names: list[str]) -> tuple[str, ...]:
    uses: dict[str, int] = {}
    unique = []
    for name in names:
        uses[name] = uses.get(name, -1) + 1
        unique.append(f"{name}.{uses[name]}" if uses[name] else name)
    return tuple(unique)
