"""A rank computes longer than the others, which wait for it in each step.

Rule: own time, without waiting, that is more than 5 % and more than 5 robust standard deviations above the median rank
in 60 % of the last 50 steps.
Source: tuimon.ranks.stragglers; `python -m tests.bench.stragglers` measures how often healthy jobs are accused.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.detectors._ranks import alerts_of
from tuimon.model.alerts import Alert
from tuimon.store import Run


class Straggler(Struct, frozen=True):
    id: str = "straggler"
    title: str = "A rank is slow"

    def check(self, run: Run) -> Iterator[Alert]:
        return alerts_of(run, self.id)


DETECTOR = Straggler()
