"""Responses that repeat themselves.

Rule: the share of repetition is above `limit` for `points` points.
Source: walkinglabs training-debugging.md: a repeat ratio above 0.2; the number of points is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import Limit
from tuimon.model.alerts import Alert
from tuimon.store import Run

_HINT = "read some responses; is repetition rewarded?"


class DegenerateText(Struct, frozen=True):
    id: str = "degenerate_text"
    title: str = "Repeating text"
    limit: float = 0.2
    points: int = 3

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        for curve in curves(run, "degenerate"):
            yield from Limit(self.limit, self.limit * 0.75, self.points).alerts(run, curve, self.id, "warning", _HINT)


DETECTOR = DegenerateText()
