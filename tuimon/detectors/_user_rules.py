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
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tuimon import lazy_re as re
from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.metric_filter import nearest, no_match
from tuimon.detectors._engine import Check, Rule, concept_ids, named_metrics
from tuimon.detectors._scores import Limit
from tuimon.errors import UsageError
from tuimon.model.alerts import SEVERITIES
from tuimon.store import Run
from tuimon.text import clean
from tuimon.vocabulary import SECONDS, concepts

_RULE = re.compile(
    r"\s*(?P<name>\S.*?)\s*(?P<sign><=|>=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"(?:\s+for\s+(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>points?|steps?|s|min|h))?\s*"
)
_EXAMPLE = (
    'example: "reward < 0.1 for 20 steps" (a name, < <= > or >=, a number, optionally for N points, steps, s, min or h)'
)


def matched_by_pattern(rule: Rule, runs: Sequence[Run]) -> list[str]:
    """Return the metrics that a rule checks because they match a pattern, not by their name or concept."""
    [check] = rule.checks
    if concept_ids(check.pattern):
        return []
    return sorted({metric for run in runs for metric in rule.metrics(run, check)} - {check.pattern})


class UnmatchedRule(NamedTuple):
    """A rule whose name matches no metric of any run."""

    rule: str
    reason: str
    """Why it matches none, with the names that are most similar to that of the rule."""
    is_like_another: bool
    """Whether there are such names, so that the name is probably misspelled."""
    is_concept: bool
    """Whether the name is the id or label of a concept: no typo, even if this kind of run has no such metric."""

    @property
    def message(self) -> str:
        """The rule and the reason."""
        return f"{self.rule}: {self.reason}"


def unmatched_rules(rules: Sequence[str | Mapping[str, Any] | Rule], runs: Sequence[Run]) -> list[UnmatchedRule]:
    """Return the valid rules of the user whose names match no metric of any run."""
    found = []
    for rule in (own if isinstance(own, Rule) else detector_of(own, "[[rules]]") for own in rules):
        name = rule.checks[0].pattern
        if not any(named_metrics(run, name) for run in runs):
            labels = (concept.label for concept in concepts() if any(metrics_of(run, concept.id) for run in runs))
            names = [*labels, *dict.fromkeys(name for run in runs for name in run.metrics)]
            reason, near = no_match(name, names), nearest(name, names)
            found.append(UnmatchedRule(clean(rule.id), reason, bool(near), bool(concept_ids(name))))
    return found


def detector_of(rule: str | Mapping[str, Any], where: str) -> Rule:
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
    unit = unit if unit in SECONDS else unit.rstrip("s") + "s"
    if not math.isfinite(limit) or count <= 0 or (unit == "points" and count != int(count)):
        raise UsageError(f"{where}: number out of range in rule: {clean(text)}", _EXAMPLE)
    if match["sign"].endswith("="):
        limit = math.nextafter(limit, math.inf if below else -math.inf)
    in_points = unit == "points"
    needed = int(count) if in_points else 1
    score = Limit(limit=limit, raise_after=needed, clear_after=3 if in_points and needed == 1 else 1, falls=below)
    check = Check(
        concepts=(),
        score=score,
        severity=severity,
        pattern=match["name"],
        least=0.0 if in_points else count * SECONDS.get(unit, 1.0),
        unit="s" if unit in SECONDS else "steps",
        is_condition=True,
    )
    name = " ".join(text.split())
    return Rule(name, name, checks_of=lambda values: (check,), joins=name)
