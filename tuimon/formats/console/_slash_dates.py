"""Dates such as 11/25/2026, whose order of month and day only their values show.

A number above 12 is a day. If no date of a log has one, the order is that in which the times of its lines do not go
back, and in which they do not jump by weeks where the other order has hours. nanotron's fields after the date show that
the month is first. Dates of a log that leave both orders possible are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import TypeAlias

from tuimon import lazy_re as re
from tuimon.text import decoded

_DATE = re.compile(rb"(?<![\d/])(\d\d)/(\d\d)/(20\d\d)(?=[ T](\d\d:\d\d:\d\d))")
_MONTH_FIRST = re.compile(rb"(?<![\d/])\d\d/\d\d/20\d\d \d\d:\d\d:\d\d \[[A-Z]{4,8}\|")
"""The beginning of a line of nanotron, whose formatter has the date "%m/%d/%Y"."""
_DAY = 86400.0
_Stamp: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""Two numbers that are month and day in either order, year, and time of the day."""


class SlashDates:
    """Rewrites the dates of one log as 2026/11/25, once their order is known."""

    def __init__(self) -> None:
        self._month_first: bool | None = None
        self._unread = 0
        self._example = ""

    def examine(self, data: bytes) -> None:
        """Find the order in the next bytes of the log, unless it is known."""
        if self._month_first is None and b"/20" in data:
            self._month_first = _is_month_first(data)

    def rewritten(self, text: bytes) -> bytes:
        """Return lines with dates that `parse_timestamp` reads, of the same length; the same object if none change."""
        if b"/20" not in text or _DATE.search(text) is None:
            return text
        if self._month_first is None:
            stamps = _DATE.findall(text)
            self._unread += len(stamps)
            month, day, year, time = stamps[0]
            self._example = self._example or decoded(b"%b/%b/%b %b" % (month, day, year, time))
            return text
        return _DATE.sub(rb"\3/\1/\2" if self._month_first else rb"\3/\2/\1", text)

    @property
    def remark(self) -> str:
        """Note for the user about dates that were not read; "" without one."""
        if not self._unread:
            return ""
        lines = "1 time is" if self._unread == 1 else f"{self._unread} times are"
        return f"{lines} not read, as month or day may be first: {self._example}"


def _is_month_first(text: bytes) -> bool | None:
    """Return the order that the dates of some lines show, or None."""
    if _MONTH_FIRST.search(text):
        return True
    stamps = list(dict.fromkeys(_DATE.findall(text)))
    if any(b"12" < day <= b"31" and month <= b"12" for month, day, _, _ in stamps):
        return True
    if any(b"12" < day <= b"31" and month <= b"12" for day, month, _, _ in stamps):
        return False
    # Times of one date show no order. To parse all of them would take 0.1 s for 1 MB of a log.
    changes = [(earlier, later) for earlier, later in pairwise(stamps) if earlier[:3] != later[:3]]
    gaps = [_gaps(changes, month_first) for month_first in (True, False)]
    falls = [any(gap < 0 for gap in each) for each in gaps]
    if falls[0] != falls[1]:
        return falls[1]
    for first, second in zip(gaps[0], gaps[1], strict=False):
        if min(abs(first), abs(second)) < _DAY and abs(first - second) > _DAY:
            return abs(first) < abs(second)
    return None


def _gaps(changes: Sequence[tuple[_Stamp, _Stamp]], month_first: bool) -> list[float]:
    """Return the seconds between two adjacent times of different dates, in one order of month and day."""
    form = "%m/%d/%Y %H:%M:%S" if month_first else "%d/%m/%Y %H:%M:%S"
    try:
        return [(_parsed(later, form) - _parsed(earlier, form)).total_seconds() for earlier, later in changes]
    except ValueError:
        return []


def _parsed(stamp: _Stamp, form: str) -> datetime:
    return datetime.strptime(decoded(b"%b/%b/%b %b" % stamp), form)
