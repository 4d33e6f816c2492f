"""Sign and words for the state of a run, the same on screens, in text and in reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.store import Run

SIGNS = {
    "running": "●",
    "finished": "✓",
    "crashed": "✗",
    "quiet": "!",
    "ended": "–",
    "reading": "○",
    "unknown": "?",
}
"""State -> sign, in sort order. "ended" has no tick: whether the run was complete is not known."""
ACTIVE = ("running", "quiet", "unknown", "reading")
"""States of a run that may still write."""
_FAILED = "crashed"
_LEAST_AGE = 60.0
"""Age of an alert (s) from which it is displayed: the line of alerts is then not drawn anew every few seconds."""
_FAILURES = frozenset({"divergence", "liveness"})
"""Detectors of which any active alert casts doubt on the result of a run; of the others only critical alerts do."""


def state_sign(state: str, critical: int = 0) -> str:
    """Return the sign of a state; that of a crash for a run with critical alerts, be it finished or not."""
    return SIGNS.get(_FAILED if critical else state, SIGNS["unknown"])


def state_words(state: str, critical: int) -> str:
    """Return the state with the number of critical alerts: "ended, 1 critical alert"."""
    return f"{state}, {critical} critical alert{'s' if critical != 1 else ''}" if critical else state


def critical_count(alerts: Iterable[Alert], run: int) -> int:
    """Return the number of active critical alerts of a run. run: its id."""
    return sum(alert.run == run and alert.severity == "critical" and alert.active for alert in alerts)


def onset_time(run: Run, alert: Alert) -> float:
    """Return when an alert of a run began (s since the epoch); NaN if the log does not say it."""
    metric = alert.metric if alert.metric in run.metrics else run.busiest_metric
    if alert.step is None or metric is None:
        return math.nan
    curve = run.curve(metric)
    row = curve.row_after(alert.step - 1)
    return float(curve.wall_times[row]) if row < len(curve) else math.nan


def since_onset(run: Run, alert: Alert, now: float) -> str:
    """Return the time since an alert of a run began, as ", 4 m ago"; "" below one minute, or if it is not known.

    now: wall time (s since epoch).
    """
    from tuimon.analysis.words import silence  # numpy, which `tuimon completion` does without

    age = now - onset_time(run, alert)
    return f", {silence(age)} ago" if age >= _LEAST_AGE else ""


def failures_of(runs: Sequence[int], alerts: Iterable[Alert]) -> tuple[str, ...]:
    """Return for each run what casts doubt on its results: its first critical alert, or alert of one of `_FAILURES`,
    and how many more there are; "" for a healthy run. runs: ids.
    """
    failures: dict[int, list[Alert]] = {run: [] for run in runs}
    for alert in alerts:
        if alert.run in failures and _is_failure(alert):
            failures[alert.run].append(alert)
    return tuple(_first_of(failures[run]) for run in runs)


def failed_runs(alerts: Iterable[Alert]) -> frozenset[int]:
    """Return the ids of the runs that are not healthy, see `failures_of`."""
    return frozenset(alert.run for alert in alerts if _is_failure(alert))


def _is_failure(alert: Alert) -> bool:
    return alert.active and (alert.severity == "critical" or alert.rule in _FAILURES)


def _first_of(alerts: Sequence[Alert]) -> str:
    if not alerts:
        return ""
    first = max(alerts, key=lambda alert: SEVERITIES.index(alert.severity))
    more = sum(alert.severity != "info" for alert in alerts if alert is not first)
    return f"{clean(first.message)}{f' and {more} more' if more else ''}"
