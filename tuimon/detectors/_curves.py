"""What detectors of single curves share: what a rule has found in one, and the words that tell it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from tuimon.analysis.incidents import Incident, Incidents, Rule
from tuimon.analysis.windows import usual_at
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.store import Curve, Run


class _Seen:
    """What is kept for a growing column: its values without gaps, and what each rule has found in them."""

    __slots__ = ("filled", "found", "skipped")

    def __init__(self) -> None:
        self.filled: Floats | None = None
        self.skipped = 0
        self.found: dict[Rule, Incidents] = {}


_seen: WeakKeyDictionary[object, _Seen] = WeakKeyDictionary()


def incidents(curve: Curve, rule: Rule) -> tuple[Incident, ...]:
    """What a rule finds in a curve, as rows of it. Only points that have come since the last call are looked at."""
    seen = _seen.setdefault(curve.lineage, _Seen())
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
    if seen.filled is None or seen.filled.size > len(curve):
        seen.filled = np.empty(0)
    if seen.filled.size < len(curve):
        rows = tally.finite_until(np.arange(seen.filled.size, len(curve)))
        seen.filled = np.concatenate((seen.filled, np.where(rows >= 0, curve.values[rows], np.nan)))
    skipped = int(tally.finite_from(np.zeros(1, np.int64))[0])
    return seen.filled[skipped:], skipped


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


def extreme(curve: Curve, incident: Incident, highest: bool = True) -> tuple[float, int]:
    """(value, step) of the highest or lowest point of an incident."""
    inside = curve.values[incident.first : incident.last + 1]
    finite = np.isfinite(inside)
    if not finite.any():
        return float("nan"), int(curve.steps[incident.first])
    at = int(np.where(finite, inside, -np.inf).argmax() if highest else np.where(finite, inside, np.inf).argmin())
    return float(inside[at]), int(curve.steps[incident.first + at])


def middle(curve: Curve, first: int, last: int) -> float:
    """The median of the finite values of rows first … last; NaN for none."""
    inside = curve.values[max(0, first) : last + 1]
    finite = inside[np.isfinite(inside)]
    return float(np.median(finite)) if len(finite) else float("nan")


def level_at(curve: Curve, row: int) -> tuple[float, float]:
    """(level, noise) that were usual at a row; see windows.usual."""
    values, skipped = _without_gaps(curve, _seen.setdefault(curve.lineage, _Seen()))
    return usual_at(values, row - skipped)


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
