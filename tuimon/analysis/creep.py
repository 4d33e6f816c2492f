"""Rules for growth all along a window: score functions for incidents.py, as those of rules.py.

Creep              growth all along a window
FillsUp            growth all along a window, relative to the room left
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.windows import BLOCK
from tuimon.model.points import Floats


class Creep(Struct, frozen=True):
    """Score: relative growth from the mean of the first eighth of a window to that of the last, if it is spread out.

    At least four of the seven steps between the eighths must contribute half of a seventh of it (a single step up is a
    new level, not a creep), and so must the last `latest` of them (the maximum so far of values that only vary grows
    ever more rarely); otherwise the score is 0. It is also 0 if the quarter of the blocks with the largest increases
    has more than `jumps` of the growth. `window`: points, a multiple of 8 blocks of `block` points; until there are as
    many, at least `fewest_blocks`. `skip`: first points that are ignored. `lowest_of`: instead of the mean of a block
    the lowest value of so many blocks, the last of which is the block, counts: the lower edge of a saw-tooth.
    """

    high: float
    low: float
    window: int = 32 * BLOCK
    skip: int = BLOCK
    raise_after: int = BLOCK
    clear_after: int = BLOCK
    latest: int = 0
    jumps: float = math.inf
    block: int = BLOCK
    fewest_blocks: int = 8
    lowest_of: int = 0

    def scores(self, values: Floats, begin: int, carried: Any) -> tuple[Floats, Any]:
        """Score a row by the whole blocks before its own; the score is carried until the next block."""
        last, first = (len(values) - 1) // self.block, begin // self.block
        if carried is not None and carried[0] == last:
            return np.full(len(values) - begin, carried[1]), carried
        most, skip = self.window // self.block, -(-self.skip // self.block)
        lead = max(skip, first - most)
        scores = np.full(last - first + 1, np.nan)
        if last > lead:
            means = self._levels(values, skip, lead, last)
            sums = np.concatenate(([0.0], np.cumsum(means)))
            ends = np.arange(max(first, lead + self.fewest_blocks), last + 1) - lead
            size = np.minimum(ends, most) // 8
            borders = ends[:, None] - size[:, None] * np.arange(8, -1, -1)
            eighths = np.diff(sums[borders], axis=1) / size[:, None]
            grown = eighths[:, 7] - eighths[:, 0]
            contributes = np.diff(eighths, axis=1) > grown[:, None] / 14
            creeps = (grown > 0) & (eighths[:, 0] > 0) & (contributes.sum(axis=1) >= 4)
            creeps &= contributes[:, 7 - self.latest :].all(axis=1)
            if self.jumps < math.inf:
                some = np.flatnonzero(creeps)
                creeps[some] = _jumps(means, ends[some], 8 * size[some], most) <= self.jumps * grown[some]
            with np.errstate(divide="ignore", invalid="ignore"):
                scores[ends + lead - first] = np.where(creeps, self.score(eighths[:, 0], eighths[:, 7]), 0.0)
        rows = np.repeat(scores, self.block)[begin - first * self.block : len(values) - first * self.block]
        return rows, (last, float(scores[-1]))

    def _levels(self, values: Floats, skip: int, lead: int, last: int) -> Floats:
        """Return the levels of the blocks `lead` to `last` - 1."""
        begin = max(skip, lead - self.lowest_of + 1) if self.lowest_of else lead
        blocks = values[begin * self.block : last * self.block].reshape(-1, self.block)
        levels: Floats = blocks.mean(axis=1)
        if self.lowest_of:
            lowest = np.concatenate((np.full(self.lowest_of - 1, np.inf), blocks.min(axis=1)))
            levels = np.lib.stride_tricks.sliding_window_view(lowest, self.lowest_of).min(axis=1)[lead - begin :]
        return levels

    def score(self, before: Floats, now: Floats) -> Floats:
        """Return the growth from the first eighth to the last, relative to the first."""
        return (now - before) / before


def _jumps(means: Floats, ends: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], most: int) -> Floats:
    """Return the sum of the largest quarter of the increases from block to block in means[end - size : end]."""
    positions = np.arange(1 - most, 0)
    inside = positions > -sizes[:, None]
    increases = np.where(inside, np.diff(means, prepend=means[:1])[(ends[:, None] + positions).clip(0)], 0.0)
    largest = np.cumsum(-np.sort(-increases.clip(0.0), axis=1), axis=1)
    return largest[np.arange(len(ends)), sizes // 4 - 1]


class FillsUp(Creep, frozen=True):
    """Score: growth divided by the room left until `full`. Growth below 1 % of `full` counts as zero."""

    full: float = 1.0

    def score(self, before: Floats, now: Floats) -> Floats:
        grown = now - before
        return np.where(grown >= 0.01 * self.full, grown / np.maximum(self.full - now, 0.0), 0.0)
