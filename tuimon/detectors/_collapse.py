"""Join the alerts of a policy that has collapsed: one incident that names what changed, in the order of the onsets.

An alert gives the step from which a limit was exceeded or a level lost, which depends on the limit: a KL that grows
from step 150 may pass its limit at 170, after a reward that fell within a few steps. The order of cause and
consequence is therefore that of the steps at which the metrics left their level (`onset_row`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from tuimon.detectors._checkpoints import checkpoint_before
from tuimon.detectors._curves import extreme_level, last_finite, median_of_rows, onset_row
from tuimon.model.alerts import Alert, Change
from tuimon.store import Run

_FALLING = frozenset({"reward_drop", "entropy_collapse"})
_DRIFT = frozenset({"kl_runaway", "approx_kl", "clip_fraction", "policy_ratio"})
"""Rules whose alerts say that the policy moves too far."""
_PARTS = _DRIFT | _FALLING | {"zero_variance"}
_HINT = (
    "go back to {checkpoint}; the policy moves too far: make fewer updates per batch, lower the learning rate, or"
    " check the clip range and the KL coefficient"
)
_OF_LIMIT = frozenset({"approx_kl", "clip_fraction", "policy_ratio"})
"""Rules whose alerts begin where a limit is exceeded, and not at the onset."""
_FURTHER = 4
"""Points after such an alert that are read to find the onset."""
_BEFORE = 16
"""Points before the onset whose median is the level before."""
_LEAD, _LAG = 128, 16
"""Points by which the onset of a drift may precede that of the collapse, or come after it."""


class _Part(Struct, frozen=True):
    """An alert, and the row and step of its metric's onset."""

    alert: Alert
    row: int
    step: int


def with_drift_first(run: Run, rule: str, alerts: Sequence[Alert]) -> tuple[Alert, ...] | None:
    """Return the alerts after one alert of `rule` about the collapse of a policy that moved too far; else None.

    A policy has collapsed in this way if the reward has fallen, nearly all of its gain is lost or the entropy has
    collapsed, too, and the KL, the clip fraction or the ratio to the old policy left its level before this or soon
    after. The other alerts of the collapse become information and follow in the order of their onsets.
    """
    active = [alert for alert in alerts if alert.active and alert.rule in _PARTS and alert.step is not None]
    losses = [alert for alert in active if alert.rule in _FALLING]
    rewards = [alert for alert in losses if alert.rule == "reward_drop"]
    is_lost = any(alert.severity == "critical" for alert in rewards) or len(losses) > len(rewards) > 0
    if not is_lost or not any(alert.rule in _DRIFT for alert in active):
        return None
    core = min((_part(run, alert) for alert in losses), key=attrgetter("step"))
    parts = [part for alert in active if _belongs(part := _part(run, alert), core)]
    drifts = [part for part in parts if part.alert.rule in _DRIFT]
    if not drifts or min(part.row for part in drifts) > core.row + _LAG:
        return None
    parts.sort(key=lambda part: (part.step, part.alert.rule not in _DRIFT, part.alert.step))
    first = parts[0]
    changes = {part.alert.metric: _change(run, part) for part in reversed(parts)}
    is_drift = first.alert.rule in _DRIFT
    hint = _HINT.format(checkpoint=checkpoint_before(run, first.step)) if is_drift else first.alert.hint
    related = tuple(changes[metric] for metric in dict.fromkeys(part.alert.metric for part in parts))
    metric, step = first.alert.metric, first.step
    whole = Alert(rule, "critical", run.id, metric, step, hint=hint, what="collapsed", related=related)
    inside = [part.alert for part in parts]
    rest = [alert for alert in alerts if not any(alert is own for own in inside)]
    return whole, *(replace(alert, severity="info") for alert in inside), *rest


def _belongs(part: _Part, core: _Part) -> bool:
    return part.row >= core.row - _LEAD if part.alert.rule in _DRIFT else part.step >= core.step


def _change(run: Run, part: _Part) -> Change:
    """Return the change of a metric since its onset, from the median before it to the extreme median of nine since."""
    curve, rises = run.curve(part.alert.metric), part.alert.what in ("above", "risen")
    before = median_of_rows(curve, part.row - _BEFORE, part.row - 1)
    now, _ = extreme_level(curve, part.row, len(curve) - 1, rises)
    if not math.isfinite(before + now):  # it begins so
        return Change(part.alert.metric, "reached", last_finite(curve, len(curve) - 1), step=part.step)
    return Change(part.alert.metric, "risen" if rises else "fallen", now, before, step=part.step)


def _part(run: Run, alert: Alert) -> _Part:
    curve = run.curve(alert.metric)
    assert alert.step is not None
    row = curve.row_after(alert.step - 1)
    if alert.rule in _OF_LIMIT:
        row = min(onset_row(curve, min(row + _FURTHER, len(curve) - 1)), row)
    return _Part(alert, row, int(curve.steps[row]))
