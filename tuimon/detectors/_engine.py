"""The engine of the table of rules: checks the curves of a run and makes an alert of each incident.

A Rule has checks, or a function for what no single curve shows. Results for a curve are kept while it grows, so that a
new point costs the same at the end of a long run as at its beginning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.incidents import Incident, Incidents
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.windows import NINE, median_of_nine
from tuimon.detectors._scores import Change, Creep, Limit, Score, Spike
from tuimon.errors import UsageError
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.store import Curve, Run

_KINDS = {float: "finite number", int: "whole number of at least 1", str: "text", bool: "truth value"}
_LEFT = 0.75
_SEARCHED = 64
"""Rows before an incident in which its beginning is searched."""
_MOST_KEPT = 1024
"""Results of one curve that are kept."""


class Setting(Struct, frozen=True):
    """A number of a rule that the user may set."""

    name: str
    value: Any
    meaning: str


class Check(Struct, frozen=True):
    """A score for the metrics of concepts."""

    concepts: tuple[str, ...]
    score: Score
    severity: str = "warning"
    critical: float = math.inf
    """Score, as multiple of the way from the usual level to the limit, from which on the alert is critical."""
    names: str = ""
    """Expression that the names of the metrics have to match."""
    without: str = ""
    """Expression that they must not match."""
    all_names: bool = False
    """Whether all metrics of the concepts are checked, not only the best one."""
    unless: tuple[str, ...] = ()
    """Concepts of which no metric may be logged."""
    harmless: Callable[[Run, Curve, Incident], bool] | None = None
    """Whether an incident is no alert."""
    mild: Callable[[Run, Curve, Incident], bool] | None = None
    """Whether an incident is information."""


class Rule(Struct, frozen=True):
    """A row of the table: a detector."""

    id: str
    title: str
    text: str
    """The rule in two sentences, with the names of its settings in back quotes."""
    hint: str = ""
    settings: tuple[Setting, ...] = ()
    checks: Callable[[Any], tuple[Check, ...]] | None = None
    find: Callable[[Run, Rule, Any], Iterable[Alert]] | None = None
    find_at: Callable[[Run, Rule, Any, float], Iterable[Alert]] | None = None
    is_of_learning: bool = True
    """Whether it is about what is learned, so that its alerts are joined with others of the same incident."""

    @property
    def values(self) -> Any:
        """The settings as attributes."""
        return SimpleNamespace(**{own.name: own.value for own in self.settings})

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield the alerts of a run."""
        if self.find is not None:
            yield from self.find(run, self, self.values)
        if self.checks is not None:
            yield from self._of_curves(run, self.checks(self.values))

    def check_at(self, run: Run, now: float) -> Iterable[Alert]:
        """Return the alerts that depend on the time."""
        return self.find_at(run, self, self.values, now) if self.find_at is not None else ()

    def _of_curves(self, run: Run, checks: Iterable[Check]) -> Iterator[Alert]:
        found: dict[str, list[tuple[Incident, Check]]] = {}
        for check in checks:
            for curve in _checked(run, check):
                found.setdefault(curve.metric, []).extend((own, check) for own in incidents(curve, check.score))
        for metric, changes in found.items():
            curve = run.curve(metric)
            for incident, check in merged(changes):
                if check.harmless is None or not check.harmless(run, curve, incident):
                    yield alert_of(run, curve, incident, self, check)

    def with_values(self, values: Mapping[str, Any]) -> Rule:
        """Return the rule with other values of some settings."""
        return replace(self, settings=tuple(replace(s, value=values.get(s.name, s.value)) for s in self.settings))


def valid(value: Any, default: Any, where: str) -> Any:
    """Return a value of the kind of the default. UsageError if it is of another kind or out of range."""
    kind = type(default)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (kind is int and value < 1) or (kind is float and not math.isfinite(value)):
        raise UsageError(f"{where} must be a {_KINDS[kind]}, not {value!r}")
    return value


def _checked(run: Run, check: Check) -> Iterator[Curve]:
    if any(metrics_of(run, concept) for concept in check.unless):
        return
    for concept in check.concepts:
        for metric in metrics_of(run, concept, all_names=check.all_names):
            if re.search(check.names, metric) and not (check.without and re.search(check.without, metric)):
                yield run.curve(metric)


class _Kept:
    """Results that are kept for a growing curve."""

    __slots__ = ("filled", "filled_rows", "folds", "incidents")

    def __init__(self) -> None:
        self.filled: Floats = np.empty(0)
        """Values with gaps filled, valid in the first `filled_rows` rows."""
        self.filled_rows = 0
        self.incidents: dict[Any, Incidents] = {}
        self.folds: dict[Any, tuple[int, Any]] = {}
        """(row, result) by (quantity, score, row)."""


_AT_ONCE = 1 << 15
"""Points that are examined together: windows of 144 values of a million points at once would take 1.1 GB."""
_kept: WeakKeyDictionary[object, _Kept] = WeakKeyDictionary()


def _kept_of(curve: Curve) -> _Kept:
    kept = _kept.setdefault(curve.lineage, _Kept())
    if len(kept.folds) > _MOST_KEPT:
        kept.folds.clear()
    return kept


def incidents(curve: Curve, score: Score) -> tuple[Incident, ...]:
    """Return the incidents of a score, as rows of the curve. Only points added since the last call are examined."""
    kept = _kept_of(curve)
    values, skipped = filled(curve)
    known = kept.incidents.get(score)
    if known is None or known.length > len(values):
        known = Incidents()
    extended = known
    for end in (*range(known.length + _AT_ONCE, len(values), _AT_ONCE), len(values)):
        extended = extended.extended(values[:end], score)
    if extended.length >= kept.incidents.get(score, known).length:
        kept.incidents[score] = extended
    return tuple(incident.shifted(skipped) for incident in extended.incidents)


def filled(curve: Curve) -> tuple[Floats, int]:
    """Return (values from the first finite one on, the last finite value in place of gaps; points before them)."""
    tally = curve.tally
    if not len(tally.bad_starts):
        return curve.values, 0
    kept = _kept_of(curve)
    if kept.filled_rows < len(curve):
        rows = tally.finite_until(np.arange(kept.filled_rows, len(curve)))
        if kept.filled.size < len(curve):  # with spare room, so that not every new point copies the array
            kept.filled = np.concatenate((kept.filled[: kept.filled_rows], np.empty(len(curve))))
        kept.filled[kept.filled_rows : len(curve)] = np.where(rows >= 0, curve.values[rows], np.nan)
        kept.filled_rows = len(curve)
    skipped = int(tally.finite_from(np.zeros(1, np.int64))[0])
    return kept.filled[skipped : len(curve)], skipped


def merged(changes: Iterable[tuple[Incident, Any]]) -> list[tuple[Incident, Any]]:
    """Return the incidents of several checks of a curve without any that was raised during another.

    An incident lasts until the last one that was raised during it is over, and keeps its beginning.
    """
    result: list[tuple[Incident, Any]] = []
    for incident, data in sorted(changes, key=lambda change: change[0].raised):
        lead = result[-1][0] if result else None
        if lead is None or (lead.cleared is not None and incident.raised > lead.cleared):
            result.append((incident, data))
            continue
        ends = None if lead.cleared is None or incident.cleared is None else max(lead.cleared, incident.cleared)
        result[-1] = lead._replace(last=max(lead.last, incident.last), cleared=ends), result[-1][1]
    return result


class Extent(Struct, frozen=True):
    """What an incident of a curve has reached."""

    peak: float
    """The finite value that is farthest on the bad side; NaN without any."""
    peak_row: int
    latest: int
    """Row of the newest value beyond the limit."""
    count: int
    """Number of values beyond the limit."""
    points: int
    """Number of values."""


def extent(curve: Curve, first: int, last: int, bound: float, falls: bool) -> Extent:
    """Return the extent of the rows first … last."""
    values = curve.values[first : last + 1]
    finite = np.where(np.isfinite(values), -values if falls else values, -np.inf)
    row = int(finite.argmax())
    peak = float(values[row]) if finite[row] > -np.inf else math.nan
    beyond = np.flatnonzero(values < bound if falls else values > bound)
    latest = first + int(beyond[-1]) if len(beyond) else first
    return Extent(peak, first + row, latest, len(beyond), int((~np.isnan(values)).sum()))


def alert_of(run: Run, curve: Curve, incident: Incident, rule: Rule, check: Check) -> Alert:
    """Return the alert of an incident.

    - Of a limit, `value` is the farthest value; else the newest one beyond the limit, or the farthest if it is over.
    - It begins in the middle of the nine points whose median was the first beyond the limit.
    """
    score = check.score
    kept, key = _kept_of(curve), ("at", score, incident.first)
    if key not in kept.folds:
        values, skipped = filled(curve)
        is_smooth = not isinstance(score, Limit) or score.smooth
        begun = _beginning(curve, incident.first, score) if is_smooth else incident.first
        kept.folds[key] = begun, score.at(values, incident.first - skipped)
    first, (usual, bound) = kept.folds[key]
    is_over = incident.cleared is not None
    last = incident.last if is_over else len(curve) - 1
    own = extent(curve, first, last, bound, score.falls)
    meaning = meaning_of(run, curve.metric)
    scale, unit = (meaning.scale, meaning.unit) if meaning.concept.startswith("time") else (1.0, "")
    row = own.peak_row if usual is None or is_over or isinstance(score, Spike) else own.latest
    value = float(curve.values[row])
    far = (own.peak - usual) / (bound - usual) if usual is not None and bound != usual else 0.0
    is_mild = check.mild is not None and check.mild(run, curve, incident)
    if usual is not None:
        what = "jumped" if isinstance(score, Spike) else "fallen" if score.falls else "risen"
    else:
        what = "zero" if score.falls and own.peak == 0 else "below" if score.falls else "above"
    return Alert(
        rule.id,
        "info" if is_mild else "critical" if far >= check.critical else check.severity,
        run.id,
        curve.metric,
        int(curve.steps[first]),
        hint=rule.hint,
        until=int(curve.steps[incident.last]) if is_over else None,
        what=what,
        value=value * scale,
        usual=None if usual is None else usual * scale,
        limit=bound * scale,
        extreme=int(curve.steps[row]) if row != len(curve) - 1 or usual is None else None,
        count=own.count if usual is None else None,
        points=own.points if usual is None else None,
        unit=unit,
    )


def _beginning(curve: Curve, row: int, score: Score) -> int:
    """Return the row at which the values left the usual level, at most `row`: medians follow half of nine rows later.

    It is that row before the first median that stays past _LEFT of the way to the limit.
    """
    values, skipped = filled(curve)
    end, sign = row - skipped + 1, -1.0 if score.falls else 1.0
    begin = max(0, end - _SEARCHED)
    if isinstance(score, Limit):
        left = np.full(end - begin, score.limit)
    elif isinstance(score, Change):
        usual, bound = score.baseline(values[:end], begin)
        left = usual + _LEFT * (bound - usual)
    else:
        return row
    inside = np.flatnonzero(~(sign * median_of_nine(values[:end], begin) >= sign * left))
    first = begin + (int(inside[-1]) + 1 if len(inside) else 0)
    return min(row, skipped + max(0, first - NINE // 2))


def growth_begun(curve: Curve, incident: Incident, score: Creep) -> int:
    """Return the row at which the line begins that raised an incident; it is searched once."""
    kept, key = _kept_of(curve), ("growth", score, incident.raised)
    if key not in kept.folds:
        values, skipped = filled(curve)
        kept.folds[key] = skipped + score.begun(values, incident.raised - skipped), None
    return kept.folds[key][0]


def level_of(curve: Curve, end: int) -> float:
    """Return the median of the last nine finite values before a row; NaN without any."""
    values = curve.values[max(0, end - NINE) : end]
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else math.nan
