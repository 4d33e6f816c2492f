"""tuimon: a terminal monitor for training runs, and a library that reads their logs.

    import tuimon

    runs = tuimon.read("logs/grpo-1.5b")             read everything once
    steps, values, wall_times = runs[0]["train/reward"]
    for runs in tuimon.follow("logs/grpo-1.5b"): ...  a snapshot after each change

The names of `__all__` are the public interface; docs/library.md describes them. They are loaded at their first use, so
that importing tuimon loads neither numpy nor Textual. Everything else may change without notice.
"""

# ruff: noqa: F403, F405  type checkers follow the star
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuimon.api import *

__version__ = "0.1.0"
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
    "__version__",
    "follow",
    "read",
]


def __getattr__(name: str) -> object:
    """Load a public name at its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tuimon import api

    value: object = getattr(api, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
