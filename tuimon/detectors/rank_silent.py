"""A rank no longer writes although the other ranks go on.

Rule: a rank that reported steps has reported none for a long time while the others advanced.
Source: house rule in tuimon.ranks.verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.detectors._ranks import alerts_of
from tuimon.model.alerts import Alert
from tuimon.store import Run


class RankSilent(Struct, frozen=True):
    id: str = "rank_silent"
    title: str = "A rank is silent"

    def check(self, run: Run) -> Iterator[Alert]:
        return alerts_of(run, self.id)


DETECTOR = RankSilent()
