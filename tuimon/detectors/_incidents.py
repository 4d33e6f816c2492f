"""Join the alerts of one failure: one incident with the cause in its message, ordered by onset.

A policy that has collapsed gets an alert of its own, be it one that the detector of sudden collapses has found
(policy_collapse.py), one of a policy that moved too far (_collapse.py), or one of several alerts. Weights that are NaN
make everything NaN that is computed later, so that the first alert names what follows. The alerts that belong to an
incident remain as information, so that their metrics keep their marks.

A spike of a metric that is rising is a part of the rise (divergence.py).

An alert of a metric that a second source logs under another name (charts/episodic_return and a line of the console) is
raised once, for the name of the better source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tuimon.detectors._checkpoints import checkpoint_before
from tuimon.detectors._collapse import with_drift_first
from tuimon.model.alerts import Alert, AlertKey, Change
from tuimon.store import Run

RULE = "policy_collapse"
"""Rule of the alert of a collapsed policy, also that of the detector of sudden collapses."""
_PARTS = ("learning_rate", "entropy_collapse", "zero_variance")
"""Rules of the parts of a collapse, in the order of parts that begin at the same step."""
_CAUSES = ("entropy_collapse", "zero_variance")
_ADVICE = {
    "learning_rate": "lower the learning rate and start again: checkpoints after the collapse are of no use",
    "entropy_collapse": "go back to {checkpoint}; lower the learning rate, or raise the entropy bonus",
    "zero_variance": "go back to {checkpoint}; filter such groups, or add other prompts",
}


_LEAST_EQUAL, _LEAST_DISTINCT = 10, 5
"""Points, and different values among them, from which two equal series are one quantity."""
_LEVEL_POINTS = 9
"""Points of the median that is the level of an entropy before and after a fall."""
_SETTLED = 2.0
"""Highest median of a block, relative to the lowest one, of a metric that has settled."""
_MOST_COMPARED, _COMPARED_POINTS = 50, 1000
"""Maximum number of alerts that are compared, and of points, the last ones that both series have."""
_FOLLOWING = frozenset({"nonfinite", "reward_drop", "entropy_collapse", "zero_variance", "divergence", "spikes"})
"""Rules whose alerts follow from weights that are NaN, if they begin later."""
_OF_COLLAPSE = _FOLLOWING | {"kl_runaway", "approx_kl", "clip_fraction", "policy_ratio", "vanishing_gradient"}
"""Rules whose alerts are a part of a collapse of the policy, or follow from it, if they do not begin before it."""


def joined(run: Run, alerts: Sequence[Alert]) -> tuple[Alert, ...]:
    """Return the alerts of a run with one alert for each failure."""
    alerts = _without_spikes_of_rises(run, _without_repeats(run, alerts))
    return (
        _with_sudden_collapse(run, alerts)
        or _with_one_nan(run, alerts)
        or with_drift_first(run, RULE, alerts)
        or _with_collapse(run, alerts)
        or _with_drift(run, alerts)
    )


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


def _with_sudden_collapse(run: Run, alerts: Sequence[Alert]) -> tuple[Alert, ...] | None:
    """Return the alerts with one for a sudden collapse and what follows from it; None without such a collapse."""
    collapses = [alert for alert in alerts if alert.active and alert.rule == RULE]
    if not collapses:
        return None
    first = min(collapses, key=_onset)
    rates = [a for a in alerts if _is_absurd_rate(a)]
    following = [
        a
        for a in alerts
        if a is not first and a.active and a.rule in (*_OF_COLLAPSE, RULE) and _onset(a) >= _onset(first)
    ]
    damaged = sorted((a for a in following if a.rule == "nonfinite"), key=_onset)
    related = (*(rate.change for rate in rates[:1]), *first.related, *(a.change for a in damaged[:1]))
    related += _same(damaged[1:])
    parts = [*rates, *following]
    return tuple(
        replace(a, related=related) if a is first else replace(a, severity="info") if a in parts else a for a in alerts
    )


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


def _with_collapse(run: Run, alerts: Sequence[Alert]) -> tuple[Alert, ...] | None:
    """Return the alerts after one alert about the collapse of the policy, if it has collapsed; else None.

    A policy has collapsed if its entropy has and, besides, the variance of the groups or the reward; or if the variance
    has and the learning rate is absurd.
    """
    members = [a for a in alerts if a.active and a.severity != "info" and a.rule in (*_CAUSES, "reward_drop")]
    causes = sorted((a for a in members if a.rule in _CAUSES), key=_onset)
    rates = [a for a in alerts if _is_absurd_rate(a)]
    rules = {alert.rule for alert in (*members, *rates)}
    if len(rules) < 2 or not ("entropy_collapse" in rules or {"zero_variance", "learning_rate"} <= rules) or not causes:
        return None
    step = causes[0].step
    firsts = {alert.rule: alert for alert in reversed(causes)} | {alert.rule: alert for alert in rates[:1]}
    ordered = sorted((firsts[rule] for rule in _PARTS if rule in firsts), key=_onset)
    drops = [alert for alert in members if alert.rule == "reward_drop"][:1]
    related = tuple(alert.change for alert in (*ordered, *drops))
    hint = _ADVICE["learning_rate" if rates else causes[0].rule].format(checkpoint=checkpoint_before(run, step))
    metric = causes[0].metric
    whole = Alert(RULE, "critical", run.id, metric, step, hint=hint, what="collapsed", related=related)
    following = [a for a in alerts if a.active and a.rule in _OF_COLLAPSE and _onset(a) >= _onset(causes[0])]
    inside = [*members, *rates, *following]
    return whole, *(replace(alert, severity="info") if alert in inside else alert for alert in alerts)


def _with_drift(run: Run, alerts: Sequence[Alert]) -> tuple[Alert, ...]:
    """Return the alerts; one about a KL names an entropy that has halved since then, whose alert is information."""
    falls: dict[AlertKey, Change] = {}
    for alert in alerts:
        if alert.active and alert.rule == "kl_runaway" and (fall := _fall_of_entropy(run, _onset(alert))):
            falls[alert.key] = fall
    fallen = {fall.metric for fall in falls.values()}
    return tuple(
        replace(alert, related=(*alert.related, falls[alert.key]))
        if alert.key in falls
        else replace(alert, severity="info")
        if alert.active and alert.rule == "entropy_collapse" and alert.metric in fallen
        else alert
        for alert in alerts
    )


def _fall_of_entropy(run: Run, step: int) -> Change | None:
    """Return the fall of the first entropy that has halved since a step; None without one."""
    from tuimon.detectors._curves import median_of_rows
    from tuimon.detectors._policy import discrete_entropies

    for entropy in discrete_entropies(run):
        row, end = entropy.row_after(step), len(entropy)
        before, now = (median_of_rows(entropy, last - _LEVEL_POINTS, last - 1) for last in (row, end))
        if row >= _LEVEL_POINTS and now <= before / 2 < before:
            return Change(entropy.metric, "fallen", now, before)
    return None


def _onset(alert: Alert) -> int:
    return alert.step if alert.step is not None else 0
