"""A line of console text made readable: without terminal controls, Ray's prefix, and what a logging module puts first.

    \\x1b[36m(TaskRunner pid=31337, ip=10.0.0.2)\\x1b[0m [2026-08-19 12:00:05] [x.py (158)] [INFO] the message

Sources: ray/_private/ray_logging.py (prefix, "[repeated 3x across cluster]"), and the logging formats of the trainers
named in the modules of this package. All expressions take time linear in the line.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property, lru_cache
from math import nan

from tuimon.formats._json import BOM

CONTROLS = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
"""ANSI sequences: CSI (colours, cursor moves), OSC (titles, links), two-byte escapes."""
_RAY = re.compile(r"\s*\([A-Za-z_][\w.:-]*+(?: pid=\d+)(?:, ip=[0-9a-fA-F.:]+)?\)\s?")
_REPEATED = " [repeated "
_REPEATED_END = re.compile(r" \[repeated \d+x across cluster\].*")
_LEVEL = "DEBUG|INFO|WARNING|WARN|ERROR|SUCCESS|CRITICAL|TRACE"
_PREFIX = re.compile(
    r"(?:\s++"
    r"|\[(?!val|eval|test|[^\]]{0,12}(?:epoch|step|iter)\w*\W{0,3}\d)[^\[\]]{1,80}\](?!\s*[=:]\s*[\d-]):?"  # [INFO]
    r"|\d{4}[-/]\d\d[-/]\d\d(?:[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?=\s|$)"
    r"|(?:\d\d-\d\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?(?=\s|$)"
    rf"|(?:{_LEVEL}):[\w.]{{1,60}}:|(?:{_LEVEL})\b:?"
    rf"|[\w.]{{1,60}}(?= - (?:{_LEVEL})\b)"  # a logger's name
    r"|[\w./<>-]{1,80}\.py:\d+\]?|[\w.]{1,80}:[\w<>]{1,60}:\d+(?= - )"
    r"|[-|>:](?=\s))*+",
    re.IGNORECASE,
)
_STAMP = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6})\d*)?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_STAMP_WITHIN = 80
_BAR_BEFORE = re.compile(r"[^|%]{0,200}?\d{1,3}%\|[^|]*+\|[^\[\]|]{1,80}\[[^\]]*+\]\s*+(?=[\w{'\"\[])", re.ASCII)
"""A progress bar (tqdm) that is left standing, and a text behind it: print() does not know of the bar."""
_CURSOR_UP = b"\x1b[A"


class Line:
    """One line, or one state of a line that is redrawn."""

    def __init__(self, raw: bytes, offset: int = 0, ended: bool = True) -> None:
        self._raw = raw
        self.text = plain(raw)
        self._message: str | None = None
        self._drawn: str | None = None
        self.offset = offset
        """Of its first byte in the log."""
        self.ended = ended
        """False: its end has not come, though it looks whole. It is read again then, unless it gives a row now."""

    @property
    def message(self) -> str:
        """The text without time stamp, level, logger and call site, nor a progress bar that was left standing."""
        if self._message is None:
            drawn = self._message = self.drawn
            if "%|" in drawn and drawn[-1] != "]" and (bar := _BAR_BEFORE.match(drawn)):
                self._message = _without_prefix(drawn[bar.end() :])
        return self._message

    @property
    def drawn(self) -> str:
        """The message with the progress bar before it, if there is one."""
        if self._drawn is None:
            self._drawn = _without_prefix(self.text)
        return self._drawn

    @property
    def nested(self) -> bool:
        """Is it a bar within a bar: drawn below another one, to whose line the cursor goes back up (tqdm/std.py)?"""
        return self._raw.rstrip().endswith(_CURSOR_UP)

    @cached_property
    def time(self) -> float:
        """Seconds since the epoch that the line begins with; NaN where it has no full time stamp."""
        return stamp(self.text)


def _without_prefix(text: str) -> str:
    found = _PREFIX.match(text)
    return text[found.end() :] if found else text


def plain(raw: bytes) -> str:
    """The text of a line without its newline: no control sequences, no prefix of Ray."""
    text = raw.removeprefix(BOM).decode("utf-8", "replace")
    if "\x1b" in text:
        text = CONTROLS.sub("", text)
    if "(" in text[:4] and (found := _RAY.match(text)):
        text = text[found.end() :]
    if _REPEATED in text:
        text = _REPEATED_END.sub("", text)
    return text.rstrip()


def stamp(text: str) -> float:
    """The first time stamp near the beginning of a line as seconds since the epoch; local unless it says where."""
    found = _STAMP.search(text, 0, _STAMP_WITHIN) if "20" in text[:_STAMP_WITHIN] else None
    if found is None:
        return nan
    *moment, fraction, zone = found.groups()
    seconds = _epoch(*moment, zone or "")
    return seconds + int((fraction or "0").ljust(6, "0")) / 1e6


@lru_cache(4096)
def _epoch(year: str, month: str, day: str, hour: str, minute: str, second: str, zone: str) -> float:
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=_zone(zone))
        return moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return nan


def _zone(text: str) -> timezone | None:
    if text in ("", "Z"):
        return UTC if text else None
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))
