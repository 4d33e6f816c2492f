"""Preference optimisation degenerates: the model no longer writes the chosen texts, although the margin grows.

Rule: the median of nine of the log-probability of the chosen texts lies below the median of its first 10 points by more
than `part` of that, for 5 points, and meanwhile the margin is above `ratio` times its median in the first half of the
points before and at least `accuracy` of the pairs are ranked correctly (if accuracies are logged). In runs without
log-probabilities, the implicit reward of the chosen texts has to fall by more than `reward` instead. The alert begins
at the onset of the fall. Healthy runs also make the chosen texts less probable, but by less, or without ranking nearly
all pairs correctly.
Source: "Smaug" (arXiv 2402.13228) and "Unintentional Unalignment" (arXiv 2410.08847) describe it; the numbers are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.incidents import Incident
from tuimon.analysis.level_rules import FallFromStart
from tuimon.analysis.windows import median_of_nine
from tuimon.detectors._curves import alert, from_onsets, incidents, median_of_rows, reached_level
from tuimon.model.alerts import Alert, Change
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_BASELINE = 10
_HINT = (
    "use a checkpoint from before; raise beta, add a supervised term on the chosen texts (rpo_alpha), lower the"
    " learning rate, or train for fewer epochs"
)


class PreferenceCollapse(Struct, frozen=True):
    id: str = "preference_collapse"
    title: str = "Preference collapse"
    part: float = 0.3
    """Part of the log-probability of the chosen texts, as it was at the start, by which it has fallen."""
    reward: float = 10.0
    """Decrease of the implicit reward of the chosen texts, in runs that log no log-probability."""
    ratio: float = 3.0
    """Margin, relative to the usual one: its median in the first half of the points before the fall."""
    accuracy: float = 0.95
    """Share of the pairs that are ranked correctly, as a median of nine points."""

    def check(self, run: Run) -> Iterator[Alert]:
        margin = next((c for c in curves(run, "reward.margin") if "kind" not in classify(c.metric).facets), None)
        if margin is None:
            return
        accuracy = next(curves(run, "success.pref"), None)
        is_relative = True
        chosen = next(_chosen(run, "logprob"), None)
        if chosen is None:
            is_relative, chosen = False, next(_chosen(run, "reward.margin"), None)
        if chosen is None:
            return
        limit = self.part if is_relative else self.reward
        rule = FallFromStart(limit, 0.5 * limit, is_relative, _BASELINE)
        for incident, moved in zip(incidents(chosen, rule), from_onsets(chosen, rule, falls=True), strict=True):
            rise = self._rise_of_margin(chosen, incident, margin, accuracy)
            if rise is None:
                continue
            usual, highest = rise
            start, now = median_of_rows(chosen, 0, _BASELINE - 1), reached_level(chosen, incident, highest=False)
            related = (Change(margin.metric, "risen", highest, usual),)
            yield alert(run, chosen, moved, self.id, "warning", "fallen", now, start, hint=_HINT, related=related)

    def _rise_of_margin(
        self, chosen: Curve, fall: Incident, margin: Curve, accuracy: Curve | None
    ) -> tuple[float, float] | None:
        """Return (usual margin before a fall, highest in it); None unless a row of it meets all other conditions."""
        steps = chosen.steps[fall.raised : fall.last + 1]
        usual = median_of_rows(margin, 0, (int(margin.steps.searchsorted(steps[0], "right")) - 1) // 2)
        levels = _levels_at(margin, steps)
        degenerate = (levels > 0) & (levels > self.ratio * usual)
        if accuracy is not None:
            degenerate &= _levels_at(accuracy, steps) >= self.accuracy
        return (usual, float(np.nanmax(levels))) if degenerate.any() else None


def _levels_at(curve: Curve, steps: Steps) -> Floats:
    """Return the median of nine of a curve at each of some ascending steps; NaN without nine points."""
    rows = curve.steps.searchsorted(steps, "right") - 1
    begin = max(int(rows[0]), 0)
    levels = np.concatenate((median_of_nine(curve.values[: int(rows[-1]) + 1], begin), [np.nan]))
    return levels[np.where(rows < 0, -1, rows - begin)]


def _chosen(run: Run, concept: str) -> Iterator[Curve]:
    """Yield the curves of a concept for the chosen texts; not `chosen_reward`, which may be that of a reward model."""
    for curve in curves(run, concept, all_names=True):
        if classify(curve.metric).facets.get("kind") == "chosen":
            yield curve


DETECTOR = PreferenceCollapse()
