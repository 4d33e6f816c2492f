"""Shared parts of detectors with a fixed limit: a metric is above or below it for a number of points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import Threshold
from tuimon.detectors._curves import alert, extreme, incidents, number, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run


def limit_alerts(
    run: Run, curve: Curve, threshold: Threshold, rule: str, severity: str, hint: str, note: str = ""
) -> Iterator[Alert]:
    """Yield an alert for each time that the curve is beyond the limit. `note` is added to the message."""
    side, extremum = ("below", "lowest") if threshold.below else ("above", "highest")
    for incident in incidents(curve, threshold):
        value, step = extreme(curve, incident, highest=not threshold.below)
        message = (
            f"{curve.metric} {verb(incident, 'is', 'was')} {side} {number(threshold.limit)}"
            f" ({note}{extremum} {number(value)} at step {step})"
        )
        yield alert(run, curve, incident, rule, severity, message, hint)


def beyond(
    limit: float, good: float, points: int, *, below: bool = False, smooth: bool = False, skip: int = 0
) -> Threshold:
    """Build a threshold that `points` points raise, and that as many good points clear (at least 5)."""
    return Threshold(limit, good, points, max(5, points), below, smooth, skip)


class LimitDetector(Struct, frozen=True):
    """Base of detectors that compare the metrics of a concept with a limit."""

    concept: ClassVar[str]
    hint: ClassVar[str]
    id: str
    title: str

    def threshold(self, metric: str) -> Threshold | None:
        """Return the threshold for a metric; None if it is not checked."""
        raise NotImplementedError

    def check(self, run: Run) -> Iterator[Alert]:
        for curve in curves(run, self.concept):
            threshold = self.threshold(curve.metric)
            if threshold is not None:
                yield from limit_alerts(run, curve, threshold, self.id, "warning", self.hint)
