"""The policy has stopped exploring: its entropy has fallen to almost nothing before the reward has improved.

Rule: the median of nine of the entropy is at most `part` of the median of its first 10 points, for `points` points; or
at most `settled_part` of the level on which it had settled at half of the points so far (128 points whose eighths
differ by a quarter at most): healthy learners lose more since their start, but not after the entropy had settled. Not
if the reward is near its maximum, because a solved task leaves nothing to explore; nor for the entropy of continuous
actions, which may be negative. Or it is 0 for `zero_points` points, also from the start (not in console text, which may
be rounded).
Source: DAPO (arXiv 2503.14476) and "The Entropy Mechanism" (arXiv 2505.22617) describe it; the numbers are ours.
rlwatch's limit of 1 nat fires on healthy runs of language models, which start at 0.3 to 0.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.incidents import Incident
from tuimon.analysis.level_rules import AgainstSettled, AgainstStart
from tuimon.analysis.rules import Threshold
from tuimon.detectors._curves import (
    alert,
    changes_from_settled,
    changes_from_start,
    from_console,
    incidents,
    merged,
    reached_level,
)
from tuimon.detectors._policy import discrete_entropies
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_ZERO = 1e-9
_SPREAD = 1.25
_HINT = "raise the entropy bonus or the upper clip range, or lower the learning rate"


class EntropyCollapse(Struct, frozen=True):
    id: str = "entropy_collapse"
    title: str = "Entropy collapse"
    part: float = 0.1
    """Level of the entropy, relative to its start."""
    points: int = 20
    """Points in a row."""
    zero_points: int = 5
    """Points in a row at which the entropy is 0."""
    settled_part: float = 0.3
    """Level of the entropy, relative to the level on which it had settled."""

    def check(self, run: Run) -> Iterator[Alert]:
        high = 1 / self.part
        rule = AgainstStart(high, 0.7 * high, baseline=10, falls=True, raise_after=self.points)
        high = 1 / self.settled_part
        settled = AgainstSettled(high, 0.6 * high, _SPREAD, blocks=8, falls=True, raise_after=self.points)
        for curve in discrete_entropies(run):
            zeros = self._zeros(run, curve)
            for incident in zeros:
                yield alert(run, curve, incident, self.id, "warning", "zero", 0.0, hint=_HINT)
            if zeros:
                continue
            changes = [*changes_from_start(curve, rule), *changes_from_settled(curve, settled)]
            lost = [change for change in changes if not near_ceiling(run, int(curve.steps[change[0].raised]))]
            for incident, level in merged(lost):
                now = reached_level(curve, incident, highest=False)
                yield alert(run, curve, incident, self.id, "warning", "fallen", now, level, hint=_HINT)

    def _zeros(self, run: Run, curve: Curve) -> list[Incident]:
        if from_console(run, curve):
            return []
        rule = Threshold(_ZERO, _ZERO, self.zero_points, 5, below=True)
        return [i for i in incidents(curve, rule) if not near_ceiling(run, int(curve.steps[i.raised]))]


DETECTOR = EntropyCollapse()
