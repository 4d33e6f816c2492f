"""Incidents from scores: raised once, cleared once, with hysteresis, and computed incrementally.

A rule gives every point a score. An incident is raised when `raise_after` points in a row score at least `high`, and is
cleared when `clear_after` points in a row score less than `low`. Both depend on earlier points only, so incidents of a
curve remain valid when it grows, and only new points need to be scored: `Incidents.extended` continues a result.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.model.points import Floats

_MAX_INCIDENTS = 64
"""Number of newest incidents of a rule on a curve that are kept."""

_NO_ROWS, _FIRST_ROW = np.empty(0, np.int64), np.zeros(1, np.int64)


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

    def shifted(self, rows: int) -> Incident:
        """Return the incident with all rows increased by `rows`."""
        cleared = None if self.cleared is None else self.cleared + rows
        return Incident(self.first + rows, self.raised + rows, self.last + rows, cleared)


class Rule(Protocol):
    """Scores of a curve and thresholds for them. Hashable; equal rules find the same incidents."""

    @property
    def high(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def raise_after(self) -> int: ...
    @property
    def clear_after(self) -> int: ...

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        """Return (scores of the rows from `begin` on, state for the next call); NaN counts as good.

        values: finite, NaN replaced by the value before it. A bounded number of rows before `begin` may be read.
        carried: the state that the previous call returned, None at first.
        """
        ...


@runtime_checkable
class FrozenBaselineRule(Rule, Protocol):
    """A rule that compares an active incident with what was usual when it began."""

    def active_scores(self, values: Floats, begin: int, first: int) -> Floats:
        """Return the scores of the rows from `begin` on while the incident that began in row `first` is active."""
        ...


class Incidents(Struct, frozen=True, eq=False):
    """Incidents of a rule in the first `length` values, and the state to continue from there."""

    length: int = 0
    incidents: tuple[Incident, ...] = ()
    """The oldest first; only the last one may be active."""
    carried: Any = None
    bad: int = 0
    """Points in a row, up to the last, that score at least `high`."""
    good: int = 0
    """Points in a row, up to the last, that score less than `low`."""

    def extended(self, values: Floats, rule: Rule) -> Incidents:
        """Return the incidents in all of `values`, of which the first `length` have already been scored."""
        if len(values) <= self.length:
            return self
        scores, carried = rule.scores(values, self.length, self.carried)
        bad, good = scores >= rule.high, ~(scores >= rule.low)
        if not bad.any() and not (self.incidents and self.incidents[-1].cleared is None):  # the common case
            return Incidents(len(values), self.incidents, carried, 0, _streak(good, self.good))
        raises, bads = _completed(bad, self.bad, rule.raise_after)
        clears, goods = _completed(good, self.good, rule.clear_after)
        incidents = list(self.incidents)
        position = earliest = 0
        before = self.good
        while True:
            if incidents and incidents[-1].cleared is None:
                if isinstance(rule, FrozenBaselineRule) and position < len(scores):
                    active = rule.active_scores(values, self.length + position, incidents[-1].first)
                    clears, goods = _completed(~(active >= rule.low), before, rule.clear_after)
                    clears = clears + position
                ahead = clears[np.searchsorted(clears, position) :]
                if not len(ahead):
                    break
                position = int(ahead[0])
                row = self.length + position
                incidents[-1] = incidents[-1]._replace(last=row - rule.clear_after, cleared=row)
                earliest = position + 1  # the row that ends an incident begins no other one
            else:
                ahead = raises[np.searchsorted(raises, max(position, earliest)) :]
                if not len(ahead):
                    break
                position = int(ahead[0])
                row = self.length + position
                incidents.append(Incident(row - rule.raise_after + 1, row, row, None))
                before = 0
        if incidents and incidents[-1].cleared is None:
            last = max(incidents[-1].raised, len(values) - 1 - goods)
            incidents[-1] = incidents[-1]._replace(last=last)
        return Incidents(len(values), tuple(incidents[-_MAX_INCIDENTS:]), carried, bads, goods)


def _completed(flags: npt.NDArray[np.bool_], before: int, wanted: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return (positions at which `wanted` flags in a row are complete, length of the streak at the end).

    before: flags in a row just before the first one.
    """
    if len(flags) == 1:
        streak = before + 1 if flags[0] else 0
        return (_FIRST_ROW if streak == wanted else _NO_ROWS), streak
    flips = np.flatnonzero(flags[1:] != flags[:-1]) + 1
    borders = np.concatenate((_FIRST_ROW, flips, [len(flags)]))
    starts, ends = borders[:-1][flags[borders[:-1]]], borders[1:][flags[borders[:-1]]]
    complete = starts + wanted - 1
    if flags[0]:
        complete[0] -= before
    return complete[(complete >= starts) & (complete < ends)], _streak(flags, before)


def _streak(flags: npt.NDArray[np.bool_], before: int) -> int:
    """Return the number of flags in a row at the end, `before` of which came before the first."""
    return before + len(flags) if flags.all() else int(flags[::-1].argmin())
