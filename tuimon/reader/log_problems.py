"""Errors and warnings in a console log: how many lines report one, and the first line of each kind of warning.

A kind is the text of a line with every number replaced, so that a warning that a library prints in each step counts
once. The log is read once, in parts, and then what is appended to it.
"""

from __future__ import annotations

from bisect import bisect_left

from tuimon import lazy_re as re
from tuimon.reader.log_text import BUDGET, LogLine, LogText, SearchResult

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
_LONGEST = 200
"""Characters of a line that its kind is determined from."""
_MOST_KINDS = 1000
"""Maximum number of kinds. Other lines that differ from these count as one more."""
_OTHER = "\n"
"""Kind of the warnings for which there are too many kinds."""


class LogProblems:
    """The errors and warnings of a log, as far as it has been read."""

    def __init__(self, log: LogText) -> None:
        self._log = log
        self._begin()

    def _begin(self) -> None:
        self._generation, self._reached = self._log.generation, 0
        self._complete = False
        self._kinds: dict[str, int] = {}
        """Number of lines of each kind of warning."""
        self._offsets: list[int] = []
        """Offset of the first line of each kind of warning, ascending."""
        self.errors = 0
        """Number of lines that report an error."""
        self.warnings = 0
        """Number of lines that report a warning."""

    @property
    def complete(self) -> bool:
        """Whether the log has been read up to its end."""
        return self._complete

    @property
    def kinds(self) -> int:
        """Number of kinds of warnings."""
        return len(self._offsets)

    def extend(self, budget: int = BUDGET) -> None:
        """Read about `budget` bytes more, or from the start of the log if it was replaced."""
        if self._generation != self._log.generation:
            self._begin()
        lines, reached = self._log.problems(self._reached, budget)
        self._complete = reached >= self._log.size or reached == self._reached  # the rest is an unfinished line
        self._reached = reached
        for line in lines:
            self._add(line)

    def _add(self, line: LogLine) -> None:
        if line.level == "error":
            self.errors += 1
            return
        self.warnings += 1
        text = _kind_of(line)
        if text not in self._kinds and len(self._kinds) >= _MOST_KINDS:
            text = _OTHER
        if text not in self._kinds:
            self._offsets.append(line.offset)
        self._kinds[text] = self._kinds.get(text, 0) + 1

    def next_warning(self, offset: int, backwards: bool = False) -> SearchResult:
        """Find the first line of a kind of warning after `offset` (backwards: the last one before it).

        If the log has not been read far enough, about BUDGET bytes more are read and the result is not `done`.
        """
        index = bisect_left(self._offsets, offset) - backwards
        if 0 <= index < len(self._offsets) and (self.complete or not backwards):
            first = self._log.lines(self._offsets[index], 1)
            return SearchResult(first[0] if first else None, offset, True)
        if self.complete:
            return SearchResult(None, offset, True)
        self.extend()
        return SearchResult(None, offset, False)


def _kind_of(line: LogLine) -> str:
    return _NUMBER.sub("0", line.text[:_LONGEST])
