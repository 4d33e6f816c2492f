"""The loss or the gradient norm is not a number on fewer than half of the ranks.

Rule: the newest line of measurements of a rank has NaN, and those of most ranks have not.
Source: house rule; gradients are equal on all ranks once they are reduced, so one rank's data or hardware is bad.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.detectors._ranks import alerts_of
from tuimon.model.alerts import Alert
from tuimon.store import Run


class RankNan(Struct, frozen=True):
    id: str = "rank_nan"
    title: str = "NaN on one rank"

    def check(self, run: Run) -> Iterator[Alert]:
        return alerts_of(run, self.id)


DETECTOR = RankNan()
