"""What detectors of single curves share: what a rule has found in one, and the words that tell it.

Whatever is worked out over the points of an incident is carried on when it grows, and kept when it is over: a check
costs the same at the end of a long run as at its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tuimon.analysis.incidents import Incident, Incidents, Rule
from tuimon.analysis.windows import NINE, median_of_nine, usual_at
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.store import Curve, Run

State = TypeVar("State")
_SHARE = 16
"""Points that a level before and after is the median of."""
_MOST_KEPT = 1024
"""States of stretches of one column."""


class _Seen:
    """What is kept for a growing column."""

    __slots__ = ("filled", "found", "known", "known_rows", "running")

    def __init__(self) -> None:
        self.filled: Floats = np.empty(0)
        """Its values without gaps, in the first `known_rows` rows."""
        self.known_rows = 0
        self.found: dict[Rule, Incidents] = {}
        """What each rule has found in them."""
        self.known: dict[Hashable, Any] = {}
        """By (what, first row, last row): what `carried` has worked out …"""
        self.running: dict[Hashable, tuple[int, Any]] = {}
        """… and by (what, first row) the row up to which it has, with the state there."""


_seen: WeakKeyDictionary[object, _Seen] = WeakKeyDictionary()


def _seen_of(curve: Curve) -> _Seen:
    seen = _seen.setdefault(curve.lineage, _Seen())
    if len(seen.running) + len(seen.known) > _MOST_KEPT:
        seen.running.clear()
        seen.known.clear()
    return seen


def incidents(curve: Curve, rule: Rule) -> tuple[Incident, ...]:
    """What a rule finds in a curve, as rows of it. Only points that have come since the last call are looked at."""
    seen = _seen_of(curve)
    values, skipped = _without_gaps(curve, seen)
    known = seen.found.get(rule)
    if known is None or known.length > len(values):
        known = Incidents()
    found = known.extended(values, rule)
    if found.length >= seen.found.get(rule, known).length:
        seen.found[rule] = found
    if not skipped:
        return found.found
    return tuple(
        Incident(one.first + skipped, one.raised + skipped, one.last + skipped, one.cleared and one.cleared + skipped)
        for one in found.found
    )


def _without_gaps(curve: Curve, seen: _Seen) -> tuple[Floats, int]:
    """(values of which those that are not finite are the finite one before them, points before the first finite)."""
    tally = curve.tally
    if not len(tally.bad_starts):
        return curve.values, 0
    if seen.known_rows < len(curve):
        rows = tally.finite_until(np.arange(seen.known_rows, len(curve)))
        if seen.filled.size < len(curve):  # room for more: the whole is not copied at every point
            seen.filled = np.concatenate((seen.filled[: seen.known_rows], np.empty(len(curve))))
        seen.filled[seen.known_rows : len(curve)] = np.where(rows >= 0, curve.values[rows], np.nan)
        seen.known_rows = len(curve)
    skipped = int(tally.finite_from(np.zeros(1, np.int64))[0])
    return seen.filled[skipped : len(curve)], skipped


def alert(run: Run, curve: Curve, incident: Incident, rule: str, severity: str, message: str, hint: str = "") -> Alert:
    """The alert of an incident on a curve; the message gets when it was."""
    until = int(curve.steps[incident.last]) if incident.cleared is not None else None
    first = int(curve.steps[incident.first])
    return Alert(rule, severity, run.id, curve.metric, first, f"{message} {when(curve, incident)}", hint, until)


def when(curve: Curve, incident: Incident) -> str:
    """ "since step 36", "from step 36 to 41", "at step 36"."""
    first, last = int(curve.steps[incident.first]), int(curve.steps[incident.last])
    if incident.cleared is None:
        return f"since step {first}"
    return f"at step {first}" if first == last else f"from step {first} to {last}"


def verb(incident: Incident, now: str, past: str) -> str:
    """Which of the two forms tells of it."""
    return now if incident.cleared is None else past


def carried(
    curve: Curve, what: Hashable, first: int, last: int, fold: Callable[[State | None, int, int], State]
) -> State:
    """What `fold` makes of the rows first … last: fold(state or None at first, begin, end) takes in rows begin … end -
    1. Rows that it has taken in at an earlier call are not looked at again."""
    seen = _seen_of(curve)
    until, state = seen.running.get((what, first), (first, None))
    if until <= last:
        until, state = seen.running[what, first] = last + 1, fold(state, until, last + 1)
    if until == last + 1 and state is not None:
        found: State = state
        return found
    return _kept(seen, (what, first, last), lambda: fold(None, first, last + 1))  # ends before one asked for earlier


def _kept(seen: _Seen, what: Hashable, make: Callable[[], State]) -> State:
    """What was made of some rows once: rows do not change."""
    try:
        known: State = seen.known[what]
    except KeyError:
        known = seen.known[what] = make()
    return known


def extreme(curve: Curve, incident: Incident, highest: bool = True) -> tuple[float, int]:
    """(value, step) of the highest or lowest point of an incident; NaN and its first step where none is finite."""
    value, row = carried(
        curve,
        ("extreme", highest),
        incident.first,
        incident.last,
        lambda state, begin, end: _further(state, curve.values[begin:end], begin, highest),
    )
    return value, int(curve.steps[row])


def extreme_level(curve: Curve, first: int, last: int, highest: bool) -> tuple[float, int]:
    """(value, row) of the highest or lowest median of nine of the rows first … last; NaN where there is none."""
    values, skipped = _without_gaps(curve, _seen_of(curve))

    def fold(state: tuple[float, int] | None, begin: int, end: int) -> tuple[float, int]:
        return _further(state, median_of_nine(values[: end - skipped], begin - skipped), begin, highest)

    return carried(curve, ("level", highest), max(first, skipped), last, fold)


def first_level(curve: Curve) -> float:
    """The first median of nine there is; NaN before."""
    values, _ = _without_gaps(curve, _seen_of(curve))
    return float(median_of_nine(values[:NINE], NINE - 1)[0]) if len(values) >= NINE else float("nan")


def _further(state: tuple[float, int] | None, values: Floats, begin: int, highest: bool) -> tuple[float, int]:
    """The extreme (value, row) so far and that of the values that begin in row `begin`; of equal ones the first."""
    known = state or (float("nan"), begin)
    finite = np.isfinite(values)
    if not finite.any():
        return known
    at = int(np.where(finite, values, -np.inf).argmax() if highest else np.where(finite, values, np.inf).argmin())
    found = float(values[at])
    further = found > known[0] if highest else found < known[0]
    return (found, begin + at) if further or known[0] != known[0] else known


def middle(curve: Curve, first: int, last: int) -> float:
    """The median of the finite values of rows first … last; NaN for none."""

    def make() -> float:
        inside = curve.values[max(0, first) : last + 1]
        finite = inside[np.isfinite(inside)]
        return float(np.median(finite)) if len(finite) else float("nan")

    return _kept(_seen_of(curve), ("middle", first, min(last, len(curve) - 1)), make)


def levels(curve: Curve, incident: Incident) -> tuple[float, float]:
    """The median of the first points of the run, without the very first, and of the last of the incident."""
    return middle(curve, _SHARE, 2 * _SHARE - 1), middle(curve, incident.last - _SHARE + 1, incident.last)


def level_at(curve: Curve, row: int) -> tuple[float, float]:
    """(level, noise) that were usual at a row; see windows.usual."""
    seen = _seen_of(curve)
    values, skipped = _without_gaps(curve, seen)
    return _kept(seen, ("usual", row), lambda: usual_at(values, row - skipped))


def risen(curve: Curve, incident: Incident) -> str:
    """The sentence of a runaway: "kl has risen to 0.58, 9.4 times the usual 0.062,"."""
    now, (level, _) = middle(curve, incident.raised - 8, incident.raised), level_at(curve, incident.first)
    against = f"{now / level:.3g} times the" if level > 0 else "against a"
    way = verb(incident, "has risen", "rose")
    return f"{curve.metric} {way} to {number(now)}, {against} usual {number(level)},"


def number(value: float) -> str:
    """Four digits: "0.5123", "1.2e-05", "12345"."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def percent(part: float) -> str:
    """ "61 %", "0.4 %"."""
    return f"{100 * part:.0f} %" if abs(part) >= 0.095 else f"{100 * part:.2g} %"
