"""Statistics of the points before each point of a growing curve. Causal: results do not change when points are added.

The functions take finite `values` and return one result for each row from `begin` on; they read a bounded number of
rows before it. A result that is not known yet is NaN.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tuimon.analysis.statistics import MAD_TO_DEVIATION
from tuimon.model.points import Floats

BLOCK = 16
"""Points of a block; blocks begin at multiples of it."""
BLOCKS = 8
"""Blocks from which the usual level is computed."""
_FEWEST_BLOCKS, _FEWEST_OF_NOISE = 2, 3
_UNSURE = 2
"""A deviation of n changes is multiplied by 1 + 2 / n, because that of a few is often too small."""
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
    """Usual level at each row."""

    level: Floats
    """Median of the medians of the eight whole blocks of 16 before the block of the row (at least two near the start).
    It covers the points from 1 to 143 before, so a burst of four blocks does not move it."""
    spread: Floats
    """Highest of these medians relative to the lowest; infinity if that is not above 0 or there are less than four."""
    latest: Floats
    """The last of these medians."""
    noise: Floats
    """Robust deviation of these medians, from their changes: a steady rise does not count, but slow waves do; NaN with
    less than three."""


def usual(values: Floats, begin: int) -> Usual:
    """Return the usual level at the rows from `begin` on; NaN before two whole blocks."""
    if len(values) <= begin:
        return Usual(*(np.empty(0) for _ in Usual._fields))
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    lead = max(0, first - BLOCKS)
    middles = np.median(values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK), axis=1)
    known = np.concatenate((np.full(BLOCKS, np.nan), middles))
    windows = np.lib.stride_tricks.sliding_window_view(known, BLOCKS)[first - lead :]
    count = (~np.isnan(windows)).sum(axis=1)
    level = np.where(count >= _FEWEST_BLOCKS, _known_median(windows), np.nan)
    noise = np.where(count >= _FEWEST_OF_NOISE, _deviation(windows, count), np.nan)
    lowest, highest = np.fmin.reduce(windows, axis=1), np.fmax.reduce(windows, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where((lowest > 0) & (count >= BLOCKS // 2), highest / lowest, np.inf)
    rows = np.arange(begin, len(values)) // BLOCK - first
    return Usual(level[rows], spread[rows], windows[rows, -1], noise[rows])


def _deviation(blocks: Floats, count: Floats) -> Floats:
    """Return the robust deviation of each row of blocks, by their changes less the median change."""
    changes = np.diff(blocks, axis=1)
    apart = np.abs(changes - _known_median(changes)[:, None])
    factor = MAD_TO_DEVIATION / math.sqrt(2) * (1 + _UNSURE / np.maximum(count - 1, 1))
    result: Floats = factor * _known_median(apart)
    return result


def _known_median(rows: Floats) -> Floats:
    """Return the median of the values of each row that are not NaN; NaN without any."""
    ordered = np.sort(rows, axis=1)
    count = (~np.isnan(rows)).sum(axis=1)
    line = np.arange(len(rows))
    lower, upper = (
        ordered[line, np.maximum(count - 1, 0) // 2],
        ordered[line, np.minimum(count // 2, rows.shape[1] - 1)],
    )
    result: Floats = 0.5 * lower + 0.5 * upper
    return result
