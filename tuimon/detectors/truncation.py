"""Responses that are cut off at the length limit: they are not rewarded for what they would have said.

Rule: the share of truncated responses is above `limit` for `points` points; where a log tells the share that ended
properly (RLinf), that one is below 1 - `limit`.
Source: DAPO (arXiv 2503.14476), overlong reward shaping; TRL GRPO docs on completions/clipped_ratio. The figures are
ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.detectors._limits import Limit
from tuimon.model.alerts import Alert
from tuimon.store import Run

_COMPLEMENTS = ("properly_ended",)
_OTHERS = ("num_eos_tokens", "env_timeout")
_HINT = "the budget of tokens is too small, or the length runs away"


class Truncation(Struct, frozen=True):
    id: str = "truncation"
    title: str = "Truncated responses"
    limit: float = 0.5
    points: int = 10

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        for curve in curves(run, "truncation"):
            if curve.metric.endswith(_OTHERS):
                continue
            below = curve.metric.endswith(_COMPLEMENTS)
            limit, good = (1 - self.limit, 1 - 0.8 * self.limit) if below else (self.limit, 0.8 * self.limit)
            yield from Limit(limit, good, self.points, below=below).alerts(run, curve, self.id, "warning", _HINT)


DETECTOR = Truncation()
