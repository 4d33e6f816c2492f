"""Numbers in lines of metrics that gave no point, for `tuimon doctor` and remarks about a log.

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
_MAX_NAMED = 3
"""Number of names that are reported."""
_MAX_LENGTH = 2000
_NAMED = re.compile(
    r"(?<![\w./@%:=+-])(\|{0,2}[A-Za-z_][\w./@-]{0,40}\|{0,2})\s{0,2}(?:[=:]\s{0,8}|\s{1,8})"
    r"([+-]?(?:\d{1,20}(?:,\d{3}){0,6}(?:\.\d{1,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?)([kKM]?)"
    r"(?:\s?(?:%|[A-Za-z]{1,12}/s|[kMGT]i?B|ms|us|s|min|h)(?![\w/:]))?(?![\w:/-]|[.,]\d)",
    re.ASCII | re.IGNORECASE,
)
_RATE = re.compile(
    r"(?<![\w.,+-])(\d{1,20}(?:,\d{3}){0,6}(?:\.\d{1,20})?)([kKM]?)\s?([A-Za-z]{1,15}/s(?:ec)?)(?![\w/])", re.ASCII
)
"""A number before a unit of speed."""
_COUNTER = re.compile(
    r"(?:.*[_-])?(?:steps?|iter(?:ation)?s?|epochs?|updates?|episodes?|batch(?:es)?|rounds?|generations?|timesteps?|frames?|"
    r"it|ep|total|remaining|elapsed|of|in|at|over|took|for|to|after|from|and|on|with|by|is|was|eta|rank|gpu|pid|seed|"
    r"line|info|warning|debug)",
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
        text = line.message[:_MAX_LENGTH]
        printed = [(match[0], *match.group(1, 2, 3)) for match in _NAMED.finditer(text)]
        printed += [(match[0], *match.group(3, 1, 2)) for match in _RATE.finditer(text)]
        for part, name, digits, factor in printed:
            value = float(digits.replace(",", "")) * _FACTORS[factor.lower()]
            if value in known or isnan(value) or name in names or _COUNTER.fullmatch(name):
                continue
            parts.setdefault(name, part)
        self._lines.update(parts.keys())
        self._examples = parts | self._examples

    def text(self, least_part: float = 0.0) -> str:
        """Return the most frequent names in at least this part of the lines with their first numbers, as "`tokens
        81,920` (in 60 of the first 64 lines)"; "" if there are none."""
        least = max(_LEAST, least_part * self._examined)
        examples = dict[int, list[str]]()
        for name, count in self._lines.most_common(_MAX_NAMED):
            if count >= least:
                examples.setdefault(count, []).append(f"`{self._examples[name]}`")
        return "; ".join(f"{', '.join(parts)} ({self._share(count)})" for count, parts in examples.items())

    def _share(self, count: int) -> str:
        """Return the number of lines as part of those that were examined."""
        part = "all" if count == self._examined else f"{count}"
        return f"in {part} of the first {self._examined} lines"
