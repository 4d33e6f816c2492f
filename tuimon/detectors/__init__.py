"""Detectors of problems: rows of the table rules.toml, and structs of plug-ins.

all_detectors()     every detector with its default thresholds
Checker             runs them with the thresholds and rules of the user

A detector of a plug-in is a frozen struct whose fields are its thresholds. config.toml sets them, or disables a
detector:

    [detectors]
    length = false
    [detectors.clip_fraction]
    limit = 0.5

A detector is a pure function of the history and mostly causal (_incidents.py): an incident that was found is
not lost when the run grows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from msgspec.structs import fields, replace

from tuimon.analysis.alert_words import message_of
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.detectors._engine import Rule, valid
from tuimon.detectors._incidents import joined
from tuimon.errors import UsageError
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.registry import DETECTORS, discover, has_failed, note_failure
from tuimon.store import Run, Snapshot

__all__ = ["Checker", "Detector", "Rule", "all_detectors", "settings_of"]


_CLOCK_INTERVAL = 5.0
"""Seconds for which a time-based result for an unchanged run is cached."""


@runtime_checkable
class Detector(Protocol):
    """A rule that finds incidents in a run."""

    @property
    def id(self) -> str:
        """Short, stable name: the `rule` of its alerts, and its key in config.toml."""
        ...

    @property
    def title(self) -> str:
        """Name for display."""
        ...

    def check(self, run: Run) -> Iterable[Alert]:
        """Yield the incidents of a run. Pure: the same run gives the same incidents."""
        ...


@runtime_checkable
class TimeBasedDetector(Protocol):
    """A detector that also depends on the current time, not only on logged points."""

    def check_at(self, run: Run, now: float) -> Iterable[Alert]:
        """Yield the incidents that are active at `now`, seconds since the epoch."""
        ...


def all_detectors() -> tuple[Detector, ...]:
    """Return all detectors, with their default thresholds."""
    detectors: tuple[Detector, ...] = discover(DETECTORS, "DETECTOR")
    return detectors


class Checker:
    """Runs detectors as the user has configured them. Results of a run are cached until the run changes."""

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        rules: Sequence[str | Mapping[str, Any]] = (),
        where: str = "config.toml",
        more: Sequence[Detector] = (),
    ) -> None:
        """Configure the detectors.

        options: the table [detectors]. rules: rules of the user, as texts or tables of [[rules]]. where: the origin of
        both, for error messages. more: further detectors.

        Raise UsageError for unknown detectors or thresholds and for invalid values.
        """
        detectors = {detector.id: detector for detector in all_detectors()}
        for name, option in (options or {}).items():
            if name not in detectors:
                raise UsageError(f"{where}: no detector {name!r}", f"detectors: {', '.join(detectors)}")
            if option is False:
                del detectors[name]
            elif isinstance(option, Mapping):
                detectors[name] = _configured(detectors[name], option, where)
            elif option is not True:
                raise UsageError(f"{where}: [detectors] {name} must be true, false or a table, not {option!r}")
        if rules:
            from tuimon.detectors._user_rules import detector_of

            user_rules = [detector_of(rule, where) for rule in rules]
            detectors |= {rule.id: rule for rule in user_rules}
        self.detectors = (*detectors.values(), *more)
        self._time_based = tuple(detector for detector in self.detectors if isinstance(detector, TimeBasedDetector))
        self._checked: WeakKeyDictionary[Run, tuple[Alert, ...]] = WeakKeyDictionary()
        self._last_results: dict[str, tuple[Alert, ...]] = {}
        """Results of `check_within` by the path of the run, the run that was checked last at the end."""
        self._clock = -math.inf

    def check(self, run: Run, now: float = math.nan) -> tuple[Alert, ...]:
        """Return the active incidents, the most severe first; then those that are over, the latest first.

        now: seconds since the epoch; NaN skips time-based detectors.
        """
        alerts = self._checked.get(run)
        if alerts is None:
            alerts = tuple(_worded(alert, progress_inputs(run).step_name) for alert in self._joined(run))
            self._checked[run] = alerts
        if math.isfinite(now):
            alerts += tuple(alert for detector in self._time_based for alert in _incidents(detector, run, now))
        return tuple(sorted(alerts, key=_order))

    def _joined(self, run: Run) -> tuple[Alert, ...]:
        found: dict[str, list[Alert]] = {"": []}
        for detector in self.detectors:
            joins = detector.joins if isinstance(detector, Rule) else ""
            found.setdefault(joins, []).extend(_incidents(detector, run))
        alone = found.pop("")
        return (*(alert for alerts in found.values() for alert in joined(alerts)), *alone)

    def check_all(self, snapshot: Snapshot, now: float = math.nan) -> tuple[Alert, ...]:
        """Return the incidents of all runs, in the order of `check`."""
        return tuple(sorted((alert for run in snapshot.runs for alert in self.check(run, now)), key=_order))

    def check_within(self, snapshot: Snapshot, now: float, seconds: float) -> tuple[tuple[Alert, ...], bool]:
        """Check runs for about `seconds` and return (incidents of all runs, whether all changed runs were checked).

        Changed runs are checked first that have waited longest, of these the one that grew last; for the others the
        previous result is returned. A thousand runs take seconds at first, in which the caller has other work.
        """
        start = time.monotonic()
        changed = [run for run in snapshot.runs if run not in self._checked]
        positions = {path: position for position, path in enumerate(self._last_results, 1)}
        changed.sort(key=lambda run: (positions.get(run.path, 0), -_finite(run.last_wall_time)))
        checked = 0
        for run in changed:
            if checked and time.monotonic() - start >= seconds:
                break
            self._last_results.pop(run.path, None)  # so that it is inserted at the end
            self._last_results[run.path] = self.check(run, now)
            checked += 1
        complete = checked == len(changed)
        if complete and not 0 <= now - self._clock < _CLOCK_INTERVAL:
            self._clock = now
            self._last_results |= {run.path: self.check(run, now) for run in snapshot.runs}
        alerts = [alert for run in snapshot.runs for alert in self._last_results.get(run.path, ())]
        return tuple(sorted(alerts, key=_order)), complete

    def unchecked(self, snapshot: Snapshot) -> int:
        """Return the number of runs for which `check_within` has no result yet."""
        return sum(run.path not in self._last_results for run in snapshot.runs)


def _incidents(detector: Any, run: Run, now: float | None = None) -> Iterable[Alert]:
    """Return the incidents that a detector finds, none if it is a plug-in that raises. now: as of `check_at`."""
    if has_failed(DETECTORS, detector):
        return ()
    try:
        return tuple(detector.check(run) if now is None else detector.check_at(run, now))
    except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
        note_failure(DETECTORS, detector, error)
        return ()


def _worded(alert: Alert, steps: str) -> Alert:
    """Return the alert with its sentence. steps: what the run counts."""
    counted = replace(alert, steps=steps)
    return replace(counted, message=message_of(counted))


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0


def _configured(detector: Detector, options: Mapping[str, Any], where: str) -> Detector:
    """Return the detector with other thresholds. UsageError for an unknown threshold or an invalid value."""
    known = settings_of(detector)
    for name in options:
        if name not in known:
            hint = f"thresholds: {', '.join(known)}" if known else "it has no thresholds; it can be disabled"
            raise UsageError(f"{where}: {detector.id} has no threshold {name!r}", hint)
    values = {name: valid(value, known[name], f"{where}: {detector.id}.{name}") for name, value in options.items()}
    if isinstance(detector, Rule):
        return detector.with_values(values)
    configured: Detector = replace(detector, **values)  # type: ignore[type-var]
    return configured


def settings_of(detector: Detector) -> dict[str, Any]:
    """Return the thresholds of a detector by name: the settings of a row, the fields of a plug-in."""
    if isinstance(detector, Rule):
        return dict(detector.values)
    names = [field.name for field in fields(detector) if field.name not in ("id", "title")]  # type: ignore[arg-type]
    return {name: getattr(detector, name) for name in names}


def _order(alert: Alert) -> tuple[bool, int]:
    if alert.active:
        return False, -SEVERITIES.index(alert.severity)
    return True, -(alert.until or 0)
