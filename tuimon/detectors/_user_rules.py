"""Rules of the user, as data: `reward < 0.1 for 20 steps`.

    NAME  <  |  <=  |  >  |  >=   NUMBER  [for N points | steps | s | min | h]

NAME is a metric as it is logged; or the id or the label of a concept of the vocabulary (reward.train, reward, grad
norm), which means its best series; or else a pattern as the screen's filter and --metric take it, which means every
metric that matches, also in a part of its name (analysis/metric_filter.py). Without `for`, one point is enough. An
incident is over at the first point that does not meet the condition; without `for` at the third in a row, because a
curve that crosses a limit often does so several times. The message of one that is active has the step from which on all
points meet the condition.

Incidents of several metrics of a run that overlap are one alert: that of the first metric, which names them all. The
others remain as information, so that their metrics keep their marks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.metric_filter import chosen, nearest, no_match
from tuimon.detectors._engine import Check, Rule
from tuimon.detectors._incidents import Incident
from tuimon.detectors._scores import Limit
from tuimon.errors import UsageError
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.store import Curve, Run
from tuimon.text import clean
from tuimon.vocabulary import concepts

_RULE = re.compile(
    r"\s*(?P<name>\S.*?)\s*(?P<sign><=|>=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"(?:\s+for\s+(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>points?|steps?|s|min|h))?\s*"
)
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_EXAMPLE = (
    'example: "reward < 0.1 for 20 steps" (a name, < <= > or >=, a number, optionally for N points, steps, s, min or h)'
)


class UserRule(Rule, frozen=True):
    """A rule of the user: a row whose metrics are named by the user."""

    name: str = ""
    count: float = 1.0
    unit: str = "points"
    """points | steps | s."""

    def metrics(self, run: Run, check: Check) -> Iterator[str]:
        yield from self.metrics_in(run)

    def check(self, run: Run) -> Iterator[Alert]:
        for alert in Rule.check(self, run):
            yield replace(alert, what="condition")

    def is_alert(self, curve: Curve, incident: Incident) -> bool:
        return self.unit == "points" or _span(curve, incident, self.unit) >= self.count

    def metrics_in(self, run: Run) -> list[str]:
        """Return the metrics that the rule checks; without any, it can never raise an alert."""
        return self._named_in(run) or sorted(chosen(run.metrics, [self.name])[0])

    def _named_in(self, run: Run) -> list[str]:
        """Return the metric with this name, or those of the concept."""
        if self.name in run.metrics:
            return [self.name]
        return [m for id in self._concept_ids for m in metrics_of(run, id, "val" if id.endswith(".val") else "train")]

    @property
    def _concept_ids(self) -> list[str]:
        """Ids of the concepts whose id or label is the name."""
        return [concept.id for concept in concepts() if self.name in (concept.id, concept.label)]

    @property
    def is_concept(self) -> bool:
        """Whether the name is the id or label of a concept: no typo, even if this kind of run has no such metric."""
        return bool(self._concept_ids)

    def matched_by_pattern(self, runs: Sequence[Run]) -> list[str]:
        """Return the metrics that the rule checks because they match a pattern, not by their name or concept."""
        return sorted({metric for run in runs if not self._named_in(run) for metric in self.metrics_in(run)})


def _span(curve: Curve, incident: Incident, unit: str) -> float:
    """Return the length of an incident in steps, including the first, or in seconds (0 if unknown)."""
    if unit == "steps":
        return float(curve.steps[incident.last] - curve.steps[incident.first]) + 1
    span = float(curve.wall_times[incident.last] - curve.wall_times[incident.first])
    return span if math.isfinite(span) else 0.0


class UnmatchedRule(NamedTuple):
    """A rule whose name matches no metric of any run."""

    rule: str
    reason: str
    """Why it matches none, with the names that are most similar to that of the rule."""
    is_like_another: bool
    """Whether there are such names, so that the name is probably misspelled."""
    is_concept: bool
    """Whether the name is the id or label of a concept, see UserRule.is_concept."""

    @property
    def message(self) -> str:
        """The rule and the reason."""
        return f"{self.rule}: {self.reason}"


def unmatched_rules(rules: Sequence[str | Mapping[str, Any] | UserRule], runs: Sequence[Run]) -> list[UnmatchedRule]:
    """Return the valid rules of the user whose names match no metric of any run."""
    found = []
    for rule in (own if isinstance(own, UserRule) else detector_of(own, "[[rules]]") for own in rules):
        if not any(rule.metrics_in(run) for run in runs):
            labels = (concept.label for concept in concepts() if any(metrics_of(run, concept.id) for run in runs))
            names = [*labels, *dict.fromkeys(name for run in runs for name in run.metrics)]
            reason, near = no_match(rule.name, names), nearest(rule.name, names)
            found.append(UnmatchedRule(clean(rule.id), reason, bool(near), rule.is_concept))
    return found


def detector_of(rule: str | Mapping[str, Any], where: str) -> UserRule:
    """Build the detector of a rule: its text, or a table with `rule` and `severity`. UsageError if it is invalid."""
    table = {"rule": rule} if isinstance(rule, str) else rule
    unknown = sorted(set(table) - {"rule", "severity"})
    text, severity = table.get("rule"), table.get("severity", "warning")
    if unknown:
        raise UsageError(f"{where}: unknown key {clean(repr(unknown[0]))} in [[rules]]", "known keys: rule, severity")
    if not isinstance(text, str):
        raise UsageError(f"{where}: a table of [[rules]] needs a text `rule`", _EXAMPLE)
    if severity not in SEVERITIES:
        raise UsageError(f"{where}: severity must be one of {', '.join(SEVERITIES)}, not {severity!r}")
    match = _RULE.fullmatch(text)
    if match is None:
        raise UsageError(f"{where}: invalid rule: {clean(text)}", _EXAMPLE)
    below, limit = match["sign"].startswith("<"), float(match["number"])
    count, unit = float(match["count"] or 1), match["unit"] or "points"
    unit = unit if unit in _SECONDS else unit.rstrip("s") + "s"
    if not math.isfinite(limit) or count <= 0 or (unit == "points" and count != int(count)):
        raise UsageError(f"{where}: number out of range in rule: {clean(text)}", _EXAMPLE)
    if match["sign"].endswith("="):
        limit = math.nextafter(limit, math.inf if below else -math.inf)
    count, unit = (count * _SECONDS[unit], "s") if unit in _SECONDS else (count, unit)
    name = " ".join(text.split())
    needed = int(count) if unit == "points" else 1
    clear = 3 if unit == "points" and needed == 1 else 1
    score = Limit(limit=limit, good=limit, raise_after=needed, clear_after=clear, falls=below)
    check = Check(concepts=(), score=score, severity=severity)
    return UserRule(
        name, name, checks_of=lambda values: (check,), joins=name, name=match["name"], count=count, unit=unit
    )
