"""Steps get slower and stay so.

Rule: the median of nine of the step time is `ratio` times the median of the steps 10 to 59, for 20 steps in a row.
Only for information where the responses have grown by as much.
Source: ours (tuimon has no peer that tells it).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import AgainstStart
from tuimon.detectors._curves import alert, incidents, middle, number, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_SKIP, _BASELINE = 10, 50
_HINT = "the phase-latency panel names the phase that has grown"


class StepDrift(Struct, frozen=True):
    id: str = "step_drift"
    title: str = "Steps get slower"
    ratio: float = 1.4
    points: int = 20

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        low = 1 + 0.6 * (self.ratio - 1)
        rule = AgainstStart(self.ratio, low, _BASELINE, _SKIP, raise_after=self.points, clear_after=self.points)
        for curve in curves(run, "time.step"):
            for incident in incidents(curve, rule):
                usual = middle(curve, _SKIP, _SKIP + _BASELINE - 1)
                now = middle(curve, incident.raised - 8, incident.raised)
                grown = _lengths(run, curve, incident)
                with_length = f", with responses {percent(grown - 1)} longer," if grown >= now / usual * 0.9 else ""
                message = (
                    f"{curve.metric} {verb(incident, 'is', 'was')} {number(now)} s, {percent(now / usual - 1)} above"
                    f" the {number(usual)} s of the first steps{with_length}"
                )
                yield alert(run, curve, incident, self.id, "info" if with_length else "warning", message, _HINT)


def _lengths(run: Run, curve: Curve, incident: Incident) -> float:
    """How many times longer responses had become; NaN where that is not logged."""
    for lengths in curves(run, "length.response"):
        if classify(lengths.metric).unit != "steps":
            row = int(lengths.steps.searchsorted(curve.steps[incident.raised], "right"))
            begin = int(lengths.steps.searchsorted(curve.steps[_SKIP]))
            return middle(lengths, row - 9, row - 1) / middle(lengths, begin, begin + _BASELINE - 1)
    return float("nan")


DETECTOR = StepDrift()
