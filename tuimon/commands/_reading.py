"""Read logs for a command, with a progress bar if that takes long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.commands._stderr import Progress

if TYPE_CHECKING:
    from tuimon.monitor.local import LocalMonitor


def read_logs(paths: Sequence[str]) -> LocalMonitor:
    """Read all logs below the paths once and run the detectors. Raise NothingFound if there is no log."""
    from tuimon.monitor.local import LocalMonitor

    monitor = LocalMonitor(paths)
    with Progress("reading") as progress:
        monitor.update(lambda done, total: progress.update(done, total, " bytes"))
    monitor.collector.require_something()
    return monitor


def read_ranks(paths: Sequence[str]) -> LocalMonitor:
    """Read what the logs below the paths say about ranks, but no points. Raise NothingFound if there is no log."""
    from tuimon.monitor.local import LocalMonitor

    monitor = LocalMonitor(paths)
    with Progress("reading") as progress:
        monitor.read_ranks(lambda done, total: progress.update(done, total, " files"))
    monitor.collector.require_something()
    return monitor
