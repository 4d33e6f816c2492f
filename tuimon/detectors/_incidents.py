"""Incidents from scores: raised once, cleared once, with hysteresis, and computed incrementally.

A score says how bad each point is. An incident is raised when several points in a row score at least the upper
threshold, and is cleared when several in a row score less than the lower one. Both depend on earlier points only, so
incidents remain valid when a curve grows, and only new points need to be scored: `Incidents.extended` goes on.

`joined` makes one row of the alerts of one failure: the worst first, which names the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tuimon.model.alerts import SEVERITIES, Alert, Change
from tuimon.model.points import Floats

MOST = 64
"""Number of newest incidents of a curve that are kept."""
_SOON = 5
"""Alerts belong together that begin within this part (1 / 5) of the steps before the first of them."""
_LEAST = 20
_MOST_TOLD = 2
"""Alerts of another kind whose change is told in the alert of an incident."""
_ABOVE_ONE = math.nextafter(1.0, 2.0)


class Beginning(NamedTuple):
    """What is known when an incident is raised."""

    row: int
    """Row at which the values left the usual level."""
    usual: float | None
    """Usual level; None for a limit."""
    bound: float
    """Limit."""


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


class Score(Struct, frozen=True, kw_only=True, tag_field="is"):
    """Base of the scores of a curve, with the thresholds for them. Equal scores find the same incidents.

    The values are finite, NaN is replaced by the value before it.
    """

    raise_after: int = 4
    clear_after: int = 8
    falls: bool = False
    """Whether low values are bad."""

    @property
    def thresholds(self) -> tuple[float, float, int]:
        """(score from which on a point is bad, score below which it is good, good points that end an incident)."""
        return _ABOVE_ONE, 0.5, self.clear_after

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        """Return (scores of the rows from `begin` on, state for the next call); NaN counts as good.

        A bounded number of rows before `begin` may be read. carried: the state that the previous call returned.
        """
        raise NotImplementedError

    def scores_since(self, begun: Beginning, values: Floats, begin: int) -> Floats | None:
        """Return the scores by what was usual when an incident began; None if that does not count."""
        return None

    def beginning(self, values: Floats, first: int, raised: int) -> Beginning:
        """Return what is known when an incident is raised."""
        raise NotImplementedError

    def change(self, peak: float) -> str:
        """Return what a metric does, one of KINDS of analysis/alert_words.py. peak: the farthest value."""
        return "fallen" if self.falls else "risen"


class Incidents(Struct, frozen=True, eq=False):
    """Incidents of a score in the first `length` values, and the state to continue from there."""

    length: int = 0
    incidents: tuple[Incident, ...] = ()
    """The oldest first; only the last one may be active."""
    carried: Any = None
    streak: int = 0
    """Points in a row, up to the last, that are bad, or good while an incident is active."""

    def extended(self, values: Floats, score: Score) -> Incidents:
        """Return the incidents in all of `values`, of which the first `length` have already been scored."""
        if len(values) <= self.length:
            return self
        scores, carried = score.scores(values, self.length, self.carried)
        high, low, needed = score.thresholds
        incidents, streak = list(self.incidents), self.streak
        is_active = bool(incidents) and incidents[-1].cleared is None
        if not is_active and not (scores >= high).any():  # the common case
            return Incidents(len(values), self.incidents, carried)
        compared = score.scores_since(incidents[-1].begun, values, self.length) if is_active else None
        own = (scores if compared is None else compared).tolist()
        for place, row in enumerate(range(self.length, len(values))):
            if is_active:
                streak = 0 if own[place] >= low else streak + 1
                if streak == needed:
                    incidents[-1] = incidents[-1]._replace(last=row - needed, cleared=row)
                    is_active, streak, own = False, 0, scores.tolist()
            else:
                streak = streak + 1 if own[place] >= high else 0
                if streak == score.raise_after:
                    first = row - streak + 1
                    begun = score.beginning(values[: row + 1], first, row)
                    incidents.append(Incident(first, row, row, None, begun))
                    is_active, streak = True, 0
                    compared = score.scores_since(begun, values, self.length)
                    own = own if compared is None else compared.tolist()
        if is_active:
            incidents[-1] = incidents[-1]._replace(last=max(incidents[-1].raised, len(values) - 1 - streak))
        return Incidents(len(values), tuple(incidents[-MOST:]), carried, streak)


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
