"""The learning rate is zero, absurdly high, or still warming up when half of the run is over.

Rules: it is at least `policy_limit` (in a run with entropy, KL or policy loss) or `limit` for 3 points; it is 0 for
`points` points, from the start or later (a schedule that ends at 0 is 0 at its last step only); or it has only risen
since the start, and the step is past `part` of the total.
Source: ours. Console logs are ignored: some print 1e-06 as 0.000.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.rules import Rising, Threshold, inclusive
from tuimon.detectors._curves import alert, extreme, from_console, incidents, number, share_percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_ZERO = 1e-15
_MIN_WARMUP = 50
"""Points that the learning rate must have risen for."""
_POLICY = ("entropy", "kl.ref", "kl.old", "loss.policy")
_TOO_HIGH = "lower the learning rate"
_HINT = "check the scheduler: its total and warm-up steps, and whether it is stepped once per update"


class LearningRate(Struct, frozen=True):
    id: str = "learning_rate"
    title: str = "Learning rate"
    points: int = 20
    """Points in a row at which the learning rate is 0."""
    part: float = 0.5
    """Part of the total steps after which a warm-up has to be over."""
    limit: float = 10.0
    """Learning rate that is absurdly high."""
    policy_limit: float = 1.0
    """Learning rate that is absurdly high in a run that trains a policy."""

    def check(self, run: Run) -> Iterator[Alert]:
        is_policy = any(metrics_of(run, concept) for concept in _POLICY)
        limit = inclusive(self.policy_limit if is_policy else self.limit)
        for curve in curves(run, "lr", all_names=True):
            for incident in incidents(curve, Threshold(limit, limit, 3, 3)):
                value, _ = extreme(curve, incident)
                usual = "1e-7 to 1e-2 are usual for a policy" if is_policy else "values below 1 are usual"
                message = f"{curve.metric} {verb(incident, 'is', 'was')} {number(value)} ({usual})"
                yield alert(run, curve, incident, self.id, "warning", message, _TOO_HIGH)
            if from_console(run, curve):
                continue
            zero = incidents(curve, Threshold(_ZERO, _ZERO, self.points, 5, below=True))
            for incident in zero:
                message = f"{curve.metric} {verb(incident, 'is', 'was')} 0"
                yield alert(run, curve, incident, self.id, "warning", message, _HINT)
            if not zero:
                yield from self._warming_up(run, curve)

    def _warming_up(self, run: Run, curve: Curve) -> Iterator[Alert]:
        for incident in incidents(curve, Rising(_MIN_WARMUP)):
            if incident.cleared is not None:
                continue
            known = progress_inputs(run)
            step = known.position
            if known.total is None or step is None or step <= self.part * known.total:
                continue
            message = (
                f"{curve.metric} is still warming up at {known.counted or 'step'} {step} of {known.total}"
                f" ({share_percent(step / known.total)}): {number(float(curve.values[-1]))}, rising"
            )
            yield alert(run, curve, incident, self.id, "warning", message, _HINT)


DETECTOR = LearningRate()
