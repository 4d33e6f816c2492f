"""Validation series beside the training curve: incidents in which validation gets worse than its best."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.incidents import Incident, Incidents
from tuimon.analysis.rules import Threshold
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve

_NEWEST = 1024
"""Validations that are examined."""


class Validations(Struct, frozen=True):
    """The newest validations of a series. Arrays of one length."""

    values: Floats
    steps: Steps
    best: npt.NDArray[np.int64]
    """For each validation, the row of the best one so far; the first of equals."""
    train_ends: npt.NDArray[np.int64]
    """For each validation, the number of training points up to its step."""
    offset: int
    """Older validations, which are left out."""

    @property
    def typical_change(self) -> float:
        """Median difference of neighbouring validations."""
        return float(np.median(np.abs(np.diff(self.values))))

    def incidents(self, scores: Floats, rule: Threshold) -> Iterator[tuple[Incident, int, int]]:
        """Yield (incident in rows of the whole series, row of the best validation, row of the last one).

        The rows of the best and of the last validation are rows of these arrays. Scores that are not finite count as 0.
        """
        finite = np.where(np.isfinite(scores), scores, 0.0)
        for incident in Incidents().extended(finite, rule).incidents:
            yield incident.shifted(self.offset), int(self.best[incident.raised]), incident.last


def newest_validations(train: Curve, validation: Curve, fewest: int, higher_is_better: bool) -> Validations | None:
    """Return the newest validations; None if there are fewer than `fewest`, or if one of them is not finite."""
    offset = max(0, len(validation) - _NEWEST)
    values, steps = validation.values[offset:], validation.steps[offset:]
    if len(values) < fewest or not np.isfinite(values).all():
        return None
    best_values = np.maximum.accumulate(values if higher_is_better else -values)
    improved = np.concatenate(([True], best_values[1:] > best_values[:-1]))
    best = np.maximum.accumulate(np.where(improved, np.arange(len(values)), 0))
    return Validations(values, steps, best, np.searchsorted(train.steps, steps, "right"), offset)
