"""Shared parts of detectors with a fixed limit: a metric is above or below it for a number of points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import Threshold
from tuimon.analysis.windows import NINE
from tuimon.detectors._curves import alert, extreme, fold_rows, incidents
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run


def limit_alerts(run: Run, curve: Curve, threshold: Threshold, rule: str, severity: str, hint: str) -> Iterator[Alert]:
    """Yield an alert for each time that the curve is beyond the limit."""
    for incident in incidents(curve, threshold):
        incident = _from_first_value(curve, incident, threshold) if threshold.smooth else incident
        yield limit_alert(run, curve, incident, threshold, rule, severity, hint)


def limit_alert(
    run: Run, curve: Curve, incident: Incident, threshold: Threshold, rule: str, severity: str, hint: str = ""
) -> Alert:
    """Return the alert of one time that the curve is beyond the limit, with its farthest value."""
    value, step = extreme(curve, incident, highest=not threshold.below)
    count, points = points_beyond(curve, incident, threshold)
    found = alert(run, curve, incident, rule, severity, "below" if threshold.below else "above", value, hint=hint)
    return replace(found, limit=threshold.limit, extreme=step, count=count, points=points)


def _from_first_value(curve: Curve, incident: Incident, threshold: Threshold) -> Incident:
    """Return the incident from the first value beyond the limit on: the median of nine follows some rows later."""
    beyond = threshold.is_beyond(curve.values[max(0, incident.first - NINE + 1) : incident.first])
    return incident._replace(first=incident.first - int((~np.append(False, beyond)[::-1]).argmax()))


def points_beyond(curve: Curve, incident: Incident, threshold: Threshold) -> tuple[int, int]:
    """Return (number of points of an incident that are beyond the limit, number of its points).

    Of an active incident all points up to the last one count, because its sentence says "since". Single points are on
    the other side where several good ones are needed to clear it.
    """
    last = incident.last if incident.cleared is not None else len(curve) - 1

    def fold(known: tuple[int, int] | None, begin: int, end: int) -> tuple[int, int]:
        values, (bad, all_values) = curve.values[begin:end], known or (0, 0)
        return bad + int(threshold.is_beyond(values).sum()), all_values + int((~np.isnan(values)).sum())

    return fold_rows(curve, ("beyond", threshold.limit, threshold.below), incident.first, last, fold)


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
