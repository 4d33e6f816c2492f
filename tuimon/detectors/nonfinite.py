"""NaN or Inf in a metric that matters: the update that made it has mostly spoilt the weights.

Rule: any value that is not finite, in rewards, losses, KL, policy and length metrics; over when `clear_after` finite
values have followed. Critical where the vocabulary says so (losses, gradient norm) and the last value is one.
A metric of another kind that begins with NaN is only not known yet (an episode has not ended).
Source: SageMaker Debugger ExplodingTensor; rlwatch loss_nan (critical at once); verl#2626 (the gradient norm is NaN,
then the reward 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
from msgspec import Struct

from tuimon.analysis.incidents import Incident
from tuimon.detectors._curves import carried, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify, concepts

_PANELS = frozenset({"reward", "success", "loss", "kl", "policy", "length"})
"""Panels of metrics in which it harms."""
_NEWEST = 64
"""Spells that are told of, as of the incidents of other rules."""


class NonFinite(Struct, frozen=True):
    id: str = "nonfinite"
    title: str = "NaN or Inf"
    clear_after: int = 10

    def check(self, run: Run) -> Iterator[Alert]:
        """A curve keeps count itself: only those with a hit are looked into."""
        for metric in run.metrics:
            meaning = classify(metric)
            if meaning.panel not in _PANELS:
                continue
            curve = run.curve(metric)
            if curve.nan_count or curve.infinity_count:
                for incident in self._incidents(curve, meaning):
                    yield _alert(run, metric, meaning, curve, incident)

    def _incidents(self, curve: Curve, meaning: Meaning) -> Iterator[Incident]:
        """Spells of such values with fewer than `clear_after` finite ones between them are one."""
        starts, ends = curve.tally.bad_starts, curve.tally.bad_ends
        if starts[0] == 0 and ends[0] < len(curve) and meaning.concept not in _grave():
            starts, ends = starts[1:], ends[1:]
        if not len(starts):
            return
        heads = np.concatenate(([0], np.flatnonzero(starts[1:] - ends[:-1] >= self.clear_after) + 1))
        tails = np.concatenate((heads[1:], [len(starts)])) - 1
        for head, tail in zip(heads[-_NEWEST:].tolist(), tails[-_NEWEST:].tolist(), strict=True):
            over = int(ends[tail]) + self.clear_after - 1
            first, last = int(starts[head]), int(ends[tail]) - 1
            yield Incident(first, first, last, over if over < len(curve) else None)


def _alert(run: Run, metric: str, meaning: Meaning, curve: Curve, incident: Incident) -> Alert:
    end = len(curve) if incident.cleared is None else incident.last + 1
    nans, infinities = carried(curve, "nonfinite", incident.first, end - 1, lambda *rows: _counted(curve, *rows))
    now_bad = incident.cleared is None and not math.isfinite(curve.values[end - 1])
    counted = [f"{nans} NaN"] if nans else []
    counted += [f"{infinities} Inf"] if infinities else []
    kind = "NaN" if math.isnan(curve.values[incident.first]) else "Inf"
    step = int(curve.steps[incident.first])
    whole = now_bad and nans + infinities == end - incident.first
    since = f"is {kind} since" if whole else verb(incident, f"was {kind} first at", f"was {kind} at")
    message = f"{metric} {since} step {step} ({', '.join(counted)} of {len(curve)} points)"
    if incident.cleared is not None:
        message += f", finite again since step {int(curve.steps[incident.last + 1])}"
    severity = "critical" if now_bad and meaning.concept in _grave() else "warning"
    until = int(curve.steps[incident.last]) if incident.cleared is not None else None
    return Alert("nonfinite", severity, run.id, metric, step, message, _hint(meaning), until)


def _counted(curve: Curve, known: tuple[int, int] | None, begin: int, end: int) -> tuple[int, int]:
    """(NaN, infinities) so far and in rows begin … end - 1."""
    inside, (nans, infinities) = curve.values[begin:end], known or (0, 0)
    return nans + int(np.isnan(inside).sum()), infinities + int(np.isinf(inside).sum())


@cache
def _grave() -> frozenset[str]:
    """Concepts whose rule in the vocabulary says so."""
    return frozenset(c.id for c in concepts() if any(r.kind == "nonfinite" and r.severity == "crit" for r in c.rules))


def _hint(meaning: Meaning) -> str:
    if meaning.concept in _grave():
        return "the weights are NaN from the first such update on: go back to a checkpoint before it"
    return "look at grad norm and loss at that step"


DETECTOR = NonFinite()
