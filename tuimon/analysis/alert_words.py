"""The words of an alert, made from its fields: sentence_of() gives them in parts, message_of() as one sentence.

A row of KINDS is what a metric does in an incident that goes on, and in one that is over.
"""

from __future__ import annotations

from typing import NamedTuple

from tuimon.draw.numbers import distinct_digits, format_value
from tuimon.model.alerts import Alert, Change

KINDS = {
    "above": ("is above {limit}", "was above {limit}"),
    "below": ("is below {limit}", "was below {limit}"),
    "condition": ("has reached {value}", "reached {value}"),
    "risen": ("has risen from {usual} to {value}{factor}", "rose from {usual} to {value}{factor}"),
    "fallen": ("has fallen from {usual} to {value}{factor}", "fell from {usual} to {value}{factor}"),
    "jumped": ("has jumped from {usual} to {value}{factor}", "jumped from {usual} to {value}{factor}"),
    "grows": ("grows from {usual} to {value}{factor}", "grew from {usual} to {value}{factor}"),
    "zero": ("is 0", "was 0"),
    "nan": ("is NaN", "was NaN"),
    "infinite": ("is Inf", "was Inf"),
    "some nan": ("has NaN values", "had NaN values"),
    "some infinite": ("has Inf values", "had Inf values"),
}
_EXTREMES = {"above": "highest", "below": "lowest"}
_MOST_NAMED = 3
"""Metrics that do the same as that of the alert and are named."""


class Sentence(NamedTuple):
    """Parts of a sentence, the most important first."""

    what: str
    """Such as "kl has risen from 0.06 to 0.58 (9.4 times)"."""
    when: str
    """Such as "since step 40"; "" without a step."""
    evidence: str
    """Such as "highest 0.61 at step 90, in log.csv"; "" without any."""

    @property
    def short(self) -> str:
        """The sentence without its evidence."""
        return f"{self.what} {self.when}".rstrip()

    @property
    def whole(self) -> str:
        """The sentence with its evidence."""
        return f"{self.short}; {self.evidence}" if self.evidence else self.short


def sentence_of(alert: Alert) -> Sentence:
    """Return the parts of the sentence of an alert; a message that its detector has written is one part."""
    if not alert.what:
        return Sentence(alert.message, "", "")
    what = f"{_subject(alert)} {change_words(alert.change, alert.active)}"
    if alert.what in _EXTREMES and alert.count != alert.points:
        what += f" at {alert.count} of {alert.points} points"
    return Sentence(what, _when(alert.step, alert.until, alert.steps), ", ".join(_evidence(alert)))


def message_of(alert: Alert) -> str:
    """Return the sentence of an alert."""
    return sentence_of(alert).whole


def number(value: float) -> str:
    """Format with four significant digits: "0.5123", "1.2e-05", "12345"."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def format_factor(value: float, usual: float) -> str:
    """Return " (9.4 times)", " (+40 %)", " (-83 %)"; "" if the level before was not above 0."""
    if not usual > 0 or value < 0:
        return ""
    ratio = value / usual
    if ratio >= 2:
        return f" ({ratio:,.0f} times)" if 100 <= ratio < 1e7 else f" ({ratio:.3g} times)"
    change = 100 * (ratio - 1)
    return f" ({change:+.0f} %)" if abs(change) >= 9.5 else f" ({change:+.2g} %)"


def _subject(alert: Alert) -> str:
    return f"{alert.rule}: {alert.metric}" if alert.what == "condition" else alert.metric


def change_words(change: Change, is_active: bool) -> str:
    """Return what a metric does: "has risen from 0.06 to 0.58 (9.4 times)"."""
    value, usual, limit = (_with_unit(own, change.unit) for own in (change.value, change.usual, change.limit))
    factor = format_factor(change.value, change.usual) if change.value is not None and change.usual is not None else ""
    return KINDS[change.what][not is_active].format(value=value, usual=usual, limit=limit, factor=factor)


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return format_value(value, "B") if unit == "B" else f"{number(value)} {unit}".rstrip()


def _when(step: int | None, until: int | None, steps: str) -> str:
    if step is None:
        return ""
    if until is None:
        return f"since {steps} {step}"
    return f"at {steps} {step}" if step == until else f"from {steps} {step} to {until}"


def _evidence(alert: Alert) -> list[str]:
    parts = []
    if alert.extreme is not None and alert.value is not None:
        value, at = _with_unit(alert.value, alert.unit), f"at {alert.steps} {alert.extreme}"
        if alert.limit is not None and value == _with_unit(alert.limit, alert.unit):
            value = distinct_digits(alert.value, alert.limit)[0]
        if alert.what in _EXTREMES:
            parts.append(f"{_EXTREMES[alert.what]} {value} {at}")
        elif alert.extreme != alert.step:
            parts.append(f"reached {at}")
    if alert.what not in _EXTREMES and alert.count != alert.points:
        parts.append(f"{alert.count} of {alert.points} points")
    if alert.source:
        parts.append(f"in {alert.source}")
    if alert.reached_in is not None:
        parts.append(f"{_with_unit(alert.limit, alert.unit)} in about {alert.reached_in} {alert.steps}s")
    for change in alert.related:
        if change.what:
            # In the past: the extreme value of the incident, where the alert is not over until several are good again.
            did, when = change_words(change, is_active=False), _when(change.step, change.until, alert.steps)
            parts.append(f"{change.metric} {did} {when}".rstrip())
    if same := list(dict.fromkeys(change.metric for change in alert.related if not change.what)):
        more = len(same) - _MOST_NAMED
        parts.append(f"also {', '.join(same[:_MOST_NAMED])}{f' and {more} more' if more > 0 else ''}")
    return parts
