"""One line of console text without terminal controls, Ray's prefix and the fields of a logging module.

    \\x1b[36m(TaskRunner pid=31337, ip=10.0.0.2)\\x1b[0m [2026-08-19 12:00:05] [x.py (158)] [INFO] the message

A record of a logging module that writes JSON ({"level": "INFO", "message": "step 3: loss=0.5"}) is read as its message.
Sources: ray/_private/ray_logging.py (prefix, "[repeated 3x across cluster]") and the logging formats of the trainers
named in this package. All expressions take linear time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from math import nan
from typing import Any, Generic, TypeVar

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.json import BOM, parse
from tuimon.formats._shared.rows import STEP_KEYS, TIME_KEYS, seconds
from tuimon.text import decoded

CONTROLS = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
"""ANSI sequences: CSI (colours, cursor moves), OSC (titles, links), two-byte escapes."""
PROGRESS_BAR = re.compile(
    r"(?P<name>[^|%]{0,200}?)\s*+\d{1,3}%\|[^|]*+\|\s*+(?P<done>\d{1,18})/(?P<total>\d{1,18}) "
    r"\[(?P<inside>[^\]]*+)\]?",
    re.ASCII,
)
"""A tqdm bar at the beginning of a line."""
_RAY = re.compile(r"\s*\([A-Za-z_][\w.:-]*+(?: pid=\d+)(?:, ip=[0-9a-fA-F.:]+)?\)\s?")
_REPEATED = " [repeated "
_REPEATED_END = re.compile(r" \[repeated \d+x across cluster\].*")
_LEVEL = "DEBUG|INFO|WARNING|WARN|ERROR|SUCCESS|CRITICAL|TRACE"
_PREFIX = re.compile(
    r"(?:\s++"
    r"|\[(?!val|eval|test|(?:it|ep)\W{1,8}\d|[^\]]{0,12}(?:epoch|step|iter|episode|update|round|generation|batch)\w*\W{0,8}\d)[^\[\]]{1,80}\](?!\s*[=:]\s*[\d-]):?"
    r"|\d{4}[-/]\d\d[-/]\d\d(?:[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?=[\s:]|$)"
    r"|\d\d/\d\d(?:/\d{4})? \d\d:\d\d:\d\d(?:[.,]\d+)?(?=[\s:]|$)"
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d(?:\.\d+)?\s+\d+ [\w./<>-]{1,80}:\d+\]"  # absl and glog
    r"|(?:(?:\d\d-)?\d\d-\d\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?(?=\s|$)"
    rf"|:(?=(?:{_LEVEL}):)|(?:{_LEVEL}):[\w.]{{1,60}}:|(?:{_LEVEL})\b:?(?:\s(?!val|eval|test)[\w.]{{1,60}}:(?=\s(?:[\[{{]|$)))?"
    rf"|[\w./\\-]{{1,160}}(?= - (?:{_LEVEL})\b)"  # name of a logger
    r"|(?<=- )\w{1,60}(?:\.\w{1,60}){1,9}(?= - )"  # the same behind the level
    r"|[\w./<>-]{1,80}\.py:\d+\]?|[\w.]{1,80}:[\w<>]{1,60}:\d+(?= - )"
    r"|[-|>:](?=\s))*+",
    re.IGNORECASE,
)
_TIMESTAMP = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6})\d*)?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_TIMESTAMP_WITHIN = 80
_BAR_BEFORE = re.compile(r"[^|%]{0,200}?\d{1,3}%\|[^|]*+\|[^\[\]|]{1,80}\[[^\]]*+\]\s*+(?=[\w{'\"\[])", re.ASCII)
"""A tqdm bar followed by text on the same line, as print() does not clear the bar."""
_CALL_SITE = 60
_CALL_SITE_AFTER = re.compile(r"\s{2,80}+[\w./-]{1,50}\.py:\d{1,7}$", re.ASCII)
"""The call site that rich prints at the right margin."""
_CURSOR_UP = b"\x1b[A"


T = TypeVar("T")


class _Lazy(Generic[T]):
    """Like functools.cached_property, without its lock, which takes a tenth of the time of reading a line."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, line: Any, owner: type) -> T:
        value = line.__dict__[self._name] = self._function(line)
        return value


class Line:
    """One line, or one state of a line that is redrawn."""

    def __init__(self, raw: bytes, offset: int = 0, ended: bool = True) -> None:
        self.raw = raw
        self.text = plain(raw)
        if self.text.startswith("{") and '"message"' in self.text:
            self._unwrap()
        self.offset = offset
        """Offset of the first byte in the log."""
        self.ended = ended
        """False if the newline has not arrived yet. Unless it gives a row now, the line is read again once it has."""

    def _unwrap(self) -> None:
        """Replace a JSON record of a logging module by its message, unless the record holds metrics itself."""
        try:
            record = parse(self.text.encode())
        except FormatError:
            return
        message = record.get("message") if isinstance(record, dict) else None
        if not isinstance(message, str) or any(key in record for key in (*STEP_KEYS, "loss")):
            return
        self.text = message.rstrip().rpartition("\n")[2]
        time = next((time for key in TIME_KEYS if (time := seconds(record.get(key))) is not None), None)
        if time is not None:
            self.__dict__["time"] = time

    @_Lazy
    def message(self) -> str:
        """The text without timestamp, level, logger, call site and a progress bar before it."""
        drawn = self.drawn
        if ".py:" in drawn[-_CALL_SITE:]:
            drawn = _CALL_SITE_AFTER.sub("", drawn)
        if "%|" in drawn and drawn[-1] != "]" and (bar := _BAR_BEFORE.match(drawn)):
            return without_prefix(drawn[bar.end() :])
        return drawn

    @_Lazy
    def drawn(self) -> str:
        """The message including a progress bar before it."""
        return without_prefix(self.text)

    @_Lazy
    def bar(self) -> re.Match[str] | None:
        """The match of PROGRESS_BAR at the beginning of the line."""
        return PROGRESS_BAR.match(self.drawn) if "%|" in self.text else None

    @property
    def nested(self) -> bool:
        """True for a bar drawn below another one, after which the cursor goes back up (tqdm/std.py)."""
        return self.raw.rstrip().endswith(_CURSOR_UP)

    @_Lazy
    def time(self) -> float:
        """Seconds since the epoch from the timestamp of the line; NaN without a full timestamp."""
        return parse_timestamp(self.text)


def without_prefix(text: str) -> str:
    match = _PREFIX.match(text)
    return text[match.end() :] if match else text


def plain(raw: bytes) -> str:
    """Decode a line, without control sequences, Ray's prefix and whitespace at its end."""
    text = decoded(raw.removeprefix(BOM))
    if "\x1b" in text:
        text = CONTROLS.sub("", text)
    if "(" in text[:4] and (match := _RAY.match(text)):
        text = text[match.end() :]
    if "\b" in text:
        text = text.replace("\b", "")
    if _REPEATED in text:
        text = _REPEATED_END.sub("", text)
    return text.rstrip()


def parse_timestamp(text: str) -> float:
    """Return the first timestamp near the beginning of a line as seconds since the epoch, or NaN. A timestamp without
    a zone is local time."""
    match = _TIMESTAMP.search(text, 0, _TIMESTAMP_WITHIN) if "20" in text[:_TIMESTAMP_WITHIN] else None
    if match is None:
        return nan
    *moment, fraction, zone = match.groups()
    return _epoch(*moment, zone or "") + int((fraction or "0").ljust(6, "0")) / 1e6


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
