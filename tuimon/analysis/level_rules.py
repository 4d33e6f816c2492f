"""Rules that compare the current level with an earlier one: score functions for incidents.py, as those of rules.py.

AgainstStart        the current level compared with that of the start
BlocksAgainstStart  that of a longer time, against the noise of the start and how far values have returned
FallFromStart       the difference of the current level and that of the start, of values that may be negative
AgainstSettled      the current level compared with a settled level of the first half
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.statistics import MAD_TO_DEVIATION
from tuimon.analysis.windows import BLOCK, median_of_blocks, median_of_nine, settled
from tuimon.model.points import Floats

_TINY = 1e-300
_LEVEL_BLOCKS = 3
"""Blocks of the level that is compared with the start for a longer time."""
_EARLY_BLOCKS = 14
"""Blocks of a run in which too little is known of how slowly its values wander."""


class AgainstStart(Struct, frozen=True):
    """Score: the median of nine divided by the median of `baseline` points after the first `skip`.

    If `falls`, the inverse. NaN if the start is not above 0.
    """

    high: float
    low: float
    baseline: int = 20
    skip: int = 0
    falls: bool = False
    raise_after: int = 5
    clear_after: int = 10

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        end = self.skip + self.baseline
        if carried is None and len(values) >= end:
            carried = float(np.median(values[self.skip : end]))
        if carried is None or not carried > 0:
            return np.full(len(values) - begin, np.nan), carried
        scores = _ratios(median_of_nine(values, begin), carried, self.falls)
        if begin < end:
            scores[: end - begin] = np.nan
        return scores, carried


class BlocksAgainstStart(Struct, frozen=True):
    """Score: the median of the last three whole blocks of 16 divided by the median of `baseline` points after the first
    `skip`; if `falls`, the inverse.

    While no incident is active, a score is less than `high` unless the change is also as large as the noise of a point,
    the robust deviation of the `baseline` points (in the first 224 points as large as six times that), and as four
    times the largest return so far, from which half of that noise is subtracted. A return is a change of such medians
    in the opposite direction: values that wander slowly return as far as they move. NaN in the first 64 rows, and if
    the start is not above 0.
    """

    high: float
    low: float
    baseline: int
    skip: int = 0
    falls: bool = False
    raise_after: int = 3 * BLOCK + 1  # the medians of four blocks
    clear_after: int = 3 * BLOCK

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        first = (_LEVEL_BLOCKS + 1) * BLOCK
        if carried is None and len(values) >= max(first, self.skip + self.baseline):
            start = self._start(values)
            noise = MAD_TO_DEVIATION * float(np.median(np.abs(start - np.median(start))))
            carried = float(np.median(start)), noise, -np.inf, 0.0
        if carried is None or not carried[0] > 0:
            return np.full(len(values) - begin, np.nan), carried
        level, noise, farthest, returned = carried
        now = median_of_blocks(values, begin, _LEVEL_BLOCKS)
        now[: max(0, first - begin)] = np.nan
        change = level - now if self.falls else now - level
        peaks = np.fmax.accumulate(np.fmax(change, farthest))
        returns = np.fmax.accumulate(np.fmax(peaks - change, returned))
        early = np.arange(begin, len(values)) < _EARLY_BLOCKS * BLOCK
        least = np.maximum(np.where(early, 6 * noise, noise), 4 * (returns - noise / 2))
        scores = np.minimum(_ratios(now, level, self.falls), 1 + (self.high - 1) * change / np.maximum(least, _TINY))
        return scores, (level, noise, float(peaks[-1]), float(returns[-1]))

    def active_scores(self, values: Floats, begin: int, first: int) -> Floats:
        level = float(np.median(self._start(values)))
        return _ratios(median_of_blocks(values, begin, _LEVEL_BLOCKS), level, self.falls)

    def _start(self, values: Floats) -> Floats:
        return values[self.skip : self.skip + self.baseline]


class FallFromStart(Struct, frozen=True):
    """Score: how far the median of nine is below the median of the first `baseline` points.

    If `is_relative`, the part of the magnitude of that median, which must be below 0 (log-probabilities); NaN if it is
    not.
    """

    high: float
    low: float
    is_relative: bool
    baseline: int
    raise_after: int = 5
    clear_after: int = 10

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        if carried is None and len(values) >= self.baseline:
            carried = float(np.median(values[: self.baseline]))
        if carried is None or (self.is_relative and not carried < 0):
            return np.full(len(values) - begin, np.nan), carried
        scores = (carried - median_of_nine(values, begin)) / (-carried if self.is_relative else 1.0)
        scores[: max(0, self.baseline - begin)] = np.nan
        return scores, carried


class AgainstSettled(Struct, frozen=True):
    """Score: the median of nine divided by the settled level at half of the points so far; if `falls`, the inverse.

    The level is that of `windows.settled`; rows with a level below `least` have no score. As it lies half of the
    history back, values that grow in proportion to the steps score 2 only, and a long smooth rise does not lift the
    level. Values below `floor` score less than `high`. While an incident is active, the level from before its begin is
    used.
    """

    high: float
    low: float
    spread: float
    blocks: int = 4
    least: float = 0.0
    floor: float = 0.0
    falls: bool = False
    raise_after: int = 5
    clear_after: int = 10

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        first, last = begin // 2, (len(values) - 1) // 2
        levels = settled(values[: last + 1], first, self.spread, self.blocks)
        return self._scores(values, begin, levels[np.arange(begin, len(values)) // 2 - first]), None

    def active_scores(self, values: Floats, begin: int, first: int) -> Floats:
        return self._scores(values, begin, np.array([self.level(values, first)]))

    def level(self, values: Floats, row: int) -> float:
        """Return the level with which a row is compared; NaN if the values have not settled before."""
        return float(settled(values[: row // 2 + 1], row // 2, self.spread, self.blocks)[0])

    def _scores(self, values: Floats, begin: int, levels: Floats) -> Floats:
        now = median_of_nine(values, begin)
        scores = _ratios(now, levels, self.falls)
        if self.floor:
            with np.errstate(over="ignore"):
                scores = np.minimum(scores, self.high * now / self.floor)
        return np.where((levels > 0) & (levels >= self.least), scores, np.nan)


def _ratios(now: Floats, level: Floats | float, falls: bool) -> Floats:
    """Return the current levels divided by the level they are compared with; if `falls`, the inverse."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios: Floats = level / np.maximum(now, _TINY) if falls else now / level
    return ratios
