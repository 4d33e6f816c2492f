"""Read logs for a command, with a progress bar if that takes long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.commands._remote import attach, is_mirror
from tuimon.commands._stderr import ProgressBar

if TYPE_CHECKING:
    from tuimon.config import Settings
    from tuimon.detectors import Checker
    from tuimon.monitor.local import LocalMonitor
    from tuimon.monitor.process import ReaderProcess
    from tuimon.store import Run


def read_logs(paths: Sequence[str]) -> LocalMonitor:
    """Read all logs below the paths once and run the detectors. Raise NothingFound if there is no log."""
    from tuimon.monitor.local import LocalMonitor

    monitor = LocalMonitor(paths)
    with ProgressBar("reading") as progress:
        monitor.update(lambda done, total: progress.update(done, total, " bytes"))
    monitor.collector.require_something()
    return monitor


def in_order(runs: Sequence[Run], paths: Sequence[str]) -> list[Run]:
    """Return the runs in the order of the paths they were found below."""
    from tuimon.monitor.piped import shown_names

    roots = shown_names(paths)

    def position(run: Run) -> int:
        inside = (i for i, root in enumerate(roots) if run.path == root or f"{run.path}/".startswith(f"{root}/"))
        around = (i for i, root in enumerate(roots) if root.startswith(f"{run.path}/"))
        return next(inside, next(around, len(roots)))

    return sorted(runs, key=position)


def live_monitor(paths: Sequence[str], settings: Settings, checker: Checker | None = None) -> ReaderProcess:
    """Return the monitor of paths that are followed; the caller starts and closes it.

    checker: the detectors; by default those of the settings.
    """
    from tuimon import config
    from tuimon.detectors import Checker
    from tuimon.monitor.process import ReaderProcess

    monitor = ReaderProcess(
        paths,
        poll=settings.poll,
        interval=settings.interval,
        console_patterns=settings.console_patterns,
        checker=checker or Checker(settings.detectors, settings.rules, str(config.config_path())),
    )
    if any(map(is_mirror, paths)):
        attach(monitor)
    return monitor
