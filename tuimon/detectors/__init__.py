"""What should be looked at: one file a rule, found by being a module of this package with a DETECTOR.

check(run)              the incidents of a run: those that stand first, the gravest of all before the others
check_all(snapshot)     in all its runs
Checker                 the same with the user's thresholds and rules

A detector is a frozen value whose fields are its thresholds: config.toml sets them, or turns it off.

    [detectors]
    plateau = false
    [detectors.clip_fraction]
    limit = 0.5

It is a pure function of the history, mostly causal (analysis/incidents.py): an incident that was found stays found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from msgspec.structs import fields, replace

from tuimon.errors import UsageError
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.registry import discover
from tuimon.store import Run, Snapshot

__all__ = ["Checker", "Detector", "all_detectors", "check", "check_all"]


_CLOCK = 5.0
"""Seconds for which what silence tells of a run that has not changed stands."""


@runtime_checkable
class Detector(Protocol):
    """One rule."""

    @property
    def id(self) -> str:
        """Short, stable: the `rule` of its alerts, and its name in config.toml."""
        ...

    @property
    def title(self) -> str:
        """For a person."""
        ...

    def check(self, run: Run) -> Iterable[Alert]:
        """Its incidents. Pure: the same run gives the same."""
        ...


@runtime_checkable
class ByClock(Protocol):
    """A detector that silence tells something."""

    def check_at(self, run: Run, now: float) -> Iterable[Alert]:
        """What stands at `now`, seconds since the epoch."""
        ...


def all_detectors() -> tuple[Detector, ...]:
    """Every detector there is, with its defaults."""
    found: tuple[Detector, ...] = discover("tuimon.detectors", "DETECTOR")
    return found


class Checker:
    """Detectors as a user has set them. What was found in a run that has not changed is kept."""

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        rules: Sequence[str | Mapping[str, Any]] = (),
        where: str = "config.toml",
    ) -> None:
        """options: what stands in [detectors]; rules: of the user, texts or tables of [[rules]]. UsageError for what
        does not exist."""
        known = {detector.id: detector for detector in all_detectors()}
        for name, option in (options or {}).items():
            if name not in known:
                raise UsageError(f"{where}: there is no detector {name!r}", f"there are: {', '.join(known)}")
            if option is False:
                del known[name]
            elif isinstance(option, Mapping):
                known[name] = _with(known[name], option, where)
            elif option is not True:
                raise UsageError(f"{where}: [detectors] {name} is true, false or a table, not {option!r}")
        if rules:
            from tuimon.detectors._user_rules import detector_of

            for rule in rules:
                made = detector_of(rule, where)
                known[made.id] = made
        self.detectors = tuple(known.values())
        self._by_clock = tuple(detector for detector in self.detectors if isinstance(detector, ByClock))
        self._checked: WeakKeyDictionary[Run, tuple[Alert, ...]] = WeakKeyDictionary()
        self._found: dict[str, tuple[Alert, ...]] = {}
        """What `check_within` found last, by the path of the run; the one that was looked at last stands last."""
        self._clock = -math.inf

    def check(self, run: Run, now: float = math.nan) -> tuple[Alert, ...]:
        """Standing ones first, the gravest first; then those that are over, the last first. Without `now`, seconds
        since the epoch, nothing is said of silence."""
        found = self._checked.get(run)
        if found is None:
            found = tuple(alert for detector in self.detectors for alert in detector.check(run))
            self._checked[run] = found
        if math.isfinite(now):
            found += tuple(a for d in self._by_clock for a in d.check_at(run, now))
        return tuple(sorted(found, key=_order))

    def check_all(self, snapshot: Snapshot, now: float = math.nan) -> tuple[Alert, ...]:
        """The same of all runs."""
        return tuple(sorted((alert for run in snapshot.runs for alert in self.check(run, now)), key=_order))

    def check_within(self, snapshot: Snapshot, now: float, seconds: float) -> tuple[tuple[Alert, ...], bool]:
        """(the same of all runs, have all been looked at). Looks for about so many seconds at those that have changed:
        first at those that have waited longest, of these at the one that grew last. Of the others stands what was found
        before. For who has other things to do as well: a thousand runs take seconds at first."""
        begun = time.monotonic()
        changed = [run for run in snapshot.runs if run not in self._checked]
        turns = {path: turn for turn, path in enumerate(self._found, 1)}
        changed.sort(key=lambda run: (turns.get(run.path, 0), -_finite(run.last_wall_time)))
        looked_at = 0
        for run in changed:
            if looked_at and time.monotonic() - begun >= seconds:
                break
            self._found.pop(run.path, None)  # to the end
            self._found[run.path] = self.check(run, now)
            looked_at += 1
        whole = looked_at == len(changed)
        if whole and not 0 <= now - self._clock < _CLOCK:
            self._clock = now
            self._found |= {run.path: self.check(run, now) for run in snapshot.runs}
        found = [alert for run in snapshot.runs for alert in self._found.get(run.path, ())]
        return tuple(sorted(found, key=_order)), whole


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0


def _with(detector: Detector, options: Mapping[str, Any], where: str) -> Detector:
    """The detector with other thresholds."""
    chosen: dict[str, Any] = {}
    known = {one.name: getattr(detector, one.name) for one in fields(detector)}  # type: ignore[arg-type]
    thresholds = {name: value for name, value in known.items() if name not in ("id", "title")}
    for name, value in options.items():
        if name not in thresholds:
            told = ", ".join(thresholds) or "none; it can be turned off"
            raise UsageError(f"{where}: {detector.id} has no threshold {name!r}", f"it has: {told}")
        wanted = type(thresholds[name])
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted or (wanted is int and value < 1) or (wanted is float and not math.isfinite(value)):
            raise UsageError(f"{where}: {detector.id}.{name} must be a {_KINDS[wanted]}, not {value!r}")
        chosen[name] = value
    changed: Detector = replace(detector, **chosen)  # type: ignore[type-var]
    return changed


_KINDS = {float: "finite number", int: "whole number of at least 1", str: "text", bool: "truth value"}


def _order(alert: Alert) -> tuple[bool, int, int]:
    if alert.standing:
        return False, -SEVERITIES.index(alert.severity), 0
    return True, -(alert.until or 0), 0


_default: list[Checker] = []


def _defaults() -> Checker:
    if not _default:
        _default.append(Checker())
    return _default[0]


def check(run: Run, now: float = math.nan) -> tuple[Alert, ...]:
    """What all detectors find in a run, with their defaults; see Checker.check."""
    return _defaults().check(run, now)


def check_all(snapshot: Snapshot, now: float = math.nan) -> tuple[Alert, ...]:
    """What all detectors find in all runs; see Checker.check."""
    return _defaults().check_all(snapshot, now)
