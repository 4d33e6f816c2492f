"""The inference engine and the training engine disagree on the probabilities of the same tokens.

Rules: published limits for some metrics of the concepts kl.mismatch and ratio (see _published_limits); for any other
metric of kl.mismatch, its median of nine is `ratio` times its start and above `floor`. Ratios of the new to the old
policy, which compare no engines, are those of policy_ratio.
Source: NeMo-RL's GRPO docs (KL errors are acceptable below 1e-3, token_mult_prob_error above 1.05 is suspicious),
verl's rollout correction docs (|KL| above 0.1 is a severe mismatch; 0.5 to 2 is usual for the mean weight); the limits
of the weight, `ratio`, `floor` and the numbers of points are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.level_rules import AgainstStart
from tuimon.analysis.rules import Threshold
from tuimon.detectors._curves import alert, changes_from_start, reached_level
from tuimon.detectors._limits import beyond, limit_alerts
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_NOT_MEASURES = ("valid", "corr", "min", "max", "std")
_HINT = "compare precision, kernels and weights of the two engines; a failed weight sync looks like this"


class EngineMismatch(Struct, frozen=True):
    id: str = "engine_mismatch"
    title: str = "Rollout and training engine disagree"
    ratio: float = 4.0
    """Level of a mismatch without a published limit, relative to its start."""
    floor: float = 0.005
    """Level that such a mismatch has at least."""

    def check(self, run: Run) -> Iterator[Alert]:
        for concept in ("kl.mismatch", "ratio"):
            for curve in curves(run, concept, all_names=True):
                severity, limits = _published_limits(concept, curve.metric)
                for limit in limits:
                    yield from limit_alerts(run, curve, limit, self.id, severity, _HINT)
                if not limits and concept == "kl.mismatch" and not curve.metric.endswith(_NOT_MEASURES):
                    yield from self._risen(run, curve)

    def _risen(self, run: Run, curve: Curve) -> Iterator[Alert]:
        for incident, start in changes_from_start(curve, AgainstStart(self.ratio, 0.6 * self.ratio)):
            now = reached_level(curve, incident, highest=True)
            if now > self.floor:
                yield alert(run, curve, incident, self.id, "warning", "risen", now, start, hint=_HINT)


def _published_limits(concept: str, metric: str) -> tuple[str, tuple[Threshold, ...]]:
    """Return (severity, limits) that are published for a metric; no limits for any other metric."""
    if concept == "ratio":
        if metric.endswith("rollout_is_mean"):
            return "warning", (beyond(2.0, 1.8, 3), beyond(0.1, 0.11, 3, below=True))
    elif metric == "rollout_corr/kl":
        return "warning", (beyond(0.1, 0.09, 5), beyond(-0.1, -0.09, 5, below=True))
    elif metric.endswith("token_mult_prob_error"):
        return "warning", (beyond(1.05, 1.04, 3),)
    elif metric.endswith(("kl_error", "js_divergence_error")):
        return "info", (beyond(0.001, 0.0009, 5),)
    return "", ()


DETECTOR = EngineMismatch()
