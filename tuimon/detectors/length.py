"""Responses that run away in length, or shrink to nothing.

Rule: the median of nine of the mean response length is `ratio` times the median of its first 20 points, or below
`shrinks` times it, for 5 points. Growth while the reward has risen by more than its noise is only information:
reasoning is learnt so.
Source: walkinglabs training-debugging.md: over twice the baseline is length hacking; the baseline's size and `shrinks`
are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import AgainstStart
from tuimon.detectors._curves import alert, incidents, level_at, middle, number, verb
from tuimon.model.alerts import Alert
from tuimon.store import Run
from tuimon.vocabulary import classify

_BASELINE = 20
_HINT = "read some responses; is length rewarded? Look at truncation and repetition"


class Length(Struct, frozen=True):
    id: str = "length"
    title: str = "Response length"
    ratio: float = 2.0
    shrinks: float = 0.3

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time and direction."""
        for curve in curves(run, "length.response"):
            if classify(curve.metric).unit == "steps":
                continue  # the length of an episode in an environment, which a good policy may stretch
            for falls, factor in ((False, self.ratio), (True, 1 / self.shrinks)):
                rule = AgainstStart(factor, 0.8 * factor, baseline=_BASELINE, falls=falls)
                for incident in incidents(curve, rule):
                    start = middle(curve, 0, _BASELINE - 1)
                    now = middle(curve, incident.raised - 8, incident.raised)
                    way = verb(incident, "has fallen", "fell") if falls else verb(incident, "has grown", "grew")
                    message = (
                        f"{curve.metric} {way} to {number(now)}, {now / start:.2g} times its start of {number(start)},"
                    )
                    severity = "info" if falls or _pays(run, int(curve.steps[incident.raised])) else "warning"
                    yield alert(run, curve, incident, self.id, severity, message, _HINT)


def _pays(run: Run, step: int) -> bool:
    """Whether the reward had risen until that step."""
    for curve in curves(run, "reward.train"):
        end = int(curve.steps.searchsorted(step, "right"))
        if end < 2 * _BASELINE:
            return False
        _, noise = level_at(curve, end - 1)
        return middle(curve, end - 9, end - 1) - middle(curve, 0, 8) > 2 * noise
    return False


DETECTOR = Length()
