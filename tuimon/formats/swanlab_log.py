"""SwanLab's local logs: swanlog/run-<time>-<id>/logs/<folder>/<N>.log, of 0.2 to 0.10 in local mode.

JSON lines, one a point, in the order of logging: {"index": step, "data": value, "create_time": time}. Media have a list
as data and are no points; for the forms of data and create_time see _swanlab_values. N is the number of points rounded
up to a thousand, so a metric's files are read in the order of that number: 1000.log, 2000.log, … 10000.log.

From 0.8 on a file is written anew, under another inode, when a step is logged twice: the last value is in it then.

The bytes do not say which metric it is: the name given here is "", and whoever knows the path puts the metric's name
in its place. The folder is a number that runs.swanlab (SQLite) knows the name of, or the name itself, percent-encoded
(before 0.3.12): see tuimon.sources.swanlab_names.

Source: swanboard and swanlab of these versions, and files that they wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from tuimon.formats import Format
from tuimon.formats._lines import JSONLines
from tuimon.formats._swanlab_values import number, seconds, step
from tuimon.model.points import Item, Points

_NAME = re.compile(r"\d+\.log")
_FIRST = re.compile(rb'\s*\{"index": ?"?-?\d+"?, ?"data": ?')
_PATH = re.compile(r"(?P<source>.*/logs)/[^/]+/\d+\.log", re.DOTALL)
_NAMES = ("",)
_FIELDS = itemgetter("index", "data", "create_time")


def _wants(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _matches(name: str, head: bytes) -> bool:
    if not _wants(name) or not _FIRST.match(head):
        return False
    line, newline, _ = head.partition(b"\n")
    return b'"create_time"' in line or not newline  # a long text runs past what was read of it


def _read(values: list[Any]) -> list[Item]:
    """Lines to points."""
    return _plain(values) or _one_by_one(values)


def _plain(values: list[Any]) -> list[Item]:
    """Of lines that all hold a step and a number; [] where one does not."""
    try:
        steps, logged, times = zip(*map(_FIELDS, values), strict=True)
    except (TypeError, KeyError):
        return []
    if set(map(type, steps)) != {int} or not set(map(type, logged)) <= {int, float}:
        return []
    try:
        return [_points(steps, logged, list(map(seconds, times)))]
    except OverflowError:  # beyond 64 bits, or beyond a float
        return []


def _one_by_one(values: list[Any]) -> list[Item]:
    """A line that holds no number is media, and no point."""
    rows: list[tuple[int, float, float]] = []
    for value in values:
        if isinstance(value, dict):
            at_step, logged = step(value.get("index")), number(value.get("data"))
            if at_step is not None and logged is not None:
                rows.append((at_step, logged, seconds(value.get("create_time"))))
    if not rows:
        return []
    return [_points(*zip(*rows, strict=True))]


def _points(steps: Sequence[int], logged: Sequence[float], times: Sequence[float]) -> Points:
    columns = np.array(steps, np.int64), np.array(logged, np.float64), np.array(times, np.float64)
    return Points(_NAMES, np.zeros(len(steps), np.uint32), *columns)


def _source(path: str) -> str:
    found = _PATH.fullmatch(path)
    return found["source"] if found else path


FORMAT = Format(
    id="swanlab-log",
    title="SwanLab local log",
    writers="SwanLab 0.4 to 0.10, local mode",
    rank=45,
    matches=_matches,
    decoder=lambda: JSONLines(_read),
    wants_name=_wants,
    source_path=_source,
    metric_elsewhere=True,
    rewritten_whole=True,
)
