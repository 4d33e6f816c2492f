"""The pipeline, whole: from paths to snapshots, in this process or with the reader in one of its own.

    for snapshot in follow("logs/grpo-1.5b"): ...       live
    snapshot = open_run("logs/grpo-1.5b")               what is there now

LocalMonitor reads in this process (commands, tests, scripts); ReaderProcess reads in another and calls back when the
store has changed (the screen). Both give snapshots of the same store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuimon.monitor.local import LocalMonitor, follow, open_run
    from tuimon.monitor.process import ReaderProcess

__all__ = ["LocalMonitor", "ReaderProcess", "follow", "open_run"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for (PEP 562): the reader's process is started before the rest is imported."""
    if name == "ReaderProcess":
        from tuimon.monitor.process import ReaderProcess

        return ReaderProcess
    if name in __all__:
        from tuimon.monitor import local

        return getattr(local, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
