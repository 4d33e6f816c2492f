"""`tuimon summary PATH…`: print the state and the metrics of runs, as text or JSON."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._around import add_around, print_around
from tuimon.commands._media import add_media, print_media
from tuimon.commands._reading import read_logs
from tuimon.commands._shared import (
    add_interval,
    add_json,
    add_paths,
    add_show_secrets,
    add_strict,
    checked_paths,
    existing_paths,
    terminal_width,
)
from tuimon.commands._stderr import interruptible
from tuimon.errors import ExitCode, NothingFound, UsageError

if TYPE_CHECKING:
    from tuimon.monitor.local import LocalMonitor

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_REFRESH_EVERY = 10.0
"""Seconds after which --watch makes a new summary even if nothing was logged, as a silent run may be stalled."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_json(parser)
    parser.add_argument(
        "--ranks", action="store_true", help="print which rank of a job failed or is slow, and the line"
    )
    parser.add_argument("--full", action="store_true", help="print each of several runs in full, below their table")
    parser.add_argument("--watch", action="store_true", help="print the summary again after each change")
    add_interval(parser, 1.0, "--watch")
    add_media(parser)
    add_around(parser)
    add_show_secrets(parser)
    add_strict(parser)


def _run(options: argparse.Namespace) -> int:
    if options.media:
        return print_media(options)
    if options.step is not None or options.steps is not None:
        return print_around(options)
    if options.metric or options.unusual or options.samples:
        raise UsageError("--metric, --unusual and --samples apply to --step and --steps")
    options.texts_copied = 0
    if options.watch and (options.json or not options.ranks):
        _watch(checked_paths(options.paths, live=True, options=options), options)
    paths, code = existing_paths(options.paths, options)
    printed = _print(options, paths)
    return code or printed


@interruptible("interrupted before the summary was complete")
def _print(options: argparse.Namespace, paths: Sequence[str]) -> int:
    if options.ranks and not options.json:
        return _print_ranks(paths)
    return print_summary(paths, options.json, options.strict, options.show_secrets, options.full)


def _print_ranks(paths: Sequence[str]) -> int:
    """Print the verdict about the ranks of each run."""
    from tuimon.commands._ranks import rank_lines

    monitor = read_logs(paths)
    sys.stdout.write("\n".join(rank_lines(monitor.snapshot())) + "\n")
    return ExitCode.OK


def print_summary(
    paths: Sequence[str], as_json: bool, strict: bool = False, show_secrets: bool = False, full: bool = False
) -> int:
    """Print the summary of all runs below the paths to stdout and return the exit code."""
    from tuimon.analysis.progress_inputs import not_understood

    monitor = read_logs(paths)
    snapshot = monitor.snapshot()
    unread = not_understood(snapshot, time.time())
    if unread and len(unread) == len(snapshot.runs):
        from tuimon.rollouts.discovery import has_samples

        if has_samples(paths[:1]):
            raise NothingFound("no metric in the logs")  # the caller names the command that prints the texts
    sys.stdout.write(_text(monitor, as_json, show_secrets, full))
    partly_read = strict and (monitor.collector.partly_unreadable or unread)
    return ExitCode.PARTLY_READ if partly_read else ExitCode.OK


def _text(monitor: LocalMonitor, as_json: bool, show_secrets: bool, full: bool, compact: bool = False) -> str:
    from tuimon.exports.summary import as_text
    from tuimon.exports.summary_json import as_json as json_of

    snapshot = monitor.snapshot()
    if as_json:
        return json_of(snapshot, time.time(), show_secrets, compact) + "\n"
    return "\n".join(as_text(snapshot, time.time(), show_secrets, terminal_width(), full)) + "\n"


def _watch(paths: Sequence[str], options: argparse.Namespace) -> None:
    """Print a summary after each change, until interrupted.

    On a terminal each summary replaces the previous one; elsewhere they follow each other, with JSON on one line each.
    """
    from tuimon.monitor.local import LocalMonitor
    from tuimon.sources.watch import Watcher

    on_terminal = sys.stdout.isatty()
    monitor, watcher = LocalMonitor(paths), Watcher(interval=options.interval)
    printed, printed_at = "", 0.0
    try:
        while True:
            changed = monitor.update()
            if changed or time.monotonic() - printed_at > _REFRESH_EVERY:
                text = _text(monitor, options.json, options.show_secrets, options.full, compact=not on_terminal)
                printed_at = time.monotonic()
                if text != printed and monitor.snapshot().runs:
                    separator = "" if options.json or not printed else "\n"
                    sys.stdout.write(_CLEAR + _first_screen(text) if on_terminal else separator + text)
                    sys.stdout.flush()
                    printed = text
            watcher.set_directories(monitor.collector.directories)
            monitor.collector.hint(watcher.wait(options.interval).closed)
    finally:
        watcher.close()


def _first_screen(text: str) -> str:
    """Return the lines that fit on the terminal; the first lines matter most."""
    lines, rows = text.splitlines(), max(shutil.get_terminal_size().lines - 1, 2)
    if len(lines) > rows:
        lines = [*lines[: rows - 1], f"… {len(lines) - rows + 1} more lines"]
    return "\n".join(lines) + "\n"


_EXAMPLES = """\
  tuimon summary logs/grpo-1.5b                  state, settings, and last, best, mean and trend of every metric
  tuimon summary 'outputs/*/training_log.json'   several runs in one table; --full: each run, too
  tuimon summary RUN --json | jq '.runs[].state'
  tuimon summary RUN --step 1200 --unusual       every metric that differs clearly at step 1200 from the points before
  tuimon summary RUN --steps 1000-1200 --metric '*loss'
                                                 mean, deviation, minimum and maximum over these steps
  tuimon summary RUN --media --kind histogram    the last distribution of each histogram as a row of bars
  train.py 2>&1 | tuimon summary - --watch       a new summary after each change
"""
COMMAND = Command("summary", "print state and metrics of runs, as text or JSON", _arguments, _run, _EXAMPLES)
