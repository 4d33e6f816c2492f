"""Incremental aggregates of an append-only column: counts of non-finite values, and extremes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.model.points import Floats, Indices


def _no_indices() -> Indices:
    return np.empty(0, np.int64)


class Tally(Struct, frozen=True, eq=False):
    """Number and positions of non-finite values, and positions of the extremes, of the first `length` values.

    Immutable; `extended` returns the tally of a longer column at the cost of its new rows.
    """

    length: int = 0
    nan_count: int = 0
    infinity_count: int = 0
    lowest: int = -1
    """Index of the first smallest finite value; -1 if no value is finite."""
    highest: int = -1
    """Index of the first largest finite value; -1 if no value is finite."""
    bad_starts: Indices = field(default_factory=_no_indices)
    """First index of each stretch [bad_starts[i], bad_ends[i]) of non-finite values; ascending, never adjacent."""
    bad_ends: Indices = field(default_factory=_no_indices)
    """End of each stretch of non-finite values."""

    def extended(self, values: Floats) -> Tally:
        """Return the tally of all of `values`, whose first `length` rows are already counted."""
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
            starts, ends = self._stretches(finite)
            low, high = np.where(finite, new, np.inf), np.where(finite, new, -np.inf)
        lowest, highest = self.lowest, self.highest
        if finite.any():
            index = int(low.argmin())
            if lowest < 0 or low[index] < values[lowest]:
                lowest = self.length + index
            index = int(high.argmax())
            if highest < 0 or high[index] > values[highest]:
                highest = self.length + index
        return Tally(len(values), nan_count, infinity_count, lowest, highest, starts, ends)

    def _stretches(self, finite: npt.NDArray[np.bool_]) -> tuple[Indices, Indices]:
        bad = np.zeros(len(finite) + 2, np.int8)
        bad[1:-1] = ~finite
        change = np.flatnonzero(np.diff(bad)) + self.length
        starts, ends = change[::2], change[1::2]
        if len(self.bad_ends) and self.bad_ends[-1] == starts[0]:
            return np.concatenate((self.bad_starts, starts[1:])), np.concatenate((self.bad_ends[:-1], ends))
        return np.concatenate((self.bad_starts, starts)), np.concatenate((self.bad_ends, ends))

    def finite_from(self, rows: Indices) -> Indices:
        """Return for each row the first row at or after it with a finite value; `length` if there is no such row."""
        if len(self.bad_starts) == 0:
            return rows
        stretch = np.searchsorted(self.bad_starts, rows, "right") - 1
        end = self.bad_ends[np.maximum(stretch, 0)]
        return np.where((stretch >= 0) & (end > rows), end, rows)

    def finite_until(self, rows: Indices) -> Indices:
        """Return for each row the last row at or before it with a finite value; -1 if there is no such row."""
        if len(self.bad_starts) == 0:
            return rows
        stretch = np.searchsorted(self.bad_starts, rows, "right") - 1
        safe = np.maximum(stretch, 0)
        return np.where((stretch >= 0) & (self.bad_ends[safe] > rows), self.bad_starts[safe] - 1, rows)
