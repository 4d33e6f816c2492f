"""Shared parts of detectors of single curves: incidents of a rule, levels, and alerts.

Results over the rows of an incident are updated incrementally while it grows and cached when it is over, so that a
check costs the same at the end of a long run as at its beginning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tuimon.analysis.incidents import Incident, Incidents, Rule
from tuimon.analysis.level_rules import AgainstSettled, AgainstStart, BlocksAgainstStart
from tuimon.analysis.onset import hinge, onset, sudden_change
from tuimon.analysis.rules import Runaway
from tuimon.analysis.windows import BLOCK, BLOCKS, NINE, median_of_nine, settled, usual_at
from tuimon.model.alerts import Alert, Change
from tuimon.model.points import Floats
from tuimon.store import Curve, Run

State = TypeVar("State")
CHECKED_PANELS = frozenset({"reward", "success", "loss", "kl", "policy", "length"})
"""Panels of the metrics that are checked for NaN."""
_LEVEL_POINTS = 16
"""Points of the median that is the level before or after an incident."""
_GROWTH_POINTS = 640
"""Maximum number of means of neighbouring points in which the onset of growth is searched."""
_MAX_RESULTS = 1024
"""Cached results of one column."""


class _ColumnCache:
    """Results that are cached for a growing column."""

    __slots__ = ("filled", "filled_rows", "folds", "incidents", "results")

    def __init__(self) -> None:
        self.filled: Floats = np.empty(0)
        """Values with gaps filled, valid in the first `filled_rows` rows."""
        self.filled_rows = 0
        self.incidents: dict[Rule, Incidents] = {}
        self.results: dict[Hashable, Any] = {}
        """Results for fixed rows, by (quantity, first row, last row)."""
        self.folds: dict[Hashable, tuple[int, Any]] = {}
        """(row after the last included one, state) by (quantity, first row)."""


_caches: WeakKeyDictionary[object, _ColumnCache] = WeakKeyDictionary()


def _cache_of(curve: Curve) -> _ColumnCache:
    cache = _caches.setdefault(curve.lineage, _ColumnCache())
    if len(cache.folds) + len(cache.results) > _MAX_RESULTS:
        cache.folds.clear()
        cache.results.clear()
    return cache


def incidents(curve: Curve, rule: Rule) -> tuple[Incident, ...]:
    """Return the incidents of a rule, as rows of the curve. Only points added since the last call are examined."""
    cache = _cache_of(curve)
    values, skipped = _without_gaps(curve, cache)
    known = cache.incidents.get(rule)
    if known is None or known.length > len(values):
        known = Incidents()
    extended = known.extended(values, rule)
    if extended.length >= cache.incidents.get(rule, known).length:
        cache.incidents[rule] = extended
    if not skipped:
        return extended.incidents
    return tuple(incident.shifted(skipped) for incident in extended.incidents)


def _without_gaps(curve: Curve, cache: _ColumnCache) -> tuple[Floats, int]:
    """Return (values from the first finite one on, the last finite value in place of gaps; points before them)."""
    tally = curve.tally
    if not len(tally.bad_starts):
        return curve.values, 0
    if cache.filled_rows < len(curve):
        rows = tally.finite_until(np.arange(cache.filled_rows, len(curve)))
        if cache.filled.size < len(curve):  # with spare room, so that not every new point copies the array
            cache.filled = np.concatenate((cache.filled[: cache.filled_rows], np.empty(len(curve))))
        cache.filled[cache.filled_rows : len(curve)] = np.where(rows >= 0, curve.values[rows], np.nan)
        cache.filled_rows = len(curve)
    skipped = int(tally.finite_from(np.zeros(1, np.int64))[0])
    return cache.filled[skipped : len(curve)], skipped


def alert(
    run: Run,
    curve: Curve,
    incident: Incident,
    rule: str,
    severity: str,
    what: str,
    value: float | None = None,
    usual: float | None = None,
    *,
    hint: str = "",
    unit: str = "",
    related: tuple[Change, ...] = (),
) -> Alert:
    """Build the alert of an incident of a curve. The other arguments are its fields."""
    until = int(curve.steps[incident.last]) if incident.cleared is not None else None
    first = int(curve.steps[incident.first])
    return Alert(
        rule,
        severity,
        run.id,
        curve.metric,
        first,
        hint=hint,
        until=until,
        what=what,
        value=value,
        usual=usual,
        unit=unit,
        related=related,
    )


def from_console(run: Run, curve: Curve) -> bool:
    """Return whether the drawn values were read from console text, which may print small values as 0.000."""
    consoles = {stream.info.source for stream in run.streams if stream.info.format == "console"}
    return bool(curve.sources[:1]) and curve.sources[0] in consoles


def fold_rows(
    curve: Curve, quantity: Hashable, first: int, last: int, fold: Callable[[State | None, int, int], State]
) -> State:
    """Fold over the rows first … last; rows that an earlier call has included are not read again.

    fold(state, begin, end) adds the rows begin … end - 1 to the state, which is None at first.
    """
    cache = _cache_of(curve)
    until, state = cache.folds.get((quantity, first), (first, None))
    if until <= last:
        until, state = cache.folds[quantity, first] = last + 1, fold(state, until, last + 1)
    if until == last + 1 and state is not None:
        result: State = state
        return result
    # The rows end before those of an earlier call.
    return _cached(cache, (quantity, first, last), lambda: fold(None, first, last + 1))


def _cached(cache: _ColumnCache, key: Hashable, compute: Callable[[], State]) -> State:
    try:
        result: State = cache.results[key]
    except KeyError:
        result = cache.results[key] = compute()
    return result


def extreme(curve: Curve, incident: Incident, highest: bool = True) -> tuple[float, int]:
    """Return (value, step) of the highest or lowest point; (NaN, first step) if no value is finite."""
    value, row = fold_rows(
        curve,
        ("extreme", highest),
        incident.first,
        incident.last,
        lambda state, begin, end: _more_extreme(state, curve.values[begin:end], begin, highest),
    )
    return value, int(curve.steps[row])


def extreme_level(curve: Curve, first: int, last: int, highest: bool) -> tuple[float, int]:
    """Return (value, row) of the highest or lowest median of nine in the rows first … last; NaN without any."""
    values, skipped = _without_gaps(curve, _cache_of(curve))

    def fold(state: tuple[float, int] | None, begin: int, end: int) -> tuple[float, int]:
        return _more_extreme(state, median_of_nine(values[: end - skipped], begin - skipped), begin, highest)

    return fold_rows(curve, ("level", highest), max(first, skipped), last, fold)


def first_level(curve: Curve) -> float:
    """Return the first median of nine; NaN if there are fewer than nine points."""
    values, _ = _without_gaps(curve, _cache_of(curve))
    return float(median_of_nine(values[:NINE], NINE - 1)[0]) if len(values) >= NINE else float("nan")


def _more_extreme(state: tuple[float, int] | None, values: Floats, begin: int, highest: bool) -> tuple[float, int]:
    """Return the extreme (value, row) of `state` and of the values whose first row is `begin`; the first of equals."""
    known = state or (float("nan"), begin)
    finite = np.isfinite(values)
    if not finite.any():
        return known
    row = int(np.where(finite, values, -np.inf).argmax() if highest else np.where(finite, values, np.inf).argmin())
    value = float(values[row])
    further = value > known[0] if highest else value < known[0]
    return (value, begin + row) if further or known[0] != known[0] else known


def median_of_rows(curve: Curve, first: int, last: int) -> float:
    """Return the median of the finite values of the rows first … last; NaN without any."""

    def compute() -> float:
        values = curve.values[max(0, first) : last + 1]
        finite = values[np.isfinite(values)]
        return float(np.median(finite)) if len(finite) else float("nan")

    return _cached(_cache_of(curve), ("median", first, min(last, len(curve) - 1)), compute)


def mean_of_rows(curve: Curve, first: int, last: int) -> float:
    """Return the mean of the finite values of the rows first … last; NaN without any."""
    values = curve.values[max(0, first) : last + 1]
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def changes_from_start(curve: Curve, rule: AgainstStart) -> Iterator[tuple[Incident, float]]:
    """Yield (incident from its onset on, level of the start)."""
    for incident in from_onsets(curve, rule, falls=rule.falls):
        yield incident, median_of_rows(curve, rule.skip, rule.skip + rule.baseline - 1)


def graded_changes(
    curve: Curve, severe: AgainstStart, mild: BlocksAgainstStart
) -> Iterator[tuple[Incident, float, int | None]]:
    """Yield (incident of either rule from its onset on, level of the start, row at which it became severe or None)."""
    severe_changes = list(changes_from_start(curve, severe))
    changes = list(severe_changes)
    end = 0
    for incident in incidents(curve, mild):
        usual = median_of_rows(curve, mild.skip, mild.skip + mild.baseline - 1)
        level = median_of_rows(curve, incident.raised - mild.raise_after + 1, incident.raised)
        low, high = sorted((usual - (level - usual) / 2, level + (level - usual) / 2))  # despite evaluations
        row = onset_row(curve, incident.raised, end, falls=mild.falls, within=(low, high))
        # The median of three blocks passes the limit about two blocks after the values.
        last = incident.last if incident.cleared is None else incident.last - 2 * BLOCK
        changes.append((incident._replace(first=min(row, incident.first), last=last), usual))
        end = incident.last + 1
    for incident, usual in merged(changes):
        end = len(curve) if incident.cleared is None else incident.cleared
        became_severe = (other.raised for other, _ in severe_changes if incident.raised <= other.raised <= end)
        yield incident, usual, next(became_severe, None)


def changes_from_settled(curve: Curve, rule: AgainstSettled) -> Iterator[tuple[Incident, float]]:
    """Yield (incident from its onset on, settled level before it)."""
    values, skipped = _without_gaps(curve, _cache_of(curve))
    found = incidents(curve, rule)
    for incident, moved in zip(found, from_onsets(curve, rule, falls=rule.falls), strict=True):
        yield moved, rule.level(values, incident.first - skipped)


def from_onsets(curve: Curve, rule: Rule, *, falls: bool = False) -> Iterator[Incident]:
    """Yield the incidents of a rule, each from its onset on: medians pass a limit some rows after the values change."""
    end = 0
    for incident in incidents(curve, rule):
        yield incident._replace(first=onset_row(curve, incident.first, end, falls=falls))
        end = incident.last + 1


def onset_row(
    curve: Curve, row: int, begin: int = 0, *, falls: bool = False, within: tuple[float, float] | None = None
) -> int:
    """Return the row, at most `row`, at which the values that have left their level at `row` began to leave it.

    It is searched in the second half of the rows up to `row`, and not before `begin`. Later rows are not read, so that
    the result stays the same while the curve grows. within: limits beyond which a value counts as these.
    """
    values, skipped = _without_gaps(curve, _cache_of(curve))
    begin = max((row - skipped) // 2, begin - skipped)

    def compute() -> int:
        searched = values[begin : row - skipped + 1]
        index = onset(searched if within is None else np.clip(searched, within[0], within[1]), falls=falls)
        return row if index is None else skipped + begin + index

    return _cached(_cache_of(curve), ("onset", row, begin, falls, within), compute)


def merged(changes: Iterable[tuple[Incident, State]]) -> list[tuple[Incident, State]]:
    """Return the incidents of several rules on a curve, each with its data, without any that was raised during another.

    An incident lasts until the last incident that was raised during it is over. It keeps its onset and its data, so
    that it stays the same incident while the curve grows.
    """
    result: list[tuple[Incident, State]] = []
    for incident, data in sorted(changes, key=lambda change: change[0].raised):
        lead = result[-1][0] if result else None
        if lead is None or (lead.cleared is not None and incident.raised > lead.cleared):
            result.append((incident, data))
            continue
        ends = None if lead.cleared is None or incident.cleared is None else max(lead.cleared, incident.cleared)
        result[-1] = lead._replace(last=max(lead.last, incident.last), cleared=ends), result[-1][1]
    return result


def reached_level(curve: Curve, incident: Incident, highest: bool) -> float:
    """Return the highest or lowest median of nine of an incident, beginning with the row at which it was raised."""
    return extreme_level(curve, incident.raised, max(incident.raised, incident.last), highest)[0]


def rows_of_level(curve: Curve, change: Incident, usual: float, points: int) -> tuple[int, int]:
    """Return (first row, last row) of the points whose median is the level after a change from `usual`.

    They are all points since a sudden change, or the last `points` if the level has changed further since.
    """
    last = change.last
    latest = max(change.first, last - points + 1)

    def compute() -> int:
        begin = max(change.first - points, 0)
        level = median_of_rows(curve, latest, last)
        sudden = sudden_change(curve.values[begin : last + 1], usual, level)
        return latest if sudden is None else min(latest, begin + sudden.index)

    return _cached(_cache_of(curve), ("rows of level", change.first, last, points), compute), last


def first_and_last_level(curve: Curve, incident: Incident) -> tuple[float, float]:
    """Return the medians of points 16 to 31 of the run and of the last 16 points of the incident."""
    last = median_of_rows(curve, incident.last - _LEVEL_POINTS + 1, incident.last)
    return median_of_rows(curve, _LEVEL_POINTS, 2 * _LEVEL_POINTS - 1), last


def growth_onset(curve: Curve, incident: Incident, points: int) -> int:
    """Return the row at which growth began, among the last `points` rows up to that at which the incident was raised.

    Later rows are not read, so that the result stays the same while the curve grows.
    """
    values, skipped = _without_gaps(curve, _cache_of(curve))
    end = incident.raised - skipped + 1
    begin = max(0, end - points)

    def compute() -> int:
        width = -(-(end - begin) // _GROWTH_POINTS)
        start = end - (end - begin) // width * width
        return skipped + start + width * hinge(values[start:end].reshape(-1, width).mean(axis=1))

    return _cached(_cache_of(curve), ("growth", incident.raised, points), compute)


def last_finite(curve: Curve, row: int) -> float:
    """Return the value of a row, or the last finite value before it."""
    values, skipped = _without_gaps(curve, _cache_of(curve))
    return float(values[row - skipped])


def usual_level(curve: Curve, row: int) -> tuple[float, float]:
    """Return the usual (level, noise) at a row, as defined in analysis/windows.py."""
    cache = _cache_of(curve)
    values, skipped = _without_gaps(curve, cache)
    return _cached(cache, ("usual", row), lambda: usual_at(values, row - skipped))


def is_settled(curve: Curve, row: int, spread: float) -> bool:
    """Return whether the medians of the blocks of the usual level at a row differ by a factor of at most `spread`."""
    cache = _cache_of(curve)
    values, skipped = _without_gaps(curve, cache)
    end = row - skipped
    return _cached(
        cache, ("settled", row, spread), lambda: math.isfinite(settled(values[: end + 1], end, spread, BLOCKS)[0])
    )


def runaways(curve: Curve, rule: Runaway) -> Iterator[tuple[Incident, float]]:
    """Yield (incident from its onset on, usual level before it)."""
    for incident, moved in zip(incidents(curve, rule), from_onsets(curve, rule), strict=True):
        yield moved, usual_level(curve, incident.first)[0]
