"""Rules for curves: score functions for incidents.py. Each reads a bounded number of points before the new ones.

Threshold  beyond a limit for a number of points
Spike      far above the usual level of the points before
LocalSpike far above that level, or above the local level of a curve with a trend
Runaway    the current level is far above the usual one
Plunge     a small part of the level a few points before
FromBest   the part of the gain that is lost
Flat       the level is that of a number of points before

Those that compare the current level with that of the start or with a settled one are in level_rules.py, and those for
growth all along a window in creep.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.windows import NINE, local, median_of_nine, usual, usual_at
from tuimon.model.points import Floats

_TINY = 1e-300
_STEADY, _UNSTEADY = 4.0, 3.0
LEVEL = 50
"""Points of the mean that is the level of a curve that may be flat."""


class Threshold(Struct, frozen=True):
    """Score: the value, or its median of nine if `smooth`; with the opposite sign if low values are bad (`below`).

    Scores beyond `limit` raise an incident, those not beyond `good` clear it; a score that equals either is not beyond
    it (see `inclusive`). The first `skip` points are ignored.
    """

    limit: float
    good: float
    raise_after: int
    clear_after: int
    below: bool = False
    smooth: bool = False
    skip: int = 0

    @property
    def high(self) -> float:
        return math.nextafter(-self.limit if self.below else self.limit, math.inf)

    @property
    def low(self) -> float:
        return math.nextafter(-self.good if self.below else self.good, math.inf)

    def is_beyond(self, values: Floats) -> npt.NDArray[np.bool_]:
        """Return which values are beyond the limit, by the comparison that raises an incident. NaN is not."""
        beyond: npt.NDArray[np.bool_] = values < self.limit if self.below else values > self.limit
        return beyond

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        scores = median_of_nine(values, begin) if self.smooth else values[begin:]
        scores = -scores if self.below else scores
        if begin < self.skip:
            scores = scores.copy()
            scores[: self.skip - begin] = np.nan
        return scores, None


def inclusive(limit: float, below: bool = False) -> float:
    """Return the limit of a Threshold of which values that equal `limit` are also beyond."""
    return math.nextafter(limit, math.inf if below else -math.inf)


class Spike(Struct, frozen=True):
    """Score: 1 for a value `deviations` robust deviations above the usual level and `ratio` times that level.

    If the level is hardly above its noise, so that a ratio to it means little, three times as many deviations are
    required.
    """

    deviations: float
    ratio: float
    raise_after: int = 1
    clear_after: int = 8
    high: float = 1.0
    low: float = 0.4

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        level, noise, _ = usual(values, begin)
        return self.scores_above(values[begin:], level, noise), None

    def scores_above(self, values: Floats, level: Floats, noise: Floats) -> Floats:
        """Return the scores of values above a usual level with this noise."""
        unsteady = np.where(np.abs(level) < _STEADY * noise, _UNSTEADY, 1.0)
        return _excess(values, level, noise * unsteady, self.deviations, self.ratio)


class LocalSpike(Spike, frozen=True):
    """Score: that of a spike, or 1 for a value that is far above the local level of a curve with a trend.

    It must be `deviations` of the local noise above the local level (`windows.local`), `local_ratio` times that level,
    and `extremes` times as far from it as the extremes of the points before: noise with heavy tails has values far
    above its deviation.
    """

    local_ratio: float = 1.5
    extremes: float = 5.0

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        scores, _ = Spike.scores(self, values, begin, None)
        level, noise, extreme = local(values, begin)
        unsteady = np.where(np.abs(level) < _STEADY * noise, _UNSTEADY, 1.0)
        above = _excess(values[begin:], level, noise * unsteady, self.deviations, self.local_ratio)
        with np.errstate(over="ignore", invalid="ignore"):
            far = (values[begin:] - level) / np.maximum(extreme * self.extremes, _TINY)
        return np.fmax(scores, np.minimum(above, far)), None


class Runaway(Struct, frozen=True):
    """Score: 1 for a median of nine that is far above the usual level.

    It must be `deviations` above that level, `ratio` times it, `sudden` times the latest block (steady growth is not a
    runaway), and above `floor`. The first `skip` points are ignored. While an incident is active, values are compared
    with the level that was usual when it began.
    """

    deviations: float
    ratio: float
    sudden: float
    floor: float = 0.0
    skip: int = 0
    raise_after: int = 4
    clear_after: int = 8
    high: float = 1.0
    low: float = 0.5

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        level, noise, latest = usual(values, begin)
        now = median_of_nine(values, begin)
        far = np.minimum(_excess(now, level, noise, self.deviations, self.ratio), now / max(self.floor, _TINY))
        scores = np.minimum(far, now / np.maximum(np.abs(latest), _TINY) / self.sudden)
        scores[: max(0, self.skip - begin)] = np.nan
        return scores, None

    def active_scores(self, values: Floats, begin: int, first: int) -> Floats:
        level, _ = usual_at(values, first)
        return (median_of_nine(values, begin) - level) / max(abs(level) * (self.ratio - 1), self.floor, _TINY)


def _excess(now: Floats, level: Floats, noise: Floats, deviations: float, ratio: float) -> Floats:
    """Return the smaller of the excess in units of `deviations` and of that in units of `ratio`."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(level)
        above = now - level
        scores: Floats = above / np.maximum(noise, np.maximum(1e-3 * size, _TINY))
        scores /= deviations
        above /= np.maximum(size, _TINY, out=size)
        above /= ratio - 1
    return np.minimum(scores, above, out=scores)


class Plunge(Struct, frozen=True):
    """Score: `part` of the level before, divided by the value; the level is the median of nine of `raise_after` + 1
    points before.

    While an incident is active, the level is that from before it began. NaN if the level is not above 0.
    """

    part: float
    raise_after: int = 3
    clear_after: int = 10
    high: float = 1.0
    low: float = 0.5

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        lag = self.raise_after + 1
        first = max(0, begin - lag)
        levels = median_of_nine(values[: max(0, len(values) - lag)], first)
        levels = np.concatenate((np.full(len(values) - begin - len(levels), np.nan), levels))
        return self._scores(values[begin:], levels), None

    def active_scores(self, values: Floats, begin: int, first: int) -> Floats:
        row = first - self.raise_after - 1
        return self._scores(values[begin:], median_of_nine(values[: row + 1], row))

    def _scores(self, values: Floats, levels: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(levels > 0, self.part * levels / np.maximum(values, _TINY), np.nan)


class FromBest(Struct, frozen=True):
    """Score: the part of the gain since the start that is lost, by medians of nine; 1: all of it.

    If the gain is less than `deviations` of the noise, twice as many deviations are used instead; the noise is at least
    a fortieth of the best level. `rises`: higher is better.
    """

    high: float
    low: float
    rises: bool
    deviations: float = 4.0
    raise_after: int = 3
    clear_after: int = 10

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        sign = 1.0 if self.rises else -1.0
        now = sign * median_of_nine(values, begin)
        start, best = carried or (np.nan, -np.inf)
        if np.isnan(start) and len(values) >= NINE:
            start = float(now[max(0, NINE - 1 - begin)])
        highest = np.maximum(np.fmax.accumulate(now), best)
        gain = highest - start
        noise = usual(values, begin).noise
        with np.errstate(divide="ignore", invalid="ignore"):
            least_gain = 2 * self.deviations * np.maximum(noise, np.abs(highest) / 40)
            lost = (highest - now) / np.where(gain > self.deviations * noise, gain, least_gain)
            lost[~(highest - now > 0.5 * self.deviations * noise)] = np.nan
        return lost, (start, float(highest[-1])) if len(highest) and not np.isnan(highest[-1]) else (start, best)


class Flat(Struct, frozen=True):
    """Score: 1 while the level is about the same as `window` points before; less the further it is from that level.

    So must be the level half of the window before, or else values that rise and fall again would be flat. The level is
    the mean of `LEVEL` points. A difference counts if it is above `part` of the gain since the start and above
    `deviations` of the noise. While an incident is active, the level is compared with that before it.
    """

    window: int
    part: float = 0.05
    deviations: float = 0.4
    raise_after: int = 1
    clear_after: int = 10
    high: float = 1.0
    low: float = 0.5

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        before, between, now = (
            _levels(values, begin - rows, len(values) - rows) for rows in (self.window, self.window // 2, 0)
        )
        noise = usual(values, begin).noise
        return np.minimum(self._scores(values, between, before, noise), self._scores(values, now, before, noise)), None

    def active_scores(self, values: Floats, begin: int, first: int) -> Floats:
        row = first - self.window
        now, before = _levels(values, begin, len(values)), _levels(values, row, row + 1)
        return self._scores(values, now, before, usual_at(values, first)[1])

    def _scores(self, values: Floats, now: Floats, before: Floats, noise: Floats | float) -> Floats:
        if len(values) < NINE:
            return np.full(len(now), np.nan)
        gain = np.abs(before - median_of_nine(values[:NINE], NINE - 1))
        equal = np.maximum(self.part * gain, self.deviations * noise)
        apart = np.abs(now - before)
        # Equal values are level even where there is no noise and no gain.
        scores: Floats = np.where(apart <= equal, 1.0, equal / np.maximum(apart, _TINY))
        return scores


def _levels(values: Floats, begin: int, end: int) -> Floats:
    """Return the mean of the last LEVEL values up to each row from `begin` to `end` - 1; NaN if there are fewer."""
    first = max(begin, LEVEL - 1)
    levels = np.full(end - begin, np.nan)
    if first < end:
        windows = np.lib.stride_tricks.sliding_window_view(values[first - LEVEL + 1 : end], LEVEL)
        levels[first - begin :] = windows.mean(axis=1)
    return levels
