"""The policy has stopped to explore: its entropy has fallen to next to nothing before the reward is won.

Rule: the median of nine of the entropy is below `part` of the median of its first 10 points, for `points` points; not
where the reward is near its highest, as a solved task leaves nothing to explore, nor for the entropy of continuous
actions, which goes below 0.
Source: DAPO (arXiv 2503.14476) and "The Entropy Mechanism" (arXiv 2505.22617) describe it; the figures are ours.
rlwatch's limit of 1 nat fires on healthy runs of language models, which begin at 0.3 to 0.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import AgainstStart
from tuimon.detectors._curves import alert, incidents, middle, number, percent, verb
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert
from tuimon.store import Run
from tuimon.vocabulary import classify

_BASELINE = 10
_HINT = "raise the entropy bonus or the upper clip range, lower the learning rate"


class EntropyCollapse(Struct, frozen=True):
    id: str = "entropy_collapse"
    title: str = "Entropy collapse"
    part: float = 0.1
    points: int = 20

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time."""
        high = 1 / self.part
        rule = AgainstStart(high, 0.7 * high, baseline=_BASELINE, falls=True, raise_after=self.points)
        for curve in curves(run, "entropy"):
            if curve.min is None or curve.min.value < 0 or classify(curve.metric).sign_auto:
                continue
            for incident in incidents(curve, rule):
                if near_ceiling(run, int(curve.steps[incident.raised])):
                    continue
                start = middle(curve, 0, _BASELINE - 1)
                now = middle(curve, incident.raised - 8, incident.raised)
                message = (
                    f"{curve.metric} {verb(incident, 'has fallen', 'fell')} to {number(now)}, {percent(now / start)} of"
                    f" its start of {number(start)},"
                )
                yield alert(run, curve, incident, self.id, "warning", message, _HINT)


DETECTOR = EntropyCollapse()
