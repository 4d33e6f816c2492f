"""SwanLab's local logs: swanlog/run-<time>-<id>/logs/<folder>/<N>.log, written by 0.2 to 0.10 in local mode.

JSON lines, one per point, in the order of logging: {"index": step, "data": value, "create_time": time}. Media have a
list as data and are not points; for the forms of data and create_time see _values. N is the number of points rounded up
to a thousand, so a metric's files are read in the order of that number: 1000.log, 2000.log, … 10000.log.

From 0.8 on a file is rewritten under another inode when a step is logged twice; it then holds the last value.

The content does not name the metric: the decoder uses the name "", which the reader replaces. The folder is a number,
whose name is in runs.swanlab (SQLite), or the percent-encoded name (before 0.3.12): see tuimon.reader.naming.

Source: swanboard and swanlab of these versions, and files written by them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.lines import JSONLines
from tuimon.formats.swanlab._values import number, seconds, step
from tuimon.model.points import Item, Points

_NAME = re.compile(r"\d+\.log")
_FIRST = re.compile(rb'\s*\{"index": ?"?-?\d+"?, ?"data": ?')
_PATH = re.compile(r"(?P<source>.*/logs)/[^/]+/\d+\.log", re.DOTALL)
_NAMES = ("",)


def _wants(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _matches(name: str, head: bytes) -> bool:
    if not _wants(name) or not _FIRST.match(head):
        return False
    line, newline, _ = head.partition(b"\n")
    return b'"create_time"' in line or not newline  # the line of a long text may continue after `head`


def _read(values: list[Any]) -> list[Item]:
    """Convert lines, and skip those without a number (media)."""
    rows: list[tuple[int, float, float]] = []
    for value in values:
        if isinstance(value, dict):
            at_step, logged = step(value.get("index")), number(value.get("data"))
            if at_step is not None and logged is not None:
                rows.append((at_step, logged, seconds(value.get("create_time"))))
    if not rows:
        return []
    steps, logged_values, times = zip(*rows, strict=True)
    columns = np.array(steps, np.int64), np.array(logged_values, np.float64), np.array(times, np.float64)
    return [Points(_NAMES, np.zeros(len(steps), np.uint32), *columns)]


def _source(path: str) -> str:
    match = _PATH.fullmatch(path)
    return match["source"] if match else path


FORMAT = Format(
    id="swanlab-log",
    title="SwanLab local log",
    writers="SwanLab 0.4 to 0.10, local mode",
    rank=45,
    matches=_matches,
    decoder=lambda: JSONLines(_read),
    wants_name=_wants,
    source_path=_source,
    name_in_database=True,
    rewritten_whole=True,
)
