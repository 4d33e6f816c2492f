"""Names of rotated and compressed logs, as logrotate and Python's logging.handlers write them.

train.log   train.log.1   train.log.2.gz              RotatingFileHandler, logrotate: a higher number is older
train.log.81234           train.log.81251             numbers of jobs or times, which grow (reader/trainings.py)
train.log.2026-11-22      train.log-20261122.gz       TimedRotatingFileHandler, logrotate with dateext
metrics.csv.gz            metrics.jsonl.gz
"""

from __future__ import annotations

import posixpath
from functools import lru_cache

from msgspec import Struct

from tuimon import lazy_re as re

_ROTATED = re.compile(
    r"(?P<live>.*\.(?:log|txt|out|err|csv|tsv|jsonl?|ndjson))"
    r"(?:\.(?P<number>\d{1,12})|[.-](?P<date>\d{4}-?\d{2}-?\d{2}(?:[-_T]?\d{2}(?:[-_:]?\d{2}){0,2})?))?(?P<gz>\.gz)?",
    re.IGNORECASE | re.DOTALL,
)


class LogName(Struct, frozen=True):
    """The parts of the path of a log."""

    live: str
    """Path of the log that is written now; the path itself if it is neither rotated nor compressed."""
    age: tuple[int, str]
    """Key that sorts the files of one log, oldest first, unless their numbers grow."""
    compressed: bool
    """Whether the name says that the file is compressed by gzip."""


@lru_cache(maxsize=4096)
def log_name(path: str) -> LogName:
    """Return the parts of a path."""
    directory, name = posixpath.split(path)
    match = _ROTATED.fullmatch(name)
    if match is None:
        return LogName(path, (0, "~"), False)
    number = -int(match["number"]) if match["number"] else 0
    live = posixpath.join(directory, match["live"])
    return LogName(live, (number, match["date"] or "~"), match["gz"] is not None)
