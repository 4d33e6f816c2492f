"""The engine that writes the responses and the one that learns from them disagree about the same tokens.

Rules: those of the vocabulary for the concepts "KL rollout vs trainer" and "importance ratio", each for the metrics and
with the limit that its source names; and any other such measure whose median of nine is `ratio` times its start and
above `floor`.
Source: NeMo-RL's GRPO docs (KL error below 1e-3, token_mult_prob_error up to 1.05), verl's rollout correction docs
(|KL| up to 0.1), TRL's PPO docs (ratio from 0.1 to 2); the ratio and the floor are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import AgainstStart
from tuimon.detectors._curves import alert, incidents, middle, number, verb
from tuimon.detectors._limits import Limit
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run
from tuimon.vocabulary import Rule, concepts

_CONCEPTS = ("kl.mismatch", "ratio")
_SEVERITY = {"info": "info", "warn": "warning", "crit": "critical"}
_NOT_MEASURES = ("valid", "corr", "min", "max", "std")
_HINT = "compare the precision, the kernels and the weights of the two engines; a failed weight sync looks like this"


class EngineMismatch(Struct, frozen=True):
    id: str = "engine_mismatch"
    title: str = "Rollout and training engine disagree"
    ratio: float = 4.0
    floor: float = 0.005

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time and metric."""
        for concept in _CONCEPTS:
            for curve in curves(run, concept, every=True):
                rules = [rule for rule in _rules(concept) if _applies(rule, curve.metric)]
                for rule in rules:
                    for limit in _limits(rule):
                        yield from limit.alerts(run, curve, self.id, _SEVERITY[rule.severity], _HINT)
                if not rules and concept == "kl.mismatch" and not curve.metric.endswith(_NOT_MEASURES):
                    yield from self._risen(run, curve)

    def _risen(self, run: Run, curve: Curve) -> Iterator[Alert]:
        for incident in incidents(curve, AgainstStart(self.ratio, 0.6 * self.ratio)):
            now, start = middle(curve, incident.raised - 8, incident.raised), middle(curve, 0, 19)
            if now > self.floor:
                risen = verb(incident, "has risen", "rose")
                message = (
                    f"{curve.metric} {risen} to {number(now)}, {now / start:.3g} times its start of {number(start)},"
                )
                yield alert(run, curve, incident, self.id, "warning", message, _HINT)


@cache
def _rules(concept: str) -> tuple[Rule, ...]:
    return next(found.rules for found in concepts() if found.id == concept)


def _applies(rule: Rule, metric: str) -> bool:
    return re.fullmatch(rule.options.get("applies_re", ".*"), metric) is not None


def _limits(rule: Rule) -> list[Limit]:
    value, points = rule.options["value"], rule.options["for_points"]
    if rule.kind == "above":
        return [Limit(value, 0.9 * value if value < 1 else 1 + 0.8 * (value - 1), points)]
    low, high = (-value, value) if rule.kind == "abs_above" else value
    return [Limit(high, 0.9 * high, points), Limit(low, low + 0.1 * abs(low), points, below=True)]


DETECTOR = EngineMismatch()
