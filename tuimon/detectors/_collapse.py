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
from tuimon.detectors._curves import extreme_level, median_of_rows, number, onset_row
from tuimon.model.alerts import Alert
from tuimon.store import Run

_WORDS = {
    "kl_runaway": "KL rose",
    "approx_kl": "KL rose",
    "clip_fraction": "clip fraction rose",
    "policy_ratio": "policy ratio left 1",
    "reward_drop": "reward fell",
    "entropy_collapse": "entropy fell",
    "zero_variance": "groups lost their variance",
}
_FALLING = frozenset({"reward_drop", "entropy_collapse"})
_RISING = frozenset({"kl_runaway", "approx_kl", "clip_fraction"})
_DRIFT = _RISING | {"policy_ratio"}
"""Rules whose alerts say that the policy moves too far."""
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
    active = [alert for alert in alerts if alert.active and alert.rule in _WORDS and alert.step is not None]
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
    chain: dict[str, str] = {}
    for part in parts:
        chain.setdefault(_WORDS[part.alert.rule], _described(run, part, with_alert=part is first))
    message = f"policy collapsed: {', '.join(chain.values())}"
    is_drift = first.alert.rule in _DRIFT
    hint = _HINT.format(checkpoint=checkpoint_before(run, first.step)) if is_drift else first.alert.hint
    whole = Alert(rule, "critical", run.id, first.alert.metric, first.step, message, hint)
    inside = [part.alert for part in parts]
    rest = [alert for alert in alerts if not any(alert is own for own in inside)]
    return whole, *(replace(alert, severity="info") for alert in inside), *rest


def _belongs(part: _Part, core: _Part) -> bool:
    return part.row >= core.row - _LEAD if part.alert.rule in _DRIFT else part.step >= core.step


def _described(run: Run, part: _Part, *, with_alert: bool) -> str:
    """Return "entropy fell from step 120 (0.91 to 0.05)", with the median before and the extreme median of nine since.

    with_alert: add the step of the alert if it is another one.
    """
    notes = []
    if part.alert.rule in _RISING | _FALLING:
        curve = run.curve(part.alert.metric)
        before = median_of_rows(curve, part.row - _BEFORE, part.row - 1)
        now, _ = extreme_level(curve, part.row, len(curve) - 1, part.alert.rule in _RISING)
        notes = [f"{number(before)} to {number(now)}"] if math.isfinite(before + now) else []
    if with_alert and part.alert.step != part.step:
        notes.append(f"alert at {part.alert.step}")
    return f"{_WORDS[part.alert.rule]} from step {part.step}" + (f" ({'; '.join(notes)})" if notes else "")


def _part(run: Run, alert: Alert) -> _Part:
    curve = run.curve(alert.metric)
    assert alert.step is not None
    row = curve.row_after(alert.step - 1)
    if alert.rule in _OF_LIMIT:
        row = min(onset_row(curve, min(row + _FURTHER, len(curve) - 1)), row)
    return _Part(alert, row, int(curve.steps[row]))
