"""`tuimon line PATH`: print one line for a tmux status bar or a shell prompt.

    set -g status-right-length 70
    set -g status-right '#(tuimon line --follow --width 70 ~/logs/grpo-1.5b)'

tmux cuts the line to status-right-length, 40 columns by default, and shows the last line of a command that is still
running. With --follow the log is therefore read once, and then only what is appended.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from tuimon.commands import Command
from tuimon.commands._options import PATHS
from tuimon.commands._shared import checked_paths
from tuimon.errors import ExitCode

_OPTIONS = f"""\
{PATHS}--width N  maximum width in columns (default: 80)
--follow  print a new line after each change, until interrupted
"""


def _run(options: argparse.Namespace) -> int:
    from tuimon.draw.ascii import ascii_text
    from tuimon.exports.line import line
    from tuimon.monitor import load_settings
    from tuimon.monitor.local import LocalMonitor

    paths = options.paths or ["."]
    if not options.follow or any(":" in path for path in paths):
        paths = checked_paths(paths, live=options.follow, options=options)
    monitor = LocalMonitor(paths)
    settings = load_settings()
    width, symbols = max(1, options.width), settings.symbols
    printed = None
    parent = os.getppid()
    while True:
        monitor.update()
        if not options.follow:
            monitor.collector.require_something()
        text = line(monitor.snapshot(), time.time(), width)
        text = ascii_text(text) if symbols == "ascii" else text
        if text != printed:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
            printed = text
        if not options.follow or os.getppid() != parent:  # the parent (tmux) has exited
            return ExitCode.OK
        time.sleep(settings.interval)


_EXAMPLES = """\
  tuimon line RUN                                alerts, name, step, state and reward on one line
  set -g status-right '#(tuimon line ~/run)'     in ~/.tmux.conf, with the next line:
  set -g status-right-length 80                  tmux cuts at 40 columns otherwise
  tuimon line RUN --follow                       a new line after each change
"""
_VALUES = {"--width": {"type": int, "default": 80}}
COMMAND = Command("line", "print one line for a status bar or a prompt", _OPTIONS, _run, _EXAMPLES, _VALUES)
