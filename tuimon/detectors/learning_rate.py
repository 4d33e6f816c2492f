"""A learning rate that never gets anywhere: zero, or still in its warm-up when the run is half over.

Rules: it is 0 for `points` points, from the start or later (a schedule that ends at 0 is there for its last step only);
or it has done nothing but rise since it began, and the step is past `part` of the total.
Source: ours. Consoles are left out: some print 1e-06 as 0.000.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.rules import Below, Rising
from tuimon.detectors._curves import alert, incidents, number, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_ZERO = 1e-15
_WARMS = 50
"""Points that a warm-up has at least before anything is said."""
_HINT = "look at the scheduler: its total and warm-up steps, and whether it is stepped once an update"


class LearningRate(Struct, frozen=True):
    id: str = "learning_rate"
    title: str = "Learning rate"
    points: int = 20
    part: float = 0.5

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        texts = {stream.found.source for stream in run.streams if stream.found.format == "console"}
        for curve in curves(run, "lr", every=True):
            if curve.sources[:1] and curve.sources[0] in texts:
                continue
            zero = incidents(curve, Below(_ZERO, _ZERO, self.points, 5))
            for incident in zero:
                message = f"{curve.metric} {verb(incident, 'is', 'was')} 0"
                yield alert(run, curve, incident, self.id, "warning", message, _HINT)
            if not zero:
                yield from self._warms(run, curve)

    def _warms(self, run: Run, curve: Curve) -> Iterator[Alert]:
        for incident in incidents(curve, Rising(_WARMS)):
            if incident.cleared is not None:
                continue
            known = progress_inputs(run)
            if known.total is None or known.step is None or known.step <= self.part * known.total:
                continue
            message = (
                f"{curve.metric} still warms up at step {known.step} of {known.total}"
                f" ({percent(known.step / known.total)}): {number(float(curve.values[-1]))}, rising"
            )
            yield alert(run, curve, incident, self.id, "warning", message, _HINT)


DETECTOR = LearningRate()
