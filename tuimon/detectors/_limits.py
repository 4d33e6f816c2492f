"""Shared parts of detectors with a fixed limit: a metric is above or below it for a number of points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import Threshold
from tuimon.analysis.windows import NINE
from tuimon.detectors._curves import alert, extreme, fold_rows, incidents, number, share_percent, verb
from tuimon.draw.numbers import distinct_digits
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run


def limit_alerts(
    run: Run, curve: Curve, threshold: Threshold, rule: str, severity: str, hint: str, note: str = ""
) -> Iterator[Alert]:
    """Yield an alert for each time that the curve is beyond the limit. `note` is added to the message."""
    for incident in incidents(curve, threshold):
        incident = _from_first_value(curve, incident, threshold) if threshold.smooth else incident
        yield alert(run, curve, incident, rule, severity, limit_message(curve, incident, threshold, note), hint)


def _from_first_value(curve: Curve, incident: Incident, threshold: Threshold) -> Incident:
    """Return the incident from the first value beyond the limit on: the median of nine follows some rows later."""
    beyond = threshold.is_beyond(curve.values[max(0, incident.first - NINE + 1) : incident.first])
    return incident._replace(first=incident.first - int((~np.append(False, beyond)[::-1]).argmax()))


def limit_message(curve: Curve, incident: Incident, threshold: Threshold, note: str = "") -> str:
    """Return the message of an incident beyond a limit, without its steps. `note` is added in brackets."""
    side, extremum = ("below", "lowest") if threshold.below else ("above", "highest")
    value, step = extreme(curve, incident, highest=not threshold.below)
    share = share_beyond(curve, incident, threshold)
    often = "" if share == 1 else "mostly " if share > 0.5 else "at times "
    part = "" if share == 1 else f"{share_percent(share)} of the points, "
    limit, farthest = number(threshold.limit), number(value)
    if limit == farthest:
        limit, farthest = distinct_digits(threshold.limit, value)
    return (
        f"{curve.metric} {verb(incident, 'is', 'was')} {often}{side} {limit}"
        f" ({note}{part}{extremum} {farthest} at step {step})"
    )


def share_beyond(curve: Curve, incident: Incident, threshold: Threshold) -> float:
    """Return the share of the values of an incident that are beyond the limit.

    Of an active incident all values up to the last one count, because its message says "since". Less than 1 where
    single values are on the other side: an incident is cleared by several good values only.
    """
    last = incident.last if incident.cleared is not None else len(curve) - 1

    def fold(known: tuple[int, int] | None, begin: int, end: int) -> tuple[int, int]:
        values, (bad, all_values) = curve.values[begin:end], known or (0, 0)
        return bad + int(threshold.is_beyond(values).sum()), all_values + int((~np.isnan(values)).sum())

    bad, count = fold_rows(curve, ("beyond", threshold.limit, threshold.below), incident.first, last, fold)
    return bad / count if count else 1.0


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
