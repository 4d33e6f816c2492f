"""Responses become much longer or much shorter than at the start.

Rule: the median of nine of the mean response length is at least `ratio` times the median of its first 20 points, or at
most `shrinks` times it, for 5 points. Growth is only reported as information while the reward has risen by more than
its noise, because models learn to reason this way.
Source: walkinglabs training-debugging.md: over twice the baseline is length hacking; the baseline's size and `shrinks`
are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.level_rules import AgainstStart
from tuimon.detectors._curves import (
    alert,
    changes_from_start,
    median_of_rows,
    reached_level,
    usual_level,
)
from tuimon.detectors._policy import response_lengths
from tuimon.model.alerts import Alert
from tuimon.store import Run

_BASELINE = 20
_HINT = "read some responses and check whether the reward favours this length; look at truncation and repetition"


class Length(Struct, frozen=True):
    id: str = "length"
    title: str = "Response length"
    ratio: float = 2.0
    """Length of the responses, relative to the start, that is much longer."""
    shrinks: float = 0.3
    """Length of the responses, relative to the start, that is much shorter."""

    def check(self, run: Run) -> Iterator[Alert]:
        for curve in response_lengths(run):
            for falls, factor in ((False, self.ratio), (True, 1 / self.shrinks)):
                rule = AgainstStart(factor, 0.8 * factor, baseline=_BASELINE, falls=falls)
                for incident, start in changes_from_start(curve, rule):
                    now = reached_level(curve, incident, highest=not falls)
                    harmless = falls or _reward_has_risen(run, int(curve.steps[incident.raised]))
                    kind = "fallen" if falls else "risen"
                    yield alert(
                        run, curve, incident, self.id, "info" if harmless else "warning", kind, now, start, hint=_HINT
                    )


def _reward_has_risen(run: Run, step: int) -> bool:
    """Return whether the reward had risen by more than its noise until a step."""
    for curve in curves(run, "reward.train"):
        end = int(curve.steps.searchsorted(step, "right"))
        if end < 2 * _BASELINE:
            return False
        _, noise = usual_level(curve, end - 1)
        return median_of_rows(curve, end - 9, end - 1) - median_of_rows(curve, 0, 8) > 2 * noise
    return False


DETECTOR = Length()
