"""Fewer tokens a second than at first.

Rule: the median of nine of the throughput is below `part` of the median of the points 10 to 59, for 20 points in a row.
Counters that are means since the start (time/fps) are left out.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import AgainstStart
from tuimon.detectors._curves import alert, incidents, middle, number, percent, verb
from tuimon.model.alerts import Alert
from tuimon.store import Run
from tuimon.vocabulary import classify

_SKIP, _BASELINE = 10, 50
_CONCEPTS = ("throughput.tokens", "throughput.tokens_per_gpu", "throughput.samples")
_SINCE_THE_START = ("time/fps",)
_HINT = "a device that is hot or shared, a node that is slow, responses that wait for the longest of them"


class ThroughputLoss(Struct, frozen=True):
    id: str = "throughput_loss"
    title: str = "Throughput lost"
    part: float = 0.65
    points: int = 20

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time, of the best measure there is."""
        high = 1 / self.part
        rule = AgainstStart(
            high, 1 + 0.6 * (high - 1), _BASELINE, _SKIP, True, raise_after=self.points, clear_after=self.points
        )
        for concept in _CONCEPTS:
            found = [curve for curve in curves(run, concept) if curve.metric not in _SINCE_THE_START]
            for curve in found:
                unit = classify(curve.metric).unit
                for incident in incidents(curve, rule):
                    usual = middle(curve, _SKIP, _SKIP + _BASELINE - 1)
                    now = middle(curve, incident.raised - 8, incident.raised)
                    message = (
                        f"{curve.metric} {verb(incident, 'is', 'was')} {number(now)} {unit}, {percent(now / usual)} of"
                        f" the {number(usual)} {unit} of the first steps,"
                    )
                    yield alert(run, curve, incident, self.id, "warning", message, _HINT)
            if found:
                return


DETECTOR = ThroughputLoss()
