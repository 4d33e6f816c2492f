"""Dates such as 11/25/2026, whose order of month and day only a number above 12 shows.

nanotron's fields after the date show that the month is first. Dates before the first that shows the order are not read.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.text import decoded

_DATE = re.compile(rb"(?<![\d/])(\d\d)/(\d\d)/(20\d\d)(?=[ T]\d\d:\d\d:\d\d)")
_MONTH_FIRST = re.compile(rb"(?<![\d/])\d\d/\d\d/20\d\d \d\d:\d\d:\d\d \[[A-Z]{4,8}\|")
"""The beginning of a line of nanotron, whose formatter has the date "%m/%d/%Y"."""


class SlashDates:
    """Rewrites the dates of one log as 2026/11/25."""

    def __init__(self) -> None:
        self._month_first: bool | None = None
        self._unread = 0
        self._example = ""

    def examine(self, data: bytes) -> None:
        """Find the order in the next bytes of the log, unless it is known."""
        if self._month_first is None and b"/20" in data:
            pairs = {match[:2] for match in _DATE.findall(data)}
            decided = (first <= b"12" for first, second in pairs if max(first, second) > b"12")
            self._month_first = True if _MONTH_FIRST.search(data) else next(decided, None)

    def rewritten(self, text: bytes) -> bytes:
        """Return lines with dates that `parse_timestamp` reads, of the same length; the same object if none change."""
        if b"/20" not in text or (match := _DATE.search(text)) is None:
            return text
        if self._month_first is None:
            self._unread += len(_DATE.findall(text))
            self._example = self._example or decoded(match[0])
            return text
        return _DATE.sub(rb"\3/\1/\2" if self._month_first else rb"\3/\2/\1", text)

    @property
    def remark(self) -> str:
        """Note for the user about dates that were not read; "" without one."""
        if not self._unread:
            return ""
        lines = "1 time is" if self._unread == 1 else f"{self._unread} times are"
        return f"{lines} not read, as month or day may be first: {self._example}"
