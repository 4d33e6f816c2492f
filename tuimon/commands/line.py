"""`tuimon line PATH`: one line for a status bar of tmux or a prompt; with --follow a new one whenever it changes.

    set -g status-right '#(tuimon line --follow --width 70 ~/logs/grpo-1.5b)'

tmux shows the last line that a running command has printed, so that with --follow a log is read once and then only what
it grows by.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from tuimon.commands import EXIT_OK, Command
from tuimon.commands._shared import add_paths, checked_paths, positive_seconds


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--width", type=int, default=80, metavar="N", help="cells it has at most (80)")
    parser.add_argument("--ascii", action="store_true", help="no other characters")
    parser.add_argument("--follow", action="store_true", help="a new line whenever it changes, until interrupted")
    parser.add_argument("--interval", type=positive_seconds, default=5.0, metavar="S", help="of --follow, seconds (5)")


def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.line import line
    from tuimon.monitor.local import LocalMonitor

    paths = options.paths or ["."]
    if not options.follow:
        paths = checked_paths(paths)
    monitor = LocalMonitor(paths)
    width = max(1, options.width)
    last = None
    parent = os.getppid()
    while True:
        monitor.update()
        if not options.follow:
            monitor.collector.require_something()
        told = line(monitor.snapshot(), time.time(), width, options.ascii)
        if told != last:
            sys.stdout.write(told + "\n")
            sys.stdout.flush()
            last = told
        if not options.follow or os.getppid() != parent:  # tmux has gone: nobody reads it
            return EXIT_OK
        time.sleep(options.interval)


_EXAMPLES = """\
  tuimon line RUN                                state, step, alerts, reward and loss on one line
  set -g status-right '#(tuimon line ~/run)'     in ~/.tmux.conf
  tuimon line RUN --follow                       a new line whenever it changes
"""
COMMAND = Command("line", "one line for a status bar or a prompt", _arguments, _run, _EXAMPLES)
