"""Comparison of one metric in two sources: whether they count steps alike, and steps at which they disagree.

A comparison is kept from snapshot to snapshot and extended, so that each point is compared once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.model.points import Floats, Indices, Steps
from tuimon.store.arrays import usual_stride
from tuimon.store.columns import PointColumns

TEXT = 10
"""Highest rank of sources that are text for people, whose values are rounded."""
_FLOAT32 = 1e-6
"""Relative tolerance: a few times the rounding error of a float32."""
_PRINTED = 5e-3
"""Relative tolerance: rounding to 3 significant digits."""
_COARSEST = 2
"""Minimum number of decimals of both sources for a difference to count as rounding; text may round to integers."""
_PRINTED_ZERO = 5.01e-4
"""Values below this are printed as 0.000."""
_FINEST = 12
"""Most decimals that are distinguished."""
_HOLE = 3
"""A distance of more than this many usual strides is a hole."""
_FEWEST = 4
"""Minimum number of points for a usual stride."""
_EARLY = 64
"""Rows up to which a comparison is repeated from the start, which is cheap."""
_SAMPLE = 256


class SupersededPoints(NamedTuple):
    """Points that are not drawn, in logged order."""

    steps: Steps
    values: Floats
    wall_times: Floats
    segments: Indices
    """Number of the segment of each point."""
    hiding_steps: Steps
    """Step at which the segment that hides each point takes over."""


Superseded: TypeAlias = Callable[[], SupersededPoints]
"""Returns superseded points."""


class Disagreement(NamedTuple):
    """A metric has different values in two sources."""

    step: int
    """First step at which they differ."""
    here: float
    """Value as drawn."""
    there: float
    """Value in the other source."""
    source: str
    """Name of the other source."""
    steps: int
    """Number of steps at which they differ."""


def decimals(values: Floats) -> int:
    """Return with how many decimals (up to 12) the finite values are written; 0 if none is finite."""
    if len(values) > _SAMPLE:
        values = values[np.linspace(0, len(values) - 1, _SAMPLE).astype(np.int64)]
    values = np.abs(values[np.isfinite(values)])
    values = values[values < 1e6]
    for count in range(_FINEST):
        scaled = values * 10.0**count
        if (np.abs(scaled - np.rint(scaled)) < 1e-6).all():
            return count
    return _FINEST


class _State(NamedTuple):
    """Counts of a Comparison before its last row."""

    seen: int
    common: int
    differing: int
    between: int
    first: tuple[int, float, float] | None


class Comparison(Struct, eq=False):
    """Points of another source compared with those of the best one. Not thread-safe."""

    best: PointColumns
    other: PointColumns
    text: bool
    """Whether either is text for people."""
    best_length: int = 0
    """Length of the best source at the last call of `extend`."""
    other_length: int = 0
    """Length of the other source at the last call of `extend`."""
    seen: int = 0
    """Rows of the other source compared so far; rows after the best source's last step are compared later."""
    common: int = 0
    """Steps that both have."""
    differing: int = 0
    """Common steps with different values."""
    between: int = 0
    """Points of the other source between neighbours of the best one whose distance is usual."""
    first: tuple[int, float, float] | None = None
    """(step, value of the best, value of the other) at the first difference."""
    _before_last: _State | None = None

    def is_newer(self, best_length: int, other_length: int) -> bool:
        """Return whether more has been compared than an older snapshot with these lengths has."""
        return best_length < self.best_length or other_length < self.other_length

    @property
    def is_early(self) -> bool:
        """Whether too few rows were compared for a reliable usual stride and number of decimals."""
        return self.seen < _EARLY

    def extend(self, best_length: int, other_length: int, superseded: Superseded | None = None) -> None:
        """Compare the points added since the last call; both sources have at least one point.

        superseded: reads the superseded points of the best source. A value that agrees with one of these comes from an
        earlier attempt and is no disagreement.
        """
        self.best_length, self.other_length = best_length, other_length
        if self._before_last is not None:
            self.seen, self.common, self.differing, self.between, self.first = self._before_last
        ours, theirs = self.best.steps[:best_length], self.other.steps[self.seen : other_length]
        theirs = theirs[: int(np.searchsorted(theirs, ours[-1], "right"))]
        if not len(theirs):
            return
        if len(theirs) > 1:
            self._compare(ours, theirs, len(theirs) - 1, superseded)
        # Either source may log its last step again, so the last row is compared again in the next call.
        self._before_last = _State(self.seen, self.common, self.differing, self.between, self.first)
        self._compare(ours, theirs[-1:], 1, superseded)

    def _compare(self, ours: Steps, theirs: Steps, count: int, superseded: Superseded | None) -> None:
        """Compare the next `count` rows of the other source, given its steps from the first of them on."""
        start, self.seen = self.seen, self.seen + count
        following, theirs = theirs[1 : count + 1], theirs[:count]
        matches = _last_until(ours, theirs)
        common = matches >= 0
        common[common] = ours[matches[common]] == theirs[common]
        apart = np.flatnonzero(~common & (matches >= 0))
        if len(apart):
            self._interleave(ours, matches[apart])
        common[: len(following)] &= following != theirs[: len(following)]  # the last of equal steps counts
        rows = np.flatnonzero(common)
        if not len(rows):
            return
        self.common += len(rows)
        here, there = self.best.values[matches[rows]], self.other.values[start + rows]
        wrong = np.flatnonzero(~self._agree(here, there))
        if len(wrong) and superseded is not None:
            wrong = wrong[~self._is_superseded(theirs[rows[wrong]], there[wrong], superseded())]
        if len(wrong):
            self.differing += len(wrong)
            if self.first is None:
                first = wrong[0]
                self.first = int(theirs[rows[first]]), float(here[first]), float(there[first])

    def agreement(self, here: Floats, there: Floats) -> float:
        """Return the fraction of value pairs that agree; the arrays have equal length and are not empty."""
        return float(self._agree(here, there).mean())

    def _interleave(self, ours: Steps, previous: Indices) -> None:
        """Count rows of the other source that lie between the best source's rows `previous` and `previous` + 1."""
        usual = usual_stride(ours) if len(ours) >= _FEWEST else 0
        wide = ours[previous + 1] - ours[previous] > usual * _HOLE if usual else np.zeros(len(previous), np.bool_)
        self.between += len(previous) - int(wide.sum())

    def _agree(self, here: Floats, there: Floats) -> npt.NDArray[np.bool_]:
        """Return which pairs are equal, both NaN, or equal up to float32 precision or the digits written."""
        relative = _PRINTED if self.text else _FLOAT32
        with np.errstate(invalid="ignore", over="ignore"):
            same = (here == there) | (np.isnan(here) & np.isnan(there))
            close = np.abs(here - there) <= relative * np.maximum(np.abs(here), np.abs(there))
            agree = same | (close & np.isfinite(here) & np.isfinite(there))
            if not agree.all():
                written = min(decimals(self.best.values[: self.best_length]), decimals(self.other.values[: self.seen]))
                if (0 if self.text else _COARSEST) <= written < _FINEST:
                    agree |= np.abs(here - there) <= 0.5001 * 10.0**-written
                if self.text:
                    agree |= (here * there == 0) & (np.abs(here + there) < _PRINTED_ZERO)
        return np.asarray(agree)

    def _is_superseded(self, steps: Steps, values: Floats, superseded: SupersededPoints) -> npt.NDArray[np.bool_]:
        """Return which of the points agree with a superseded point of the best source."""
        order = np.argsort(superseded.steps, kind="stable")
        old_steps, old_values = superseded.steps[order], superseded.values[order]
        left, right = np.searchsorted(old_steps, steps, "left"), np.searchsorted(old_steps, steps, "right")
        result = np.zeros(len(steps), np.bool_)
        for attempt in range(int((right - left).max(initial=0))):
            known = np.flatnonzero(left + attempt < right)
            result[known] |= self._agree(old_values[left[known] + attempt], values[known])
        return result


def _last_until(ours: Steps, theirs: Steps) -> Indices:
    """Return for each step of `theirs` the row of the last step of `ours` that is not greater, or -1.

    Both ascend.
    """
    if len(theirs) == 1:
        return ours.searchsorted(theirs, "right") - 1
    begin = int(np.searchsorted(ours, theirs[0], "left"))
    if len(ours) - begin >= len(theirs) and np.array_equal(ours[begin : begin + len(theirs)], theirs):
        end = begin + len(theirs)
        distinct = bool((theirs[1:] > theirs[:-1]).all()) and (end == len(ours) or ours[end] > theirs[-1])
        if distinct:  # the usual case, 100 times faster than a search
            return np.arange(begin, end)
    return np.searchsorted(ours, theirs, "right") - 1
