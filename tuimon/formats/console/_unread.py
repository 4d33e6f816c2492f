"""Numbers with names in lines of metrics that gave no point, for `tuimon doctor`.

The first lines that gave a row are searched for names with numbers of which the row has no value. Counters, durations,
dates and totals are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from math import isnan

from tuimon.formats.console.families import Line, Sink

_EXAMINED = 64
"""Number of lines that are examined in each log."""
_LEAST = 3
"""Minimum number of these lines in which a name must occur to be reported."""
_MAX_LENGTH = 2000
_NAMED = re.compile(
    r"(?<![\w./@%:=+-])([A-Za-z_][\w./@-]{0,40})\s{0,2}(?:[=:]\s{0,8}|\s{1,8})"
    r"([+-]?(?:\d{1,20}(?:,\d{3}){0,6}(?:\.\d{1,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?)([kKM]?)"
    r"(?:\s?(?:%|[A-Za-z]{1,12}/s|[kMGT]i?B|ms|us|s|min|h)(?![\w/:]))?(?![\w:/-]|[.,]\d)",
    re.ASCII | re.IGNORECASE,
)
_COUNTER = re.compile(
    r"(?:.*[_-])?(?:steps?|iter(?:ation)?s?|epochs?|updates?|episodes?|batch(?:es)?|rounds?|generations?|timesteps?|frames?|"
    r"it|ep|of|in|at|over|took|for|to|after|from|and|on|with|by|is|was|eta|rank|gpu|pid|seed|line|info|warning|debug)",
    re.IGNORECASE,
)
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6}


class UnreadParts:
    """The names whose numbers were not read in the first lines of a log."""

    def __init__(self) -> None:
        self._examined = 0
        self._lines = Counter[str]()
        self._examples: dict[str, str] = {}

    @property
    def is_done(self) -> bool:
        """Whether enough lines have been examined."""
        return self._examined >= _EXAMINED

    def examine(self, line: Line, sink: Sink) -> None:
        """Examine a line that gave the last row of the sink."""
        self._examined += 1
        known = {float(value) for _, value in sink.last_row} | {float(sink.step or 0)}
        names = {name for name, _ in sink.last_row}
        parts = dict[str, str]()
        for match in _NAMED.finditer(line.message[:_MAX_LENGTH]):
            name, value = match[1], float(match[2].replace(",", "")) * _FACTORS[match[3].lower()]
            if value in known or isnan(value) or name in names or _COUNTER.fullmatch(name):
                continue
            parts.setdefault(name, match[0])
        self._lines.update(parts.keys())
        self._examples = parts | self._examples

    def __str__(self) -> str:
        """Return the most frequent name with its first number: "`tokens 81,920` (in 60 of 64 lines)"; "" for none."""
        [(name, count)] = self._lines.most_common(1) or [("", 0)]
        return f"`{self._examples[name]}` (in {count} of {self._examined} lines)" if count >= _LEAST else ""
