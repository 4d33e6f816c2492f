"""The engine of the table of rules: checks the curves of a run and makes an alert of each incident.

A Rule has checks, or a function for what no single curve shows. Results for a curve are kept while it grows, so that a
new point costs the same at the end of a long run as at its beginning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.metric_filter import chosen
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.windows import NINE
from tuimon.detectors._incidents import Incident, Incidents
from tuimon.detectors._scores import Score, Spike
from tuimon.errors import UsageError
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.store import Curve, Run
from tuimon.vocabulary import concepts

_KINDS = {float: "finite number", int: "whole number of at least 1", str: "text", bool: "truth value"}


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
    critical_ratio: float = math.inf
    """Level, relative to the usual one, from which on it is critical."""
    names: str = ""
    """Expression that the names of the metrics have to match."""
    without: str = ""
    """Expression that they must not match."""
    all_names: bool = False
    """Whether all metrics of the concepts are checked, not only the best one."""
    unless: tuple[str, ...] = ()
    """Concepts of which no metric may be logged."""
    pattern: str = ""
    """In place of concepts: name, concept or pattern of the metrics, as the user has written it."""
    least: float = 0.0
    """Least length of an incident."""
    unit: str = "steps"
    """That of `least`: steps | s."""
    is_condition: bool = False
    """Whether the words of the alert are those of a condition of the user."""
    harmless: Callable[[Run, Curve, Incident], bool] | None = None
    """Whether an incident is no alert."""
    mild: Callable[[Run, Curve, Incident], bool] | None = None
    """Whether an incident is information."""


class Rule(Struct, frozen=True, dict=True):
    """A row of the table: a detector."""

    id: str
    title: str
    text: str = ""
    """The rule in two sentences, with the names of its settings in back quotes."""
    hint: str = ""
    settings: tuple[Setting, ...] = ()
    checks_of: Callable[[Mapping[str, Any]], tuple[Check, ...]] = lambda values: ()
    """Gives the checks for the values of the settings."""
    find: Callable[[Run, Rule, Mapping[str, Any]], Iterable[Alert]] | None = None
    find_at: Callable[[Run, Rule, Mapping[str, Any], float], Iterable[Alert]] | None = None
    complete: Callable[[Run, Curve, Alert], Alert] | None = None
    """Adds to an alert what the values of the curve do not show."""
    joins: str = ""
    """Alerts of rules with the same word are joined if they are of one incident; "" for none."""

    @cached_property
    def values(self) -> dict[str, Any]:
        """The settings by their names."""
        return {own.name: own.value for own in self.settings}

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The checks with the values of the settings."""
        return self.checks_of(self.values)

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield the alerts of a run."""
        if self.find is not None:
            yield from self.find(run, self, self.values)
        found: dict[str, list[tuple[Incident, Check]]] = {}
        for check in self.checks:
            for metric in self.metrics(run, check):
                own = incidents(run.curve(metric), check.score)
                found.setdefault(metric, []).extend((incident, check) for incident in own)
        for metric, changes in found.items():
            curve = run.curve(metric)
            for incident, check in _merged(changes):
                is_long = not check.least or _span(curve, incident, check.unit) >= check.least
                if is_long and not (check.harmless and check.harmless(run, curve, incident)):
                    alert = self.alert_of(run, curve, incident, check)
                    yield alert if self.complete is None else self.complete(run, curve, alert)

    def check_at(self, run: Run, now: float) -> Iterable[Alert]:
        """Return the alerts that depend on the time."""
        return self.find_at(run, self, self.values, now) if self.find_at is not None else ()

    def metrics(self, run: Run, check: Check) -> Iterator[str]:
        """Yield the metrics of a check."""
        if any(metrics_of(run, concept) for concept in check.unless):
            return
        if check.pattern:
            yield from named_metrics(run, check.pattern)
        for concept in check.concepts:
            for metric in metrics_of(run, concept, all_names=check.all_names):
                if re.search(check.names, metric) and not (check.without and re.search(check.without, metric)):
                    yield metric

    def alert_of(self, run: Run, curve: Curve, own: Incident, check: Check) -> Alert:
        """Return the alert of an incident.

        - Of a limit, `value` is the farthest value; else the newest one beyond the limit, or the farthest if it is
          over.
        - It begins in the middle of the nine points whose median was the first beyond the limit.
        """
        begun, usual, bound = own.begun
        falls, is_over, is_limit = check.score.falls, own.cleared is not None, own.begun.usual is None
        values = curve.values[begun : own.last + 1 if is_over else len(curve)]
        finite = np.where(np.isfinite(values), -values if falls else values, -np.inf)
        top = int(finite.argmax())
        peak = float(values[top]) if finite[top] > -np.inf else math.nan
        beyond = np.flatnonzero(values < bound if falls else values > bound)
        latest = int(beyond[-1]) if len(beyond) else 0
        row = begun + (top if is_limit or is_over or isinstance(check.score, Spike) else latest)
        meaning = meaning_of(run, curve.metric)
        scale, unit = (meaning.scale, meaning.unit) if meaning.concept.startswith("time") else (1.0, "")
        severity = check.severity
        if usual is not None and bound != usual and (peak - usual) / (bound - usual) >= check.critical:
            severity = "critical"
        if usual is not None and peak >= check.critical_ratio * usual > 0:
            severity = "critical"
        if check.mild is not None and check.mild(run, curve, own):
            severity = "info"
        return Alert(
            self.id,
            severity,
            run.id,
            curve.metric,
            int(curve.steps[begun]),
            hint=self.hint,
            until=int(curve.steps[own.last]) if is_over else None,
            what="condition" if check.is_condition else check.score.change(peak),
            value=float(curve.values[row]) * scale,
            usual=None if usual is None else usual * scale,
            limit=bound * scale,
            extreme=int(curve.steps[row]) if row != len(curve) - 1 or is_limit else None,
            count=len(beyond) if is_limit else None,
            points=int((~np.isnan(values)).sum()) if is_limit else None,
            unit=unit,
        )

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


class _Kept:
    """Results that are kept for a growing curve."""

    __slots__ = ("filled", "incidents")

    def __init__(self) -> None:
        self.filled: Floats = np.empty(0)
        """Values with gaps filled."""
        self.incidents: dict[Score, Incidents] = {}


_AT_ONCE = 1 << 15
"""Points that are examined together: windows of 144 values of a million points at once would take 1.1 GB."""
_kept: WeakKeyDictionary[object, _Kept] = WeakKeyDictionary()


def incidents(curve: Curve, score: Score) -> tuple[Incident, ...]:
    """Return the incidents of a score, as rows of the curve. Only points added since the last call are examined."""
    kept = _kept.setdefault(curve.lineage, _Kept())
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
    kept = _kept.setdefault(curve.lineage, _Kept())
    if len(kept.filled) < len(curve):
        rows = tally.finite_until(np.arange(len(kept.filled), len(curve)))
        kept.filled = np.concatenate((kept.filled, np.where(rows >= 0, curve.values[rows], np.nan)))
    skipped = int(tally.finite_from(np.zeros(1, np.int64))[0])
    return kept.filled[skipped : len(curve)], skipped


def _span(curve: Curve, incident: Incident, unit: str) -> float:
    """Return the length of an incident in steps, including the first, or in seconds (0 if unknown)."""
    if unit == "steps":
        return float(curve.steps[incident.last] - curve.steps[incident.first]) + 1
    span = float(curve.wall_times[incident.last] - curve.wall_times[incident.first])
    return span if math.isfinite(span) else 0.0


def named_metrics(run: Run, pattern: str) -> list[str]:
    """Return the metric of that name, or those of the concept with that id or label, or those that match a pattern."""
    if pattern in run.metrics:
        return [pattern]
    ids = concept_ids(pattern)
    of_concept = [m for id in ids for m in metrics_of(run, id, "val" if id.endswith(".val") else "train")]
    return of_concept or sorted(chosen(run.metrics, [pattern])[0])


def concept_ids(name: str) -> list[str]:
    """Return the ids of the concepts whose id or label is a name."""
    return [concept.id for concept in concepts() if name in (concept.id, concept.label)]


def _merged(changes: Iterable[tuple[Incident, Any]]) -> list[tuple[Incident, Any]]:
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


def level_of(curve: Curve, end: int) -> float:
    """Return the median of the last nine finite values before a row; NaN without any."""
    values = curve.values[max(0, end - NINE) : end]
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else math.nan
