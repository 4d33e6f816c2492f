"""Incidents of a score: raised once, cleared once, with hysteresis, and computed incrementally.

An incident is raised when several points in a row are past the limit of a score, and is cleared when several in a row
are not past half of the way to it. Both depend on earlier points only, so incidents remain valid when a curve grows,
and only new points need to be compared: `Incidents.extended` goes on.

`joined` makes one row of the alerts of one failure: the worst first, which names the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tuimon.detectors._scores import Beginning, Score
from tuimon.model.alerts import SEVERITIES, Alert, Change
from tuimon.model.points import Floats

MOST = 64
"""Number of newest incidents of a curve that are kept."""
_SOON = 5
"""Alerts belong together that begin within this part (1 / 5) of the steps before the first of them."""
_LEAST = 20
_MOST_TOLD = 2
"""Alerts of another kind whose change is told in the alert of an incident."""


class Incident(NamedTuple):
    """Rows of a curve."""

    first: int
    """First row of the points that raised it."""
    raised: int
    """Row at which it was raised, i.e. the earliest at which a live watcher can know of it."""
    last: int
    """Last row before the good points that cleared it; while it is active, before the good points so far."""
    cleared: int | None
    """Row at which it was cleared; None while it is active."""
    begun: Beginning

    def shifted(self, rows: int) -> Incident:
        """Return the incident with all rows increased by `rows`."""
        cleared = None if self.cleared is None else self.cleared + rows
        begun = self.begun._replace(row=self.begun.row + rows)
        return Incident(self.first + rows, self.raised + rows, self.last + rows, cleared, begun)


class Incidents(Struct, frozen=True, eq=False):
    """Incidents of a score in the first `length` values, and the state to continue from there."""

    length: int = 0
    incidents: tuple[Incident, ...] = ()
    """The oldest first; only the last one may be active."""
    carried: Any = None
    streak: int = 0
    """Points in a row, up to the last, that are bad, or good while an incident is active."""

    def extended(self, values: Floats, score: Score) -> Incidents:
        """Return the incidents in all of `values`. The first `length` have already been compared."""
        if len(values) <= self.length:
            return self
        now = score.compared(values, self.length, self.carried)
        sign = -1.0 if score.falls else 1.0
        bad = sign * now.level > sign * now.bound  # NaN is not

        def lasting(begun: Beginning) -> list[bool]:
            """Return for each row whether the level is past half of the way to the limit."""
            middle = now.usual / 2 + now.bound / 2 if score.moves else begun.middle
            still: list[bool] = (sign * now.level > sign * middle).tolist()
            return still

        incidents, streak = list(self.incidents), self.streak
        is_active = bool(incidents) and incidents[-1].cleared is None
        if not is_active and not bad.any():  # the common case
            return Incidents(len(values), self.incidents, now.carried)
        own = lasting(incidents[-1].begun) if is_active else bad.tolist()
        for place, row in enumerate(range(self.length, len(values))):
            streak = streak + 1 if own[place] is not is_active else 0
            if is_active and streak == score.needed:
                incidents[-1] = incidents[-1]._replace(last=row - streak, cleared=row)
                is_active, streak, own = False, 0, bad.tolist()
            elif not is_active and streak == score.raise_after:
                first = row - streak + 1
                begun = score.beginning(values[: row + 1], first, row)
                incidents.append(Incident(first, row, row, None, begun))
                is_active, streak, own = True, 0, lasting(begun)
        if is_active:
            incidents[-1] = incidents[-1]._replace(last=max(incidents[-1].raised, len(values) - 1 - streak))
        return Incidents(len(values), tuple(incidents[-MOST:]), now.carried, streak)


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
        lead = max(group, key=_badness)
        others = [alert for alert in group if alert is not lead]
        same = [Change(own.metric) for own in others if own.what == lead.what and own.metric != lead.metric]
        different = [own.change for own in others if own.what != lead.what][:_MOST_TOLD]
        result.append(replace(lead, related=(*lead.related, *different, *same)))
        result += [replace(alert, severity="info") for alert in others]
    return result


def _is_of(own: Alert, group: Sequence[Alert]) -> bool:
    begin, first = own.step or 0, group[0].step or 0
    overlaps = any(other.until is None or other.until >= begin for other in group)
    return overlaps and begin - first <= max(_LEAST, first // _SOON)


def _badness(own: Alert) -> tuple[bool, int, bool, int]:
    """Return the order of alerts: those that go on, by severity, NaN before others, then the first."""
    return own.active, SEVERITIES.index(own.severity), own.rule == "nonfinite", -(own.step or 0)
