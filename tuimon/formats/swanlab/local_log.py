"""SwanLab's local logs: swanlog/run-<time>-<id>/logs/<folder>/<N>.log, written by 0.2 to 0.10 in local mode.

JSON lines, one per point, in the order of logging: {"index": step, "data": value, "create_time": time}. Media have a
list as data and are not points; run_file lists the forms of values and times. N is the number of points rounded up to
a thousand, so a metric's files are read in the order of that number: 1000.log, 2000.log, … 10000.log.

From 0.8 on a file is rewritten under another inode when a step is logged twice; it then holds the last value.

The content does not name the metric: the decoder uses the name "", which the reader replaces. The folder is a number,
whose name is in runs.swanlab (SQLite), or the percent-encoded name (before 0.3.12): see tuimon.reader.naming.

Source: swanboard and swanlab of these versions, and files written by them.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.lines import JSONLines
from tuimon.formats._shared.long_form import SWANLAB

_NAME = re.compile(r"\d+\.log")
_FIRST = re.compile(rb'\s*\{"index": ?"?-?\d+"?, ?"data": ?')
_PATH = re.compile(r"(?P<source>.*/logs)/[^/]+/\d+\.log", re.DOTALL)


def _wants(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _matches(name: str, head: bytes) -> bool:
    if not _wants(name) or not _FIRST.match(head):
        return False
    line, newline, _ = head.partition(b"\n")
    return b'"create_time"' in line or not newline  # the line of a long text may continue after `head`


def _source(path: str) -> str:
    match = _PATH.fullmatch(path)
    return match["source"] if match else path


FORMAT = Format(
    id="swanlab-log",
    title="SwanLab local log",
    writers="SwanLab 0.4 to 0.10, local mode",
    rank=45,
    matches=_matches,
    decoder=lambda: JSONLines(SWANLAB.reader()),
    wants_name=_wants,
    source_path=_source,
    name_in_database=True,
    rewritten_whole=True,
)
