"""The pipeline, whole: from paths to snapshots, in this process or with the reader in one of its own.

    for snapshot in follow("logs/grpo-1.5b"): ...       live
    snapshot = open_run("logs/grpo-1.5b")               what is there now

LocalMonitor reads in this process (commands, tests, scripts); ReaderProcess reads in another and calls back when the
store has changed (the screen). Both give snapshots of the same store.
"""

from tuimon.monitor.local import LocalMonitor, follow, open_run
from tuimon.monitor.process import ReaderProcess

__all__ = ["LocalMonitor", "ReaderProcess", "follow", "open_run"]
