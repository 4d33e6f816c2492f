"""Mean and deviation of a column that grows, worked out for what is new alone.

Pieces are joined as in Chan, Golub & LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
Variances", 1979: nothing cancels, however far the mean is from 0.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats

_PIECE = 1 << 18
"""Values that are looked at at once, so that no copy of a long column is made."""


class Moments(Struct, frozen=True):
    """Of the finite ones of the first `length` values."""

    length: int = 0
    count: int = 0
    mean: float = math.nan
    squares: float = 0.0
    """The sum of the squared distances from the mean."""

    @property
    def deviation(self) -> float:
        """The standard deviation of the values (divided by their count); NaN without one."""
        return math.sqrt(self.squares / self.count) if self.count else math.nan

    def extended(self, values: Floats) -> Moments:
        """Those of all of `values`, whose first `length` rows are taken in already."""
        count, mean, squares = self.count, self.mean, self.squares
        for start in range(self.length, len(values), _PIECE):
            piece = values[start : start + _PIECE]
            piece = piece[np.isfinite(piece)]
            if not len(piece):
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                own = float(piece.mean())
                own_squares = float(np.square(piece - own).sum())
            if not count:
                count, mean, squares = len(piece), own, own_squares
                continue
            apart, both = own - mean, count + len(piece)
            mean += apart * (len(piece) / both)
            squares += own_squares + apart * apart * (count * (len(piece) / both))
            count = both
        return Moments(len(values), count, mean, squares)
