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
    """Usual level at each row."""

    level: Floats
    """Median of the medians of the eight whole blocks of 16 before the block of the row (at least two near the start).
    It covers the points from 1 to 143 before, so a burst of four blocks does not move it."""
    spread: Floats
    """Highest of these medians relative to the lowest; infinity if that is not above 0 or there are less than four."""
    latest: Floats
    """The last of these medians."""


def usual(values: Floats, begin: int) -> Usual:
    """Return the usual level at the rows from `begin` on; NaN before two whole blocks."""
    if len(values) <= begin:
        return Usual(np.empty(0), np.empty(0), np.empty(0))
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    lead = max(0, first - BLOCKS)
    middles = np.median(values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK), axis=1)
    known = np.concatenate((np.full(BLOCKS, np.nan), middles))
    windows = np.lib.stride_tricks.sliding_window_view(known, BLOCKS)[first - lead :]
    level = np.where((~np.isnan(windows)).sum(axis=1) >= _FEWEST_BLOCKS, _known_median(windows), np.nan)
    lowest, highest = np.fmin.reduce(windows, axis=1), np.fmax.reduce(windows, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        is_known = (lowest > 0) & ((~np.isnan(windows)).sum(axis=1) >= BLOCKS // 2)
        spread = np.where(is_known, highest / lowest, np.inf)
    rows = np.arange(begin, len(values)) // BLOCK - first
    return Usual(level[rows], spread[rows], windows[rows, -1])


LAGS = (8, 16, 32, 64)
"""Points over which changes of a level are compared, multiples of a block of eight."""
_EIGHT = 8
_COMPARED = 32
_FEWEST_DIFFERENCES = 4
_UNSURE = 2
"""A deviation of n differences is multiplied by 1 + 2 / n, because that of a few is often too small."""


def usual_changes(values: Floats, begin: int) -> Floats:
    """Return the usual change of the level over each of LAGS points, one line for each row from `begin` on.

    It is the robust deviation of the differences of the medians of blocks of eight points that are as far apart, of the
    last 32 before the block of the row, at least that over fewer points; NaN with fewer than _FEWEST_DIFFERENCES. Their
    median is subtracted, so that a trend does not count. Values that wander slowly change more over more points.
    """
    first, last = begin // _EIGHT, (len(values) - 1) // _EIGHT
    lead = max(0, first - _COMPARED - LAGS[-1] // _EIGHT)
    middles = np.median(values[lead * _EIGHT : last * _EIGHT].reshape(-1, _EIGHT), axis=1)
    changes = np.full((last - first + 1, len(LAGS)), np.nan)
    for column, blocks in enumerate(lag // _EIGHT for lag in LAGS):
        # Row k of the windows has the differences of the blocks up to lead + k - 1.
        apart = np.concatenate((np.full(_COMPARED + blocks, np.nan), middles[blocks:] - middles[:-blocks]))
        windows = np.lib.stride_tricks.sliding_window_view(apart[-_COMPARED - len(middles) :], _COMPARED)
        changes[:, column] = _deviation(windows[first - lead :])
    result: Floats = np.fmax.accumulate(changes, axis=1)[np.arange(begin, len(values)) // _EIGHT - first]
    return result


def roughness(values: Floats, begin: int) -> Floats:
    """Return the deviation of medians of eight points from their neighbours, for each row from `begin` on.

    It is that of the last 32 second differences before the block of the row, so that neither a rise nor a bend counts;
    NaN with fewer than _FEWEST_DIFFERENCES."""
    first, last = begin // _EIGHT, (len(values) - 1) // _EIGHT
    lead = max(0, first - _COMPARED - 2)
    middles = np.median(values[lead * _EIGHT : last * _EIGHT].reshape(-1, _EIGHT), axis=1)
    bends = np.concatenate((np.full(_COMPARED + 2, np.nan), np.diff(middles, 2))) / math.sqrt(6)
    windows = np.lib.stride_tricks.sliding_window_view(bends[-_COMPARED - len(middles) :], _COMPARED)
    result: Floats = _deviation(windows[first - lead :])[np.arange(begin, len(values)) // _EIGHT - first]
    return result


def wandering(values: Floats, begin: int) -> Floats:
    """Return the deviation of the level at the rows from `begin` on, by its usual changes over 8 and 16 points.

    Those over more points would count a slow rise, which is to be found, as wandering.
    """
    changes = usual_changes(values, begin)
    result: Floats = changes[:, 1] / math.sqrt(2)
    return result


def _deviation(differences: Floats) -> Floats:
    """Return the robust deviation of each row of differences; NaN with too few of them."""
    apart = np.abs(differences - _known_median(differences)[:, None])
    count = np.isfinite(differences).sum(axis=1)
    factor = MAD_TO_DEVIATION * (1 + _UNSURE / np.maximum(count, 1))
    return np.where(count >= _FEWEST_DIFFERENCES, factor * _known_median(apart), np.nan)


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
