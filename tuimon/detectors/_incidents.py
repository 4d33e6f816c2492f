"""Join the alerts of one failure to one row: the worst first, which names the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tuimon.model.alerts import SEVERITIES, Alert, Change

_SOON = 5
"""Alerts belong together that begin within this part (1 / 5) of the steps before the first of them."""
_LEAST = 20
_WORST = ("nonfinite",)
_MOST_TOLD = 2
"""Alerts of another kind whose change is told in the alert of an incident."""


def joined(alerts: Iterable[Alert]) -> list[Alert]:
    """Return the alerts with all but the worst of each incident as information, so that their metrics keep marks.

    Alerts are of one incident if their steps overlap and they begin soon after the first. Information stays apart.
    """
    result: list[Alert] = []
    groups: list[list[Alert]] = []
    for own in sorted(alerts, key=lambda alert: (alert.step or 0, alert.rule, alert.metric)):
        if own.severity == "info":
            result.append(own)
        elif groups and _is_of(own, groups[-1]):
            groups[-1].append(own)
        else:
            groups.append([own])
    for group in groups:
        result += _with_lead(group)
    return result


def _is_of(own: Alert, group: Sequence[Alert]) -> bool:
    begin, first = own.step or 0, group[0].step or 0
    overlaps = any(other.until is None or other.until >= begin for other in group)
    return overlaps and begin - first <= max(_LEAST, first // _SOON)


def _with_lead(group: Sequence[Alert]) -> list[Alert]:
    """Return the alerts of a group: the worst that goes on, and the others as information."""
    lead = max(group, key=_badness)
    others = [alert for alert in group if alert is not lead]
    same = [Change(own.metric) for own in others if own.what == lead.what and own.metric != lead.metric]
    different = [own.change for own in others if own.what != lead.what][:_MOST_TOLD]
    return [
        replace(lead, related=(*lead.related, *different, *same)),
        *(replace(alert, severity="info") for alert in others),
    ]


def _badness(own: Alert) -> tuple[bool, int, bool, int]:
    """Return the order of alerts: those that go on, by severity, NaN before others, then the first."""
    return own.active, SEVERITIES.index(own.severity), own.rule in _WORST, -(own.step or 0)
