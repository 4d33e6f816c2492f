"""`tuimon summary PATH…`: what the runs have come to, as text or as JSON; --watch: again whenever something changes."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.commands import EXIT_OK, EXIT_PARTLY, Command
from tuimon.commands._shared import add_paths, checked_paths, positive_seconds

if TYPE_CHECKING:
    from tuimon.monitor.local import LocalMonitor

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_SECONDS_STILL = 10.0
"""With --watch a summary is made again so often though nothing was logged: a run that is silent may be stalled."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--json", action="store_true", help='for programs: one object, "schema": 1 (see --schema)')
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of --json and exit")
    parser.add_argument("--full", action="store_true", help="of several runs each one in full, below their table")
    parser.add_argument("--watch", action="store_true", help="print it again whenever something changes")
    parser.add_argument("--interval", type=positive_seconds, default=1.0, metavar="S", help="of --watch, seconds (1.0)")
    parser.add_argument("--show-secrets", action="store_true", help="show API keys and passwords of the config")
    parser.add_argument("--strict", action="store_true", help="exit 5 when a log was damaged or could not be read")


def _run(options: argparse.Namespace) -> int:
    if options.schema:
        from tuimon.exports.summary_json import schema_text

        sys.stdout.write(schema_text())
        return EXIT_OK
    paths = checked_paths(options.paths, live=options.watch)
    if options.watch:
        _watch(paths, options)
    return print_summary(paths, options.json, options.strict, options.show_secrets, options.full)


def print_summary(
    paths: Sequence[str], as_json: bool, strict: bool = False, show_secrets: bool = False, full: bool = False
) -> int:
    """Prints the summary of all runs below the paths to standard output; returns the exit code."""
    from tuimon.monitor.local import LocalMonitor

    monitor = LocalMonitor(paths)
    monitor.update()
    monitor.collector.require_something()
    sys.stdout.write(_text(monitor, as_json, show_secrets, full))
    return EXIT_PARTLY if strict and monitor.collector.partly_unreadable else EXIT_OK


def _text(monitor: LocalMonitor, as_json: bool, show_secrets: bool, full: bool, compact: bool = False) -> str:
    from tuimon.exports.summary import as_text
    from tuimon.exports.summary_json import as_json as json_of

    snapshot = monitor.snapshot()
    if as_json:
        return json_of(snapshot, time.time(), show_secrets, compact) + "\n"
    width = max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else None
    return "\n".join(as_text(snapshot, time.time(), show_secrets, width, full)) + "\n"


def _watch(paths: Sequence[str], options: argparse.Namespace) -> None:
    """For ever: on a terminal the newest summary alone; elsewhere one after the other, JSON on one line each."""
    from tuimon.monitor.local import LocalMonitor
    from tuimon.sources.watch import Watcher

    on_terminal = sys.stdout.isatty()
    monitor, watcher = LocalMonitor(paths), Watcher(interval=options.interval)
    printed, made = "", 0.0
    try:
        while True:
            changed = monitor.update()
            if changed or time.monotonic() - made > _SECONDS_STILL:
                text = _text(monitor, options.json, options.show_secrets, options.full, compact=not on_terminal)
                made = time.monotonic()
                if text != printed and monitor.snapshot().runs:
                    separator = "" if options.json or not printed else "\n"
                    sys.stdout.write(_CLEAR + _screenful(text) if on_terminal else separator + text)
                    sys.stdout.flush()
                    printed = text
            watcher.set_directories(monitor.collector.directories)
            monitor.collector.hint(watcher.wait(options.interval).closed)
    finally:
        watcher.close()


def _screenful(text: str) -> str:
    """As many lines as the terminal has: the beginning says most."""
    lines, rows = text.splitlines(), max(shutil.get_terminal_size().lines - 1, 2)
    if len(lines) > rows:
        lines = [*lines[: rows - 1], f"… {len(lines) - rows + 1} lines more"]
    return "\n".join(lines) + "\n"


_EXAMPLES = """\
  tuimon summary logs/grpo-1.5b                  state, config, every metric's last, best, mean and trend
  tuimon summary 'outputs/*/training_log.json'   several runs in one table; --full: each one, too
  tuimon summary RUN --json | jq '.runs[].state'
  train.py 2>&1 | tuimon summary - --watch       again whenever something is logged
"""
COMMAND = Command("summary", "what the runs have come to, as text or JSON", _arguments, _run, _EXAMPLES)
