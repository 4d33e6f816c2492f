"""Join the alerts of one failure: one incident with the cause in its message, ordered by onset.

Weights that are NaN make everything NaN that is computed later, so that the first alert names what follows. The alerts
that belong to an incident remain as information, so that their metrics keep their marks.

A spike of a metric that is rising is a part of the rise (divergence.py).

An alert of a metric that a second source logs under another name (charts/episodic_return and a line of the console) is
raised once, for the name of the better source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tuimon.detectors._checkpoints import checkpoint_before
from tuimon.model.alerts import Alert, Change
from tuimon.store import Run

_LEAST_EQUAL, _LEAST_DISTINCT = 10, 5
"""Points, and different values among them, from which two equal series are one quantity."""
_SETTLED = 2.0
"""Highest median of a block, relative to the lowest one, of a metric that has settled."""
_MOST_COMPARED, _COMPARED_POINTS = 50, 1000
"""Maximum number of alerts that are compared, and of points, the last ones that both series have."""
_FOLLOWING = frozenset({"nonfinite", "reward_drop", "entropy_collapse", "zero_variance", "divergence", "spikes"})
"""Rules whose alerts follow from weights that are NaN, if they begin later."""


def joined(run: Run, alerts: Sequence[Alert]) -> tuple[Alert, ...]:
    """Return the alerts of a run with one alert for each failure."""
    alerts = _without_spikes_of_rises(run, _without_repeats(run, alerts))
    return _with_one_nan(run, alerts) or tuple(alerts)


def _without_repeats(run: Run, alerts: Sequence[Alert]) -> Sequence[Alert]:
    """Return the alerts without those that another one raises for the same points under another name."""
    groups: dict[tuple[str, str, int | None], list[Alert]] = {}
    for alert in alerts:
        groups.setdefault((alert.rule, alert.severity, alert.step), []).append(alert)
    several = [group for group in groups.values() if 1 < len({alert.metric for alert in group}) <= _MOST_COMPARED]
    if not several:
        return alerts
    ranks = {metric: rank for rank, metric in enumerate(run.metrics)}
    repeats: list[Alert] = []
    for group in several:
        kept: list[Alert] = []
        for alert in sorted((own for own in group if own.metric in ranks), key=lambda own: ranks[own.metric]):
            same = (own for own in kept if own.metric != alert.metric)
            (repeats if any(_are_one(run, own.metric, alert.metric) for own in same) else kept).append(alert)
    return [alert for alert in alerts if not any(alert is repeat for repeat in repeats)]


def _are_one(run: Run, metric: str, other: str) -> bool:
    """Return whether two metrics have the same points, as far as both are read: one source may be behind the other."""
    one, two = run.curve(metric), run.curve(other)
    end = min(len(one), len(two))
    rows = slice(max(end - _COMPARED_POINTS, 0), end)
    return (
        end >= _LEAST_EQUAL
        and np.array_equal(one.steps[rows], two.steps[rows])
        and np.array_equal(one.values[rows], two.values[rows], equal_nan=True)
        and len(np.unique(one.values[rows])) >= _LEAST_DISTINCT
    )


def _without_spikes_of_rises(run: Run, alerts: Sequence[Alert]) -> Sequence[Alert]:
    """Return the alerts without the spikes of a metric that rises and has an alert of divergence.

    The rise has raised the usual level of these spikes. Spikes above a level on which the metric has settled remain.
    """
    rises = [alert for alert in alerts if alert.rule == "divergence"]
    return [
        alert for alert in alerts if alert.rule != "spikes" or not any(_is_of_rise(run, alert, rise) for rise in rises)
    ]


def _is_of_rise(run: Run, spike: Alert, rise: Alert) -> bool:
    from tuimon.detectors._curves import is_settled

    begins_inside = _onset(rise) < _onset(spike) and (rise.until is None or _onset(spike) <= rise.until)
    if spike.metric != rise.metric or not begins_inside:
        return False
    curve = run.curve(spike.metric)
    return not is_settled(curve, curve.row_after(_onset(spike) - 1), _SETTLED)


def _same(alerts: Sequence[Alert]) -> tuple[Change, ...]:
    """Return the metrics of alerts, each once, as those that do the same."""
    return tuple(Change(metric) for metric in sorted({alert.metric for alert in alerts}))


def _with_one_nan(run: Run, alerts: Sequence[Alert]) -> tuple[Alert, ...] | None:
    """Return the alerts with one for weights that are NaN; None if they are not, or nothing else follows from it."""
    damaged = [a for a in alerts if a.active and a.rule == "nonfinite" and a.severity == "critical"]
    if not damaged:
        return None
    first = min(damaged, key=_onset)
    rates = [a for a in alerts if _is_absurd_rate(a) and _onset(a) <= _onset(first)]
    following = [
        a for a in alerts if a is not first and a.active and a.rule in _FOLLOWING and _onset(a) >= _onset(first)
    ]
    if not rates and not following:
        return None
    same = _same([a for a in following if a.rule == "nonfinite"])
    related = (*(rate.change for rate in rates[:1]), *same)
    back = f"lower the learning rate and go back to {checkpoint_before(run, first.step)}"
    hint = back if rates else first.hint
    parts = [*rates, *following]
    return tuple(
        replace(a, related=related, hint=hint) if a is first else replace(a, severity="info") if a in parts else a
        for a in alerts
    )


def _is_absurd_rate(alert: Alert) -> bool:
    return alert.active and alert.rule == "learning_rate" and alert.what == "reached"


def _onset(alert: Alert) -> int:
    return alert.step if alert.step is not None else 0
