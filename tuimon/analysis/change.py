"""change(): by how much the level of a curve has changed over its last tenth, or over its whole length.

    LevelChange(before=0.62, after=0.71, error=0.01, ...).direction == "rising"

- A level is the mean of a tenth of the points, its error that of analysis/level.py, or that of all second differences
  where it is surer.
- A change counts if noise explains it in less than 1 % of the cases, and if no rounding to 32 bits does. A curve that
  only rises has risen.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.analysis.level import chance_of, level_error, most_noise, points_of_level
from tuimon.model.points import Floats

_FEWEST = 6
"""Number of finite points from which a change is known."""
_FEWEST_FLAT = 20
"""Number of finite points from which a curve is flat if nothing shows that it moves."""
_MOST = 2048
"""Number of points, evenly chosen, that are examined of a longer curve, because charts are drawn often."""
_ROUNDING = 2.0**-20
"""Part of the level below which a change may be the rounding of 32-bit floats."""
_CHANCE = 0.01
"""Probability with which noise alone is called a change."""


class LevelChange(Struct, frozen=True):
    """Difference of two levels of a curve."""

    before: float
    after: float
    error: float
    """Standard error of the difference; NaN if it is unknown."""
    freedom: int
    """Degrees of freedom of the error."""
    points: int
    """Number of points from which it is known."""
    only_moves: bool = False
    """Whether each point lies beyond the one before."""

    @property
    def change(self) -> float:
        """after - before."""
        return self.after - self.before

    @property
    def p_value(self) -> float:
        """Probability with which noise alone makes such a change; 1 for one of rounding, NaN if it is unknown."""
        if abs(self.change) <= _ROUNDING * max(abs(self.after), abs(self.before)):
            return 1.0
        if self.only_moves:
            return 2 / math.factorial(min(self.points, 20))
        return chance_of(self.change / self.error, self.freedom) if self.error else 0.0

    @property
    def direction(self) -> str:
        """rising | falling | flat (noise explains the change) | unknown (too few points)."""
        if self.p_value < _CHANCE:
            return "rising" if self.change > 0 else "falling"
        return "flat" if self.points >= _FEWEST_FLAT or not self.error else "unknown"

    @property
    def ratio(self) -> float:
        """Relative change; NaN unless the level before is above 0."""
        return self.change / self.before if self.before > 0 else math.nan


def change(values: Floats, whole: bool = False) -> LevelChange | None:
    """Return the change of the level over the last tenth of the values; None with fewer than 6 finite ones.

    whole: from the first tenth to the last one instead.
    """
    stride = max(len(values) // _MOST, 1)
    known = values[(len(values) - 1) % stride :: stride]
    known = known[np.isfinite(known)]
    if len(known) < _FEWEST:
        return None
    scale = float(np.abs(known).max()) or 1.0  # so that no square overflows
    known = known / scale
    count = points_of_level(len(known))
    error, freedom = level_error(known, count)
    if whole:
        first, freedom_first = level_error(known[::-1], count)
        errors, freedom = math.hypot(error, first), min(freedom, freedom_first)
        before = float(known[:count].mean())
    else:
        errors, before = math.sqrt(2) * error, float(known[-2 * count : -count].mean())
    most = math.sqrt(2) * most_noise(known, caution=1.0)
    moved = float(known[-count:].mean()) - before
    by_bends = chance_of(moved / most if most else math.inf, len(known) - 2)
    if errors and not chance_of(moved / errors, freedom) < by_bends:
        errors, freedom = most, len(known) - 2
    moves = np.sign(np.diff(known))
    return LevelChange(
        before * scale,
        float(known[-count:].mean()) * scale,
        errors * scale,
        freedom,
        len(known),
        whole and bool((moves == moves[0]).all() and moves[0]),
    )
