"""Steps have become slower and stay slow.

Rule: the median of nine of the step time is `ratio` times the median of the steps 10 to 59, for `points` steps in a
row. Only information if the responses have grown by as much.
Source: ours (no tool known to us reports this).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import AgainstStart
from tuimon.detectors._curves import alert, changes_from_start, median_of_rows, number, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_SKIP, _BASELINE = 10, 50
_HINT = "the phase-latency panel shows which phase has grown"


class StepDrift(Struct, frozen=True):
    id: str = "step_drift"
    title: str = "Steps get slower"
    ratio: float = 1.4
    points: int = 20

    def check(self, run: Run) -> Iterator[Alert]:
        low = 1 + 0.6 * (self.ratio - 1)
        rule = AgainstStart(self.ratio, low, _BASELINE, _SKIP, raise_after=self.points, clear_after=self.points)
        for curve in curves(run, "time.step"):
            for incident, usual, now in changes_from_start(curve, rule):
                growth = _response_growth(run, curve, incident)
                longer = f", with responses {percent(growth - 1)} longer," if growth >= now / usual * 0.9 else ""
                message = (
                    f"{curve.metric} {verb(incident, 'is', 'was')} {number(now)} s, {percent(now / usual - 1)} above"
                    f" the {number(usual)} s of the first steps{longer}"
                )
                yield alert(run, curve, incident, self.id, "info" if longer else "warning", message, _HINT)


def _response_growth(run: Run, curve: Curve, incident: Incident) -> float:
    """Return the response length at the incident relative to that of the first steps; NaN if it is not logged."""
    for lengths in curves(run, "length.response"):
        if classify(lengths.metric).unit != "steps":
            row = int(lengths.steps.searchsorted(curve.steps[incident.raised], "right"))
            begin = int(lengths.steps.searchsorted(curve.steps[_SKIP]))
            return median_of_rows(lengths, row - 9, row - 1) / median_of_rows(lengths, begin, begin + _BASELINE - 1)
    return float("nan")


DETECTOR = StepDrift()
