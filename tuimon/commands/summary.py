"""`tuimon summary PATH…`: what the runs have come to, once, as text or as JSON."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tuimon.commands import EXIT_OK, EXIT_PARTLY, Command
from tuimon.commands._shared import add_paths, checked_paths


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--json", action="store_true", help='for programs: one object, "schema": 1')
    parser.add_argument("--show-secrets", action="store_true", help="show API keys and passwords of the config")
    parser.add_argument("--strict", action="store_true", help="exit 5 when a log was damaged or could not be read")


def _run(options: argparse.Namespace) -> int:
    return print_summary(checked_paths(options.paths), options.json, options.strict, options.show_secrets)


def print_summary(paths: Sequence[str], as_json: bool, strict: bool = False, show_secrets: bool = False) -> int:
    """Prints the summary of all runs below the paths to standard output; returns the exit code."""
    from tuimon.exports import summary
    from tuimon.monitor.local import LocalMonitor

    monitor = LocalMonitor(paths)
    monitor.update()
    monitor.collector.require_something()
    snapshot = monitor.snapshot()
    if as_json:
        sys.stdout.write(summary.as_json(snapshot, time.time(), show_secrets) + "\n")
    else:
        sys.stdout.write("\n".join(summary.as_text(snapshot, time.time(), show_secrets)) + "\n")
    return EXIT_PARTLY if strict and monitor.collector.partly_unreadable else EXIT_OK


COMMAND = Command("summary", "what the runs have come to, as text or JSON", _arguments, _run)
