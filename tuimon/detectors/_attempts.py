"""Alerts of the attempt before the last restart, about points that the restart superseded.

A training that collapsed and was resumed from an earlier checkpoint has a healthy curve, in which the incident no
longer exists. Its superseded points are checked once more as the attempt before logged them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace

from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run


def restart_of(run: Run) -> tuple[int, int] | None:
    """Return (step of the last restart, number of points that restarts hide) of the busiest metric; None if no point is
    hidden."""
    if run.busiest_metric is None:
        return None
    curve = run.curve(run.busiest_metric)
    row = _last_restart(curve)
    if row is None or not curve.superseded:
        return None
    return int(curve.steps[row]), curve.superseded


def alerts_before(run: Run, restart: int, check: Callable[[Run], Sequence[Alert]]) -> tuple[Alert, ...]:
    """Return the alerts of the attempt before the last restart that lasted until there or began later, as resolved.

    restart: step of that restart. check: the detectors.
    """
    attempt = run.with_curves({metric: _before_restart(run.curve(metric)) for metric in run.metrics})
    alerts = []
    for alert in check(attempt):
        last = alert.until
        if last is None and alert.metric in attempt.metrics and len(attempt.curve(alert.metric)):
            last = int(attempt.curve(alert.metric).steps[-1])
        if alert.severity != "info" and alert.step is not None and last is not None and last >= restart:
            alerts.append(replace(alert, until=last, is_superseded=True))
    return tuple(alerts)


def _last_restart(curve: Curve) -> int | None:
    """Return the row at which the last attempt takes over; None without a restart, and while history is missing."""
    known = not curve.ordinal and curve.gap < 0 and len(curve.restarts) > 0
    return int(curve.restarts[-1]) if known else None


def _before_restart(curve: Curve) -> Curve:
    """Return a curve as it was before the last restart: with the points that this restart hides."""
    row = _last_restart(curve)
    if row is None:
        return curve
    steps, values, wall_times, segments, hiding_steps = curve.superseded_points()
    hidden = hiding_steps == curve.steps[row]
    for segment in np.unique(segments[hidden]).tolist():  # of several attempts, the later one counts
        hidden &= (segments >= segment) | (steps < steps[hidden & (segments == segment)].min(initial=2**62))
    order = np.flatnonzero(hidden)[np.argsort(steps[hidden], kind="stable")]
    return Curve.from_arrays(
        curve.metric,
        np.concatenate((curve.steps[:row], steps[order])),
        np.concatenate((curve.values[:row], values[order])),
        np.concatenate((curve.wall_times[:row], wall_times[order])),
        sources=curve.sources,
        origin=curve.origin,
    )
