"""Statistics of the points before each point of a growing curve. Causal: results do not change when points are added.

The functions take finite `values` and return one result for each row from `begin` on; they read a bounded number of
rows before it. A result that is not known yet is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tuimon.analysis.statistics import MAD_TO_DEVIATION
from tuimon.model.points import Floats

BLOCK = 16
"""Points of a block; blocks begin at multiples of it."""
BLOCKS = 8
"""Blocks from which the usual level is computed."""
_FEWEST_BLOCKS = 2
_NETWORK = (
    (1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3),
    (5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2),
)  # fmt: skip
"""Exchanges that move the median of nine to the middle (Paeth, "Median finding on a 3 x 3 grid", Graphics Gems,
1990)."""
NINE = 9


def median_of_nine(values: Floats, begin: int) -> Floats:
    """Return the median of each value and the eight before it."""
    count = len(values) - begin
    first = begin - (NINE - 1)
    known = np.concatenate((np.full(max(0, -first), np.nan), values[max(0, first) :]))
    lanes = [known[offset : offset + count] for offset in range(NINE)]
    for low, high in _NETWORK:
        # NaN passes through both, so that the result is NaN without nine values.
        lanes[low], lanes[high] = np.minimum(lanes[low], lanes[high]), np.maximum(lanes[low], lanes[high])
    return lanes[4]


class Usual(NamedTuple):
    """Usual level and noise at each row."""

    level: Floats
    """Median of the medians of the eight whole blocks of 16 before the block of the row (at least two near the start).
    It covers the points from 1 to 143 before, so a burst of four blocks does not move it."""
    noise: Floats
    """Median of the robust deviations inside these blocks, so that a trend does not count as noise."""
    latest: Floats
    """Median of the last of these blocks."""


def usual(values: Floats, begin: int, fewest: int = _FEWEST_BLOCKS) -> Usual:
    """Return the usual level and noise at the rows from `begin` on; NaN before `fewest` whole blocks."""
    count = len(values) - begin
    if count <= 0:
        return Usual(np.empty(0), np.empty(0), np.empty(0))
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    lead = max(0, first - BLOCKS)
    blocks = np.sort(values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK), axis=1)
    medians = _middle(blocks)
    with np.errstate(over="ignore", invalid="ignore"):
        noises = MAD_TO_DEVIATION * _middle(np.sort(np.abs(blocks - medians[:, None]), axis=1))
    latest = np.concatenate(([np.nan], medians))[first - lead : last - lead + 1]
    rows = np.arange(begin, len(values)) // BLOCK - first
    level, noise = (_median_before(numbers, first - lead, last - lead, fewest) for numbers in (medians, noises))
    return Usual(level[rows], noise[rows], latest[rows])


def usual_at(values: Floats, row: int) -> tuple[float, float]:
    """Return the usual (level, noise) at one row."""
    result = usual(values[: row + 1], row)
    return float(result.level[0]), float(result.noise[0])


class Local(NamedTuple):
    """Level just before each row, and how far the rows before it were from such levels."""

    level: Floats
    """Median of the nine points before the row, plus the usual distance of a point from it: a trend moves both."""
    noise: Floats
    """Robust deviation of the distances, as `Usual.noise`, so that neither a trend nor a bend of it counts as noise."""
    extreme: Floats
    """Usual largest distance: the second largest of the largest ones of the eight whole blocks before that of the row,
    so that a single outlier does not count. After a single block, twice its largest one: less is known."""


def local(values: Floats, begin: int) -> Local:
    """Return level, noise and extremes at the rows from `begin` on; NaN in the first 32 rows."""
    start = max(BLOCK, (begin // BLOCK - BLOCKS) * BLOCK)
    first = max(begin, start)
    if first >= len(values):
        unknown = np.full(len(values) - begin, np.nan)
        return Local(unknown, unknown, unknown)
    before = median_of_nine(values[:-1], start - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = values[start:] - before
        distance, noise, _ = usual(distances, first - start, fewest=1)
        blocks = distances[: len(distances) // BLOCK * BLOCK].reshape(-1, BLOCK)
        largest = np.abs(blocks - _middle(np.sort(blocks, axis=1))[:, None]).max(axis=1, initial=0.0)
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate((np.zeros(BLOCKS), largest)), BLOCKS)
    second = np.sort(windows, axis=1)[:, -2]
    second[1:2] = 2 * largest[:1]
    extreme = second[np.arange(first - start, len(distances)) // BLOCK]
    results = before[first - start :] + distance, noise, extreme
    unknown = np.full(first - begin, np.nan)
    return Local(*(np.concatenate((unknown, result)) for result in results))


def settled(values: Floats, begin: int, spread: float, blocks: int) -> Floats:
    """Return the settled level at the rows from `begin` on; NaN where the values have not settled.

    It is the median of the medians of the last `blocks` whole blocks of 16 (an even number) before the block of the
    row. The values have settled if the highest of these medians is at most `spread` times the lowest.
    """
    count = len(values) - begin
    if count <= 0:
        return np.empty(0)
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    lead = max(0, first - blocks)
    levels = np.full(last - first + 1, np.nan)
    if last - lead >= blocks:
        middles = _middle(np.sort(values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK), axis=1))
        ordered = np.sort(np.lib.stride_tricks.sliding_window_view(middles, blocks), axis=1)
        levels[-len(ordered) :] = np.where(ordered[:, -1] <= spread * ordered[:, 0], _middle(ordered), np.nan)
    return levels[np.arange(begin, len(values)) // BLOCK - first]


def median_of_blocks(values: Floats, begin: int, blocks: int) -> Floats:
    """Return the median of the last `blocks` whole blocks before the block of each row; NaN without so many."""
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    levels = np.full(max(0, last - first + 1), np.nan)
    lead = max(0, first - blocks)
    if last - lead >= blocks:
        windows = np.lib.stride_tricks.sliding_window_view(values[lead * BLOCK : last * BLOCK], blocks * BLOCK)[::BLOCK]
        levels[-len(windows) :] = _middle(np.sort(windows, axis=1))
    return levels[np.arange(begin, len(values)) // BLOCK - first]


def medians(values: Floats, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], width: int) -> Floats:
    """Return the median of the finite values in each values[begin:end], at most the last `width`; NaN if none."""
    rows = ends[:, None] + np.arange(-width, 0)
    inside = np.where(rows >= np.maximum(begins, 0)[:, None], values[np.clip(rows, 0, None)], np.nan)
    ordered = np.sort(np.where(np.isfinite(inside), inside, np.nan), axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    line = np.arange(len(ordered))
    lower, upper = ordered[line, np.maximum(count - 1, 0) // 2], ordered[line, np.minimum(count // 2, width - 1)]
    result: Floats = 0.5 * lower + 0.5 * upper
    return result


def _middle(ordered: Floats) -> Floats:
    """Return the medians of sorted rows of even length."""
    half = ordered.shape[1] // 2
    return 0.5 * ordered[:, half - 1] + 0.5 * ordered[:, half]


def _median_before(numbers: Floats, first: int, last: int, fewest: int) -> Floats:
    """Return for each block first … last the median of the numbers of up to BLOCKS blocks before it; NaN with fewer
    than `fewest`."""
    result = np.full(last - first + 1, np.nan)
    for block in range(max(first, fewest), min(last + 1, BLOCKS)):
        result[block - first] = np.median(numbers[:block])
    full = max(first, BLOCKS)
    if full <= last:
        windows = np.lib.stride_tricks.sliding_window_view(numbers[full - BLOCKS : last], BLOCKS)
        result[full - first :] = _middle(np.sort(windows, axis=1))
    return result
