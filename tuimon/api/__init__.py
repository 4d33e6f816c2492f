"""The library: what `import tuimon` offers. See docs/library.md.

`read` and `follow` return snapshots of runs; the numbers in them are views of the store's columns, not copies. This
package prints nothing, imports nothing of Textual, and writes no file.
"""

from __future__ import annotations

import os

from tuimon.analysis.progress import ProgressReport
from tuimon.api.following import Follower, follow
from tuimon.api.runs import Run, Snapshot, Source
from tuimon.api.tables import Metric, Table
from tuimon.errors import NothingFound, TuimonError
from tuimon.model.alerts import Alert
from tuimon.model.ranks import JobRanks
from tuimon.monitor.local import LocalMonitor
from tuimon.samples import Sample

__all__ = [
    "Alert",
    "Follower",
    "JobRanks",
    "Metric",
    "NothingFound",
    "ProgressReport",
    "Run",
    "Sample",
    "Snapshot",
    "Source",
    "Table",
    "TuimonError",
    "follow",
    "read",
]


def read(*targets: str | os.PathLike[str]) -> Snapshot:
    """Read all logs at or below the targets once and return their runs.

    A target is a log file, the directory of a run, or a directory of many runs. Raises NothingFound if a target does
    not exist or no log is found.
    """
    if not targets:
        raise TypeError("read() needs at least one target")
    monitor = LocalMonitor(targets)
    monitor.read()
    monitor.collector.require_something()
    return Snapshot(monitor.snapshot(), monitor.checker)
