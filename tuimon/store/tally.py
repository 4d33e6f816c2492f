"""What is counted over a column of values: how many are not finite and where, and where the extremes are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.model.points import Floats

Indices = npt.NDArray[np.int64]


def _none() -> Indices:
    return np.empty(0, np.int64)


class Tally(Struct, frozen=True, eq=False):
    """Counts over the first `length` values; `extended` counts on at the cost of what is new."""

    length: int = 0
    nan_count: int = 0
    infinity_count: int = 0
    lowest: int = -1
    """Index of the (first) smallest finite value; -1: none is finite."""
    highest: int = -1
    bad_starts: Indices = field(default_factory=_none)
    """Runs of non-finite values: [bad_starts[i], bad_ends[i]), ascending, never touching each other."""
    bad_ends: Indices = field(default_factory=_none)

    def extended(self, values: Floats) -> Tally:
        """The tally of all of `values`, whose first `length` rows are those counted already."""
        new = values[self.length :]
        if len(new) == 0:
            return self
        finite = np.isfinite(new)
        starts, ends = self.bad_starts, self.bad_ends
        nan_count, infinity_count = self.nan_count, self.infinity_count
        low, high = new, new
        if not finite.all():
            nans = int(np.isnan(new).sum())
            nan_count += nans
            infinity_count += len(new) - int(finite.sum()) - nans
            starts, ends = self._runs(finite)
            low, high = np.where(finite, new, np.inf), np.where(finite, new, -np.inf)
        lowest, highest = self.lowest, self.highest
        if finite.any():
            at = int(low.argmin())
            if lowest < 0 or low[at] < values[lowest]:
                lowest = self.length + at
            at = int(high.argmax())
            if highest < 0 or high[at] > values[highest]:
                highest = self.length + at
        return Tally(len(values), nan_count, infinity_count, lowest, highest, starts, ends)

    def _runs(self, finite: npt.NDArray[np.bool_]) -> tuple[Indices, Indices]:
        bad = np.zeros(len(finite) + 2, np.int8)
        bad[1:-1] = ~finite
        change = np.flatnonzero(np.diff(bad)) + self.length
        starts, ends = change[::2], change[1::2]
        if len(self.bad_ends) and self.bad_ends[-1] == starts[0]:
            return np.concatenate((self.bad_starts, starts[1:])), np.concatenate((self.bad_ends[:-1], ends))
        return np.concatenate((self.bad_starts, starts)), np.concatenate((self.bad_ends, ends))

    def finite_from(self, at: Indices) -> Indices:
        """For each index, the first finite value at or after it; may be `length`, when none follows."""
        if len(self.bad_starts) == 0:
            return at
        run = np.searchsorted(self.bad_starts, at, "right") - 1
        end = self.bad_ends[np.maximum(run, 0)]
        return np.where((run >= 0) & (end > at), end, at)

    def finite_until(self, at: Indices) -> Indices:
        """For each index, the last finite value at or before it; may be -1."""
        if len(self.bad_starts) == 0:
            return at
        run = np.searchsorted(self.bad_starts, at, "right") - 1
        safe = np.maximum(run, 0)
        return np.where((run >= 0) & (self.bad_ends[safe] > at), self.bad_starts[safe] - 1, at)
