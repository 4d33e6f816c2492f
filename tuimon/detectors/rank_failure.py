"""One rank ended a job of many ranks, or hangs, or the job was stopped from outside.

Rule: the root cause that the logs of all ranks support, unless the job went on after it. A failure that follows from
another rank's is not reported.
Source: the kinds of failure and their order in tuimon.ranks.lines and tuimon.ranks.verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.detectors._ranks import alerts_of
from tuimon.model.alerts import Alert
from tuimon.store import Run


class RankFailure(Struct, frozen=True):
    id: str = "rank_failure"
    title: str = "A rank failed or hangs"

    def check(self, run: Run) -> Iterator[Alert]:
        return alerts_of(run, self.id)


DETECTOR = RankFailure()
