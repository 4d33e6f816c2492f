"""What a curve can be held to: scores for incidents.py. Each reads a bounded stretch before what is new.

Above, Below       a limit, kept for so many points
Spike              far above the usual level of the points before
Runaway            the level of now far above the usual one
AgainstStart       the level of now against that of the start
FromBest           how much of what was won is lost again
Stuck              no new best for so many points
Rising             it has done nothing but rise since it began
Creep              a little more all along a window
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.windows import BLOCK, NINE, median_of_nine, usual, usual_at
from tuimon.model.points import Floats

_TINY = 1e-300
_STEADY, _UNSTEADY = 4.0, 3.0


class Above(Struct, frozen=True):
    """The value itself. `low`: where it is good again; smooth: the median of nine in its place; skip: first points
    that are not judged."""

    high: float
    low: float
    raise_after: int
    clear_after: int
    smooth: bool = False
    skip: int = 0

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        found = median_of_nine(values, begin) if self.smooth else values[begin:]
        if begin < self.skip:
            found = found.copy()
            found[: self.skip - begin] = np.nan
        return found, None


class Below(Struct, frozen=True):
    """The same for a limit from below: `limit` raises it, more than `good` clears it."""

    limit: float
    good: float
    raise_after: int
    clear_after: int
    smooth: bool = False
    skip: int = 0

    @property
    def high(self) -> float:
        return -self.limit

    @property
    def low(self) -> float:
        return -self.good

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        mirrored = Above(self.high, self.low, self.raise_after, self.clear_after, self.smooth, self.skip)
        found, _ = mirrored.scores(values, begin, None)
        return -found, None


class Spike(Struct, frozen=True):
    """1 where a value is `deviations` robust deviations above the usual level, and above `ratio` times it; three times
    as many where the level is hardly more than its noise, so that a ratio to it says nothing."""

    deviations: float
    ratio: float
    raise_after: int = 1
    clear_after: int = 8
    high: float = 1.0
    low: float = 0.4

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        level, noise, _ = usual(values, begin)
        unsteady = np.where(np.abs(level) < _STEADY * noise, _UNSTEADY, 1.0)
        return _excess(values[begin:], level, noise * unsteady, self.deviations, self.ratio), None


class Runaway(Struct, frozen=True):
    """1 where the median of nine is `deviations` above the usual level, above `ratio` times it, above `sudden` times
    the latest block (what has grown all along is no runaway), and above `floor`, the first `skip` points left out. What
    was usual when it began is what it is held against until it is over."""

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
        found = np.minimum(far, now / np.maximum(np.abs(latest), _TINY) / self.sudden)
        found[: max(0, self.skip - begin)] = np.nan
        return found, None

    def standing(self, values: Floats, begin: int, first: int) -> Floats:
        level, _ = usual_at(values, first)
        return (median_of_nine(values, begin) - level) / max(abs(level) * (self.ratio - 1), self.floor, _TINY)


def _excess(now: Floats, level: Floats, noise: Floats, deviations: float, ratio: float) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(level)
        above = now - level
        found: Floats = above / np.maximum(noise, np.maximum(1e-3 * size, _TINY))
        found /= deviations
        above /= np.maximum(size, _TINY, out=size)
        above /= ratio - 1
    return np.minimum(found, above, out=found)


class AgainstStart(Struct, frozen=True):
    """The median of nine over the median of the `baseline` points behind the first `skip`; or the other way round,
    where it is a fall that matters. NaN where the start is not above 0."""

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
        now = median_of_nine(values, begin)
        with np.errstate(divide="ignore", over="ignore"):
            found = carried / np.maximum(now, _TINY) if self.falls else now / carried
        if begin < end:
            found[: end - begin] = np.nan
        return found, carried


class FromBest(Struct, frozen=True):
    """The part of what was won since the start that is lost again, by medians of nine; 1: all of it. Where less than
    `deviations` of the noise was won, twice as much stands for it, noise being a fortieth of the best level at least.
    `rises`: higher is better."""

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
        won = highest - start
        noise = usual(values, begin).noise
        with np.errstate(divide="ignore", invalid="ignore"):
            little = 2 * self.deviations * np.maximum(noise, np.abs(highest) / 40)
            lost = (highest - now) / np.where(won > self.deviations * noise, won, little)
            lost[~(highest - now > 0.5 * self.deviations * noise)] = np.nan
        return lost, (start, float(highest[-1])) if len(highest) and not np.isnan(highest[-1]) else (start, best)


class Stuck(Struct, frozen=True):
    """1 while the best median of nine is no better than it was `window` points before; as good counts up to `part` of
    what was won in all, and up to half the noise."""

    window: int
    rises: bool
    part: float = 0.02
    raise_after: int = 1
    clear_after: int = 1
    high: float = 1.0
    low: float = 1.0

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        sign = 1.0 if self.rises else -1.0
        now = sign * median_of_nine(values, begin)
        start, bests = carried if carried is not None else (np.nan, np.full(self.window, np.nan))
        if np.isnan(start) and len(values) >= NINE:
            start = float(now[max(0, NINE - 1 - begin)])
        bests = np.concatenate((bests, np.fmax.accumulate(np.fmax(now, bests[-1]))))
        before, best = bests[: len(now)], bests[self.window :]
        noise = usual(values, begin).noise
        margin = np.maximum(self.part * (best - start), 0.5 * noise)
        stuck = np.where(best - before <= margin, 1.0, 0.0)
        stuck[np.isnan(before)] = np.nan
        return stuck, (start, bests[-self.window :])


class Rising(Struct, frozen=True):
    """1 while no value is below the one before it, and the last is above the first."""

    raise_after: int
    clear_after: int = 1
    high: float = 1.0
    low: float = 1.0

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        so_far = True if carried is None else carried
        before = values[max(0, begin - 1) : -1]
        rising = np.logical_and.accumulate(np.concatenate(([so_far], values[max(1, begin) :] >= before)))
        rising = rising[len(rising) - (len(values) - begin) :]
        return np.where(rising & (values[begin:] > values[0]), 1.0, 0.0), bool(rising[-1])


class Creep(Struct, frozen=True):
    """How much more the last eighth of a window holds on average than the first, as a part of that, where at least
    four of the seven steps between the eighths take their share, half of a seventh of it (a single step up is another
    level, and no creep); 0 otherwise. `window`: points, a multiple of 8 blocks. `skip`: first points left out."""

    high: float
    low: float
    window: int = 32 * BLOCK
    skip: int = BLOCK
    raise_after: int = BLOCK
    clear_after: int = BLOCK

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        """By whole blocks: the score of a row is that of the blocks before its own, carried while that is the same."""
        last, first = (len(values) - 1) // BLOCK, begin // BLOCK
        if carried is not None and carried[0] == last:
            return np.full(len(values) - begin, carried[1]), carried
        most, skip = self.window // BLOCK, -(-self.skip // BLOCK)
        lead = max(skip, first - most)
        found = np.full(last - first + 1, np.nan)
        if last > lead:
            means = values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK).mean(axis=1)
            sums = np.concatenate(([0.0], np.cumsum(means)))
            ends = np.arange(max(first, lead + 8), last + 1) - lead
            each = np.minimum(ends, most) // 8
            borders = ends[:, None] - each[:, None] * np.arange(8, -1, -1)
            eighths = np.diff(sums[borders], axis=1)
            grown = eighths[:, 7] - eighths[:, 0]
            steps = (np.diff(eighths, axis=1) > grown[:, None] / 14).sum(axis=1)
            creeps = (grown > 0) & (eighths[:, 0] > 0) & (steps >= 4)
            with np.errstate(divide="ignore", invalid="ignore"):
                found[ends + lead - first] = np.where(creeps, self.score(eighths[:, 0], eighths[:, 7]), 0.0)
        rows = np.repeat(found, BLOCK)[begin - first * BLOCK : len(values) - first * BLOCK]
        return rows, (last, float(found[-1]))

    def score(self, before: Floats, now: Floats) -> Floats:
        """What the growth from the first eighth to the last is held against."""
        return (now - before) / before


class FillsUp(Creep, frozen=True):
    """As Creep, but against what is left: 1 where as much again makes it `full`. Growth of less than a hundredth of
    what is full is none."""

    full: float = 1.0

    def score(self, before: Floats, now: Floats) -> Floats:
        grown = now - before
        return np.where(grown >= 0.01 * self.full, grown / np.maximum(self.full - now, 0.0), 0.0)
