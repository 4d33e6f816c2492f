"""From scores to incidents: raised once, after so many points in a row, and cleared once, with hysteresis.

A rule gives every point a score. An incident is raised when `raise_after` points in a row score at least `high`, and is
over when `clear_after` in a row score less than `low`. Both look back only, so what was found in a curve stays true
when it grows, and only what is new need be looked at: Incidents is a value that `extended` carries on.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.model.points import Floats

_KEPT = 64
"""Incidents of one rule on one curve that are remembered, the newest."""

_NOWHERE, _FIRST = np.empty(0, np.int64), np.zeros(1, np.int64)


class Incident(NamedTuple):
    """Rows of a curve."""

    first: int
    """Where the stretch that raised it begins."""
    raised: int
    """Where it was raised: what a live watcher could know."""
    last: int
    """The last row that was not good again."""
    cleared: int | None
    """Where it was over; None while it stands."""


class Rule(Protocol):
    """What a detector holds a curve to. Hashable; equal rules find the same."""

    @property
    def high(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def raise_after(self) -> int: ...
    @property
    def clear_after(self) -> int: ...

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        """The scores of the rows from `begin` on, NaN for what cannot be judged, and what to carry to the next call;
        `carried` is None at first. Values are finite: a NaN is the value before it. Rows before `begin` may be read,
        those of a bounded stretch."""
        ...


@runtime_checkable
class Frozen(Rule, Protocol):
    """A rule that holds an incident against what was usual when it began, not against what it has become since."""

    def standing(self, values: Floats, begin: int, first: int) -> Floats:
        """The scores of the rows from `begin` on while the incident of row `first` stands."""
        ...


class Incidents(Struct, frozen=True, eq=False):
    """What a rule has found in the first `length` values."""

    length: int = 0
    found: tuple[Incident, ...] = ()
    """The oldest first; the last one may be standing."""
    carried: Any = None
    bad: int = 0
    """Points in a row, up to the last, that score `high` …"""
    good: int = 0
    """… or less than `low`."""

    def extended(self, values: Floats, rule: Rule) -> Incidents:
        """The incidents in all of `values`, whose first `length` rows are those that were looked at already."""
        if len(values) <= self.length:
            return self
        scores, carried = rule.scores(values, self.length, self.carried)
        bad, good = scores >= rule.high, ~(scores >= rule.low)
        if not bad.any() and not (self.found and self.found[-1].cleared is None):  # as most are, at any time
            return Incidents(len(values), self.found, carried, 0, _streak(good, self.good))
        raises, bads = _completed(bad, self.bad, rule.raise_after)
        clears, goods = _completed(good, self.good, rule.clear_after)
        found = list(self.found)
        at = 0
        before = self.good
        while True:
            if found and found[-1].cleared is None:
                if isinstance(rule, Frozen) and at < len(scores):
                    good = ~(rule.standing(values, self.length + at, found[-1].first) >= rule.low)
                    clears, goods = _completed(good, before, rule.clear_after)
                    clears = clears + at
                ahead = clears[np.searchsorted(clears, at) :]
                if not len(ahead):
                    break
                at = int(ahead[0])
                row = self.length + at
                found[-1] = found[-1]._replace(last=row - rule.clear_after, cleared=row)
            else:
                ahead = raises[np.searchsorted(raises, at) :]
                if not len(ahead):
                    break
                at = int(ahead[0])
                row = self.length + at
                found.append(Incident(row - rule.raise_after + 1, row, row, None))
                before = 0
        if found and found[-1].cleared is None:
            found[-1] = found[-1]._replace(last=max(found[-1].raised, len(values) - 1 - goods))
        return Incidents(len(values), tuple(found[-_KEPT:]), carried, bads, goods)


def _completed(flags: npt.NDArray[np.bool_], before: int, wanted: int) -> tuple[npt.NDArray[np.int64], int]:
    """(where `wanted` flags in a row are full, `before` of them having come already; how many there are at the end)."""
    if len(flags) == 1:
        streak = before + 1 if flags[0] else 0
        return (_FIRST if streak == wanted else _NOWHERE), streak
    flips = np.flatnonzero(flags[1:] != flags[:-1]) + 1
    borders = np.concatenate((_FIRST, flips, [len(flags)]))
    starts, ends = borders[:-1][flags[borders[:-1]]], borders[1:][flags[borders[:-1]]]
    full = starts + wanted - 1
    if flags[0]:
        full[0] -= before
    return full[(full >= starts) & (full < ends)], _streak(flags, before)


def _streak(flags: npt.NDArray[np.bool_], before: int) -> int:
    """How many flags in a row there are at the end, `before` having come before the first."""
    return before + len(flags) if flags.all() else int(flags[::-1].argmin())
