"""Throughput has fallen compared with the start of the run.

Rule: the median of nine of the throughput is at most `part` of the median of the points 10 to 59, for `points` points
in a row. The message has the median of the points since a sudden change, else of the last 50. Means since the start
(time/fps) are left out.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.rules import AgainstStart
from tuimon.detectors._curves import (
    alert,
    changes_from_start,
    median_of_rows,
    number,
    percent,
    rows_of_level,
    verb,
)
from tuimon.model.alerts import Alert
from tuimon.store import Run

_CONCEPTS = ("throughput.tokens", "throughput.tokens_per_gpu", "throughput.samples", "throughput.steps")
_SINCE_START = ("time/fps",)
_SKIP, _BASELINE = 10, 50
_HINT = "a device that is hot or shared, a slow node, or responses that wait for the longest one"


class ThroughputLoss(Struct, frozen=True):
    id: str = "throughput_loss"
    title: str = "Throughput loss"
    part: float = 0.65
    """Throughput, as a median of nine points, relative to that of the points 10 to 59."""
    points: int = 20
    """Points in a row."""

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield an alert for each loss, for the first of the concepts that is logged."""
        high = 1 / self.part
        low = 1 + 0.6 * (high - 1)
        rule = AgainstStart(high, low, _BASELINE, _SKIP, True, raise_after=self.points, clear_after=self.points)
        for concept in _CONCEPTS:
            rates = [curve for curve in curves(run, concept) if curve.metric not in _SINCE_START]
            for curve in rates:
                unit = meaning_of(run, curve.metric).unit
                unit = "" if unit == "1" else f" {unit}"
                for slow, usual in changes_from_start(curve, rule):
                    now = median_of_rows(curve, *rows_of_level(curve, slow, usual, _BASELINE))
                    message = (
                        f"{curve.metric} {verb(slow, 'has fallen', 'fell')} to {number(now)}{unit},"
                        f" {percent(now / usual)} of the {number(usual)}{unit} of the first steps,"
                    )
                    yield alert(run, curve, slow, self.id, "warning", message, _HINT)
            if rates:
                return


DETECTOR = ThroughputLoss()
