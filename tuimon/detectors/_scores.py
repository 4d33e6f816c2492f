"""Levels of a curve with what is usual and the limit, from the points before each.

A score compares the level (the median of nine) with the one that is usual and with the limit. _incidents.py makes
incidents of them: one begins past the limit and ends before half of the way to it; meanwhile both are those from before
it began.

Limit    the limit is a number
Start    a multiple of the level at the start
Usual    a multiple of the level of the last 144 points
Half     a multiple of the level at half of the points so far
Best     the part of the gain since the start that is lost
Spike    a single value far from the nine before it
Creep    growth all along a window
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Struct

from tuimon.analysis.windows import BLOCK, NINE, median_of_nine, usual
from tuimon.model.points import Floats, Indices

Pair = tuple[Floats, Floats]
_TINY = 1e-300
_LEAST_GAIN = 0.25
"""Part of the best level that a gain counts for at least."""
_LEFT = 0.75
"""Part of the way from the usual level to the limit past which a level has left the usual one."""
_SEARCHED = 64
"""Rows before an incident in which its beginning is searched."""


class Beginning(NamedTuple):
    """What is known when an incident is raised."""

    row: int
    """Row at which the values left the usual level."""
    usual: float | None
    """Usual level; None for a limit."""
    bound: float
    """Limit."""

    @property
    def middle(self) -> float:
        """Value past which the incident goes on."""
        return self.bound if self.usual is None else self.usual / 2 + self.bound / 2


class Compared(NamedTuple):
    """Levels that are compared, row by row; NaN where one is not known."""

    level: Floats
    usual: Floats
    bound: Floats
    """Limit."""
    carried: Any = None
    """State for the next rows."""


class Score(Struct, frozen=True, kw_only=True, tag_field="is"):
    """Base of the scores of a curve. Equal scores find the same incidents.

    The values are finite, NaN is replaced by the value before it.
    """

    raise_after: int = 4
    clear_after: int = 8
    """0: as many as raise it, and at least 5."""
    falls: bool = False
    """Whether low values are bad."""
    smooth: bool = True
    """Whether levels are compared, the medians of nine, in place of single values."""
    moves: ClassVar[bool] = False
    """Whether an incident goes on by what is usual now, in place of what was usual when it began."""

    @property
    def needed(self) -> int:
        """Number of good points in a row that end an incident."""
        return self.clear_after or max(5, self.raise_after)

    def level(self, values: Floats, begin: int) -> Floats:
        """Return what is compared at the rows from `begin` on."""
        return median_of_nine(values, begin) if self.smooth else values[begin:]

    def baseline(self, values: Floats, begin: int) -> Pair:
        """Return (usual level, limit) at the rows from `begin` on; NaN where they are not known."""
        raise NotImplementedError

    def compared(self, values: Floats, begin: int, carried: Any) -> Compared:
        """Return the levels at the rows from `begin` on. A bounded number of rows before `begin` may be read.

        carried: the state that the previous call returned.
        """
        return Compared(self.level(values, begin), *self.baseline(values, begin))

    def beginning(self, values: Floats, first: int, raised: int) -> Beginning:
        """Return what is known when an incident is raised."""
        usual, bound = self.baseline(values[: first + 1], max(0, first + 1 - _SEARCHED))
        row = _left(values, first, usual + _LEFT * (bound - usual), self.falls) if self.smooth else first
        return Beginning(row, float(usual[-1]), float(bound[-1]))

    def change(self, peak: float) -> str:
        """Return what a metric does, one of KINDS of analysis/alert_words.py. peak: the farthest value."""
        return "fallen" if self.falls else "risen"


class Limit(Score, frozen=True, kw_only=True, tag="limit"):
    """A number is the limit of the values, or of the levels if `smooth`. The first `skip` points are ignored."""

    limit: float
    raise_after: int = 1
    clear_after: int = 0
    smooth: bool = False
    skip: int = 0

    def level(self, values: Floats, begin: int) -> Floats:
        known = median_of_nine(values, begin) if self.smooth else values[begin:]
        return np.where(np.arange(begin, len(values)) >= self.skip, known, np.nan)

    def baseline(self, values: Floats, begin: int) -> Pair:
        bound = np.full(len(values) - begin, self.limit)
        return bound, bound

    def beginning(self, values: Floats, first: int, raised: int) -> Beginning:
        return Score.beginning(self, values, first, raised)._replace(usual=None)

    def change(self, peak: float) -> str:
        return "zero" if self.falls and peak == 0 else "below" if self.falls else "above"


def _left(values: Floats, first: int, left: Floats, falls: bool) -> int:
    """Return the row at which the values left the usual level, at most `first`: medians follow half of nine rows later.

    It is that row before the first median that stays past `left`, a value for each of the last rows up to `first`.
    """
    begin, sign = first + 1 - len(left), -1.0 if falls else 1.0
    inside = np.flatnonzero(~(sign * median_of_nine(values[: first + 1], begin) >= sign * left))
    row = begin + (int(inside[-1]) + 1 if len(inside) else 0)
    return min(first, max(0, row - NINE // 2))


class Start(Score, frozen=True, kw_only=True, tag="start"):
    """Limit: `ratio` times the median of the `first` points after the first `skip` ones.

    - floor: a limit above the usual level is at least this.
    - If the start is not above 0, nothing is known.
    """

    ratio: float = 2.0
    first: int = 20
    skip: int = 0
    floor: float = -math.inf

    def baseline(self, values: Floats, begin: int) -> Pair:
        count, end = len(values) - begin, self.skip + self.first
        unknown = np.full(count, np.nan)
        if len(values) <= end:
            return unknown, unknown
        start = float(np.median(values[self.skip : end]))
        if not start > 0:
            return unknown, unknown
        known = np.where(np.arange(begin, len(values)) >= end, start, np.nan)
        bound = known * self.ratio
        return known, bound if self.falls else np.maximum(bound, self.floor)


class Usual(Score, frozen=True, kw_only=True, tag="usual"):
    """Limit: `ratio` times the usual level (see analysis/windows.py), and `deviations` times its noise away.

    - floor: the limit is at least this, and at least `of_start` of the first level. Without one, a usual level of 0 has
      no limit: it has no multiple.
    - sudden: the limit is at least this times the level of the last 16 to 31 points before.
    """

    ratio: float = 2.0
    deviations: float = 7.0
    floor: float = -math.inf
    of_start: float = 0.0
    skip: int = 2 * BLOCK
    sudden: float = 0.0

    def baseline(self, values: Floats, begin: int) -> Pair:
        level, latest, noise = usual(values, begin)
        level[: max(0, self.skip - begin)] = np.nan
        floor = max(self.floor, self.of_start * float(values[:NINE].max(initial=0.0)))
        bound = level + np.maximum((self.ratio - 1) * np.abs(level), self.deviations * noise)
        bound[(level == 0) & (floor <= 0)] = np.nan
        return level, np.maximum(np.maximum(bound, floor), self.sudden * latest)


class Half(Score, frozen=True, kw_only=True, tag="half"):
    """Limit: `ratio` times the usual level at half of the points so far, and at least `floor`.

    It has no limit unless that level is at most twice the one at a quarter of the points: a rise from 0 is usual.
    """

    ratio: float = 10.0
    floor: float = -math.inf

    def baseline(self, values: Floats, begin: int) -> Pair:
        rows = np.arange(begin, len(values))
        half, quarter = (_usual_at(values, rows // part) for part in (2, 4))
        level = np.where((half > 0) & (half <= 2 * quarter), half, np.nan)
        return level, np.maximum(self.ratio * level, self.floor)


def _usual_at(values: Floats, rows: Indices) -> Floats:
    """Return the usual level at ascending rows."""
    if not len(rows):
        return np.empty(0)
    levels: Floats = usual(values[: int(rows[-1]) + 1], int(rows[0])).level[rows - rows[0]]
    return levels


class _Way(NamedTuple):
    """What a level has done so far."""

    start: float
    best: float
    at: int
    """Number of the best level."""
    before: float
    """Largest fall before the best level."""
    deepest: float
    """Largest fall so far."""
    low: float
    """Lowest level since the best one."""
    rise: float
    """Largest rise since the best level."""


class Best(Score, frozen=True, kw_only=True, tag="best"):
    """Limit: below the best level by `part` of the gain since the start, and by more than a level that wanders falls.

    That is `falls_by` times the largest fall before the best level, or rise after it, and more if the best was reached
    early: `early` falls divided by the number of levels before it. A best among the first `skip` levels has no limit.
    """

    part: float = 0.5
    falls_by: float = 1.7
    early: float = 120.0
    skip: int = 25

    def compared(self, values: Floats, begin: int, carried: Any) -> Compared:
        return Compared(median_of_nine(values, begin), *self._from(values, begin, carried))

    def baseline(self, values: Floats, begin: int) -> Pair:
        best, bound, _ = self._from(values, 0, None)
        return best[begin:], bound[begin:]

    def _from(self, values: Floats, begin: int, carried: _Way | None) -> tuple[Floats, Floats, _Way | None]:
        """Return (best level, limit) from a row on. carried: the way of the level before it."""
        way, known = carried, np.full((2, len(values) - begin), np.nan)
        for place, level in enumerate(median_of_nine(values, begin).tolist()):
            if math.isnan(level):
                continue
            row = begin + place - NINE + 1
            start, best, at, before, deepest, low, rise = way or _Way(level, level, row, 0.0, 0.0, level, 0.0)
            if level >= best:
                best, at, before, low, rise = level, row, deepest, level, 0.0
            low = min(low, level)
            deepest, rise = max(deepest, best - level), max(rise, level - low)
            way = _Way(start, best, at, before, deepest, low, rise)
            # It may begin at its best: then a part of that counts instead of the gain.
            lost = self.part * max(best - start, _LEAST_GAIN * abs(best))
            wandered = (self.falls_by + self.early / (at + 1)) * max(before, rise)
            fall = max(lost, wandered)
            known[:, place] = best, best - fall if fall and at > self.skip else math.nan  # 0 has no part
        return known[0], known[1], way


class Spike(Score, frozen=True, kw_only=True, tag="spike"):
    """Limit: far from the median of the nine values before.

    That is `extremes` times the third largest distance of the 128 points before, and `ratio` - 1 times that median,
    which must not be 0.
    """

    ratio: float
    extremes: float
    raise_after: int = 1
    smooth: bool = False
    moves: ClassVar[bool] = True

    def change(self, peak: float) -> str:
        return "jumped"

    def baseline(self, values: Floats, begin: int) -> Pair:
        lead = max(NINE, begin - 8 * BLOCK)
        rows = np.arange(begin, len(values))
        if len(values) <= lead:
            return np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        before = median_of_nine(values[:-1], lead - 1)
        distances = np.concatenate((np.zeros(8 * BLOCK), np.abs(values[lead:] - before)))
        windows = np.lib.stride_tricks.sliding_window_view(distances[:-1], 8 * BLOCK)
        skipped = max(0, begin - lead)
        usual_distance = np.partition(windows[skipped:], -3, axis=1)[:, -3]
        level = before[skipped:]
        bound = level + np.maximum(self.extremes * usual_distance, (self.ratio - 1) * np.abs(level))
        bound[level == 0] = np.nan  # 0 has no multiple: most steps have no gradient then
        missing = np.full(len(rows) - len(level), np.nan)
        level, bound = np.concatenate((missing, level)), np.concatenate((missing, bound))
        bound[rows < 2 * BLOCK] = np.nan
        return level, bound


_WINDOWS = tuple(sorted(part * 2**power for part in (32, 48) for power in range(11)))
_BLOCKS = 16
"""Blocks of a window whose means are compared with a line."""
_PLACES = np.arange(_BLOCKS) - (_BLOCKS - 1) / 2
_STRAIGHT = 25.0
"""Growth in a window, relative to the deviation of its blocks from the line."""
_LATE = 0.45
"""Smallest part of the growth that the second half of a window must have: memory that reaches its level grows ever
less."""


class Creep(Score, frozen=True, kw_only=True, tag="creep"):
    """Limit: growth in a window by `part` of the level at its beginning.

    There is none unless it is along a line: the means of the sixteenths of the window deviate from a rising line by at
    most a twenty-fifth of the growth. The windows have 32, 48, 64, 96 … points, without the first 16.
    """

    part: float
    raise_after: int = 8
    clear_after: int = BLOCK
    moves: ClassVar[bool] = True

    def compared(self, values: Floats, begin: int, carried: Any) -> Compared:
        scores = np.zeros(len(values) - begin)
        for window in _WINDOWS:
            if len(values) < window + BLOCK:
                break
            np.maximum(scores, self._in_window(values, begin, window // _BLOCKS), out=scores)
        return Compared(scores, np.zeros(1), np.ones(1))

    def _in_window(self, values: Floats, begin: int, size: int) -> Floats:
        """Score each row by the last 16 whole blocks of `size` points before its own."""
        first, last = begin // size, (len(values) - 1) // size
        lead = max(first - _BLOCKS, -(-BLOCK // size))
        scores = np.zeros(last - first + 1)
        if last - lead >= _BLOCKS:
            means = values[lead * size : last * size].reshape(-1, size).mean(axis=1)
            own = self._of_blocks(np.lib.stride_tricks.sliding_window_view(means, _BLOCKS))
            scores[-len(own) :] = own
        return scores[np.arange(begin, len(values)) // size - first]

    def _of_blocks(self, blocks: Floats) -> Floats:
        slope, deviation = _line(blocks)
        grown = _BLOCKS * slope
        quarters = [blocks[:, part].mean(axis=1) for part in (slice(4), slice(6, 10), slice(12, None))]
        steady = (grown >= _STRAIGHT * deviation) & (blocks[:, 0] > 0)
        steady &= quarters[2] - quarters[1] >= _LATE * (quarters[2] - quarters[0])
        return np.where(steady, grown / np.maximum(self.part * blocks[:, 0], _TINY), 0.0)

    def beginning(self, values: Floats, first: int, raised: int) -> Beginning:
        row = self._line_begun(values, raised)
        return Beginning(row, float(values[row]), float(values[row]) * (1 + self.part))

    def change(self, peak: float) -> str:
        return "grows"

    def _line_begun(self, values: Floats, row: int) -> int:
        """Return the row at which the line begins that raised an incident in `row`: at most a twenty-fifth off."""
        size, first, blocks = 1, 0, values[:0]
        for window in _WINDOWS:
            end = row // (window // _BLOCKS) * (window // _BLOCKS)
            own = values[max(end - window, 0) : end]
            if len(own) == window and self._of_blocks(own.reshape(1, _BLOCKS, -1).mean(axis=2))[0] >= 1.0:
                size, first, blocks = window // _BLOCKS, end - window, own.reshape(_BLOCKS, -1).mean(axis=1)
        if not len(blocks):
            return row
        slope, middle = _line(blocks[None])[0][0] / size, first + (_BLOCKS * size - 1) / 2
        line = blocks.mean() + slope * (np.arange(first) - middle)
        off = np.flatnonzero(np.abs(values[:first] - line) > _BLOCKS * size * slope / _STRAIGHT)
        return int(off[-1]) + 1 if len(off) else 0


def _line(blocks: Floats) -> Pair:
    """Return (slope, deviation from the line of least squares) of each row of blocks."""
    slopes = blocks @ _PLACES / (_PLACES @ _PLACES)
    rest = blocks - blocks.mean(axis=1)[:, None] - slopes[:, None] * _PLACES
    deviations: Floats = np.sqrt(np.square(rest).sum(axis=1) / (_BLOCKS - 2))
    return slopes, deviations


SCORES = Limit | Start | Usual | Half | Best | Spike | Creep
