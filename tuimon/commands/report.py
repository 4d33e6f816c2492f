"""`tuimon report PATH… -o FILE`: write runs to one HTML file without network or scripts."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._options import FORCE, SOME_PATHS
from tuimon.commands._output import check_html_suffix, open_output
from tuimon.commands._shared import checked_paths, print_problems, read_logs
from tuimon.commands._stderr import ProgressBar, interruptible, print_status
from tuimon.errors import ExitCode, UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.store import Snapshot


_OPTIONS = f"""\
{SOME_PATHS}-o FILE  output file (default: -, standard output)
--autopsy  of the newest run that failed: what changed first, curves, texts and settings around it, what is lost
{FORCE}"""


@interruptible("interrupted before the report was complete; no file was written")
def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.html.report import as_html
    from tuimon.monitor import load_settings

    check_html_suffix(options.output, "report", "Points, tables and pictures: `tuimon export`.")
    if options.output == "-" and sys.stdout.isatty():
        raise UsageError("refusing to write HTML to a terminal", "Use -o report.html.")
    options.texts_copied, samples = 1, load_settings().samples
    monitor = read_logs(checked_paths(options.paths, options=options))
    print_problems(monitor)
    snapshot = monitor.snapshot()
    with open_output(options.output, options.force) as stream:
        if options.autopsy:
            page = _autopsy(snapshot, samples)
        else:
            with ProgressBar("drawing", at_once=True) as progress:
                numbers = count(1)
                page = as_html(snapshot, time.time(), samples, lambda: progress.update(next(numbers), 0, " panels"))
        stream.write(page.encode("utf-8", "backslashreplace"))
    if options.output != "-":
        print_status(f"wrote {clean(options.output)}")
    return ExitCode.OK


def _autopsy(snapshot: Snapshot, samples: Sequence[str]) -> str:
    from tuimon.exports.html.autopsy import as_html, autopsy_of, failed_run

    now = time.time()
    return as_html(autopsy_of(failed_run(snapshot, now), snapshot, now), now, samples)


_EXAMPLES = """\
  tuimon report RUN -o report.html               curves, phase latency, memory, alerts and settings in one file
  tuimon report sweep/ -o report.html            several runs, one after the other
  tuimon report RUN --autopsy -o autopsy.html    what changed first in a run that failed; of several, the newest
"""
_VALUES = {"-o": {"default": "-"}}
COMMAND = Command("report", "write one self-contained HTML file", _OPTIONS, _run, _EXAMPLES, _VALUES)
