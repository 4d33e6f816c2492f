"""NaN or Inf in a metric that matters: the update that made it has mostly spoilt the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify, concepts

_MILD = frozenset({"hidden", "machine", "progress", "other"})
"""Panels of metrics that may be NaN without anybody's harm."""


@dataclass(frozen=True, slots=True)
class NonFinite:
    id: str = "nonfinite"
    title: str = "NaN or Inf"

    def check(self, run: Run) -> tuple[Alert, ...]:
        """One alert a metric of a known concept. A curve keeps count itself: only those with a hit are looked into."""
        alerts = []
        for metric in run.metrics:
            meaning = classify(metric)
            if meaning.panel in _MILD:
                continue
            curve = run.curve(metric)
            if curve.nan_count or curve.infinity_count:
                alerts.append(_alert(run, metric, meaning, curve))
        return tuple(alerts)


def _alert(run: Run, metric: str, meaning: Meaning, curve: Curve) -> Alert:
    first = int(curve.tally.bad_starts[0])
    now_bad = not np.isfinite(curve.values[-1])
    counted = [f"{curve.nan_count} NaN"] if curve.nan_count else []
    counted += [f"{curve.infinity_count} Inf"] if curve.infinity_count else []
    kind = "NaN" if np.isnan(curve.values[first]) else "Inf"
    step = int(curve.steps[first])
    since = f"is {kind} since" if len(curve.tally.bad_starts) == 1 and now_bad else f"was {kind} first at"
    message = f"{metric} {since} step {step} ({', '.join(counted)} of {len(curve)} points)"
    severity = "critical" if now_bad and meaning.concept in _grave() else "warning"
    return Alert("nonfinite", severity, run.id, metric, step, message, _hint(meaning))


def _grave() -> frozenset[str]:
    """Concepts whose rule in the vocabulary says so."""
    return frozenset(c.id for c in concepts() if any(r.kind == "nonfinite" and r.severity == "crit" for r in c.rules))


def _hint(meaning: Meaning) -> str:
    if meaning.concept in _grave():
        return "the weights are NaN from the first such update on: go back to a checkpoint before it"
    return "look at grad norm and loss at that step"


DETECTOR = NonFinite()
