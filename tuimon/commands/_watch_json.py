"""`tuimon watch --json`: print each change of runs as a line of JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence


def print_changes(paths: Sequence[str], interval: float, poll: bool, history: bool) -> None:
    """Print what is there, unless `history` is false, and then each change, until interrupted.

    While a slow consumer blocks the output, nothing is read, so the memory does not grow; afterwards the changes since
    are printed at once. No point is left out, but a state that has passed meanwhile is.
    """
    from tuimon.exports.changes import ChangeLog
    from tuimon.monitor.local import LocalMonitor
    from tuimon.sources.watch import Watcher

    changes = ChangeLog(history)
    monitor, watcher = LocalMonitor(paths), Watcher(poll=poll, interval=interval)
    try:
        while True:
            monitor.update()
            for line in changes.lines(monitor.snapshot(), time.time()):
                sys.stdout.write(line)
            sys.stdout.flush()
            watcher.set_directories(monitor.collector.directories)
            monitor.collector.hint(watcher.wait(interval).closed)
    finally:
        watcher.close()
