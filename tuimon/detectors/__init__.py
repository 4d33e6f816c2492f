"""What should be looked at: one file a rule, found by being a module of this package with a DETECTOR.

check(run)              the alerts that stand in a run, the gravest first
check_all(snapshot)     in all its runs
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from tuimon.model.alerts import Alert
from tuimon.registry import discover
from tuimon.store import Run, Snapshot

__all__ = ["Detector", "all_detectors", "check", "check_all"]

_GRAVITY = {"critical": 0, "warning": 1, "info": 2}


@runtime_checkable
class Detector(Protocol):
    """One rule."""

    @property
    def id(self) -> str:
        """Short, stable: the `rule` of its alerts."""
        ...

    @property
    def title(self) -> str:
        """For a person."""
        ...

    def check(self, run: Run) -> tuple[Alert, ...]:
        """The alerts that stand now. Pure: the same run gives the same alerts."""
        ...


def all_detectors() -> tuple[Detector, ...]:
    """Every detector there is."""
    found: tuple[Detector, ...] = discover("tuimon.detectors", "DETECTOR")
    return found


_checked: WeakKeyDictionary[Run, tuple[Alert, ...]] = WeakKeyDictionary()
"""A run in which nothing has changed is the same object in the next snapshot."""


def check(run: Run) -> tuple[Alert, ...]:
    """What all detectors find in a run, the gravest first."""
    known = _checked.get(run)
    if known is None:
        found = [alert for detector in all_detectors() for alert in detector.check(run)]
        known = _checked[run] = tuple(sorted(found, key=_gravity))
    return known


def check_all(snapshot: Snapshot) -> tuple[Alert, ...]:
    """What all detectors find in all runs, the gravest first."""
    return tuple(sorted((alert for run in snapshot.runs for alert in check(run)), key=_gravity))


def _gravity(alert: Alert) -> int:
    return _GRAVITY.get(alert.severity, len(_GRAVITY))
