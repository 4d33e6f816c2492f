"""The learning rate is zero or absurdly high.

Rules: it is at least `policy_limit` (in a run with entropy, KL or policy loss) or `limit` for 3 points; or it is 0 for
`points` points, from the start or later (a schedule that ends at 0 is 0 at its last step only).
Source: ours. Console logs are ignored: some print 1e-06 as 0.000.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.rules import Threshold, inclusive
from tuimon.detectors._curves import alert, extreme, from_console, incidents
from tuimon.model.alerts import Alert
from tuimon.store import Run

_ZERO = 1e-15
_POLICY = ("entropy", "kl.ref", "kl.old", "loss.policy")
_TOO_HIGH = "lower the learning rate"
_HINT = "check the scheduler: its total and warm-up steps, and whether it is stepped once per update"


class LearningRate(Struct, frozen=True):
    id: str = "learning_rate"
    title: str = "Learning rate"
    points: int = 20
    """Points in a row at which the learning rate is 0."""
    limit: float = 10.0
    """Learning rate that is absurdly high."""
    policy_limit: float = 1.0
    """Learning rate that is absurdly high in a run that trains a policy."""

    def check(self, run: Run) -> Iterator[Alert]:
        is_policy = any(metrics_of(run, concept) for concept in _POLICY)
        limit = inclusive(self.policy_limit if is_policy else self.limit)
        for curve in curves(run, "lr", all_names=True):
            for incident in incidents(curve, Threshold(limit, limit, 3, 3)):
                value, step = extreme(curve, incident)
                found = alert(run, curve, incident, self.id, "warning", "reached", value, hint=_TOO_HIGH)
                yield replace(found, limit=limit, extreme=step)
            if from_console(run, curve):
                continue
            for incident in incidents(curve, Threshold(_ZERO, _ZERO, self.points, 5, below=True)):
                yield alert(run, curve, incident, self.id, "warning", "zero", 0.0, hint=_HINT)


DETECTOR = LearningRate()
