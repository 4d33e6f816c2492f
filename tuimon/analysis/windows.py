"""Statistics of the points before each point of a growing curve. Causal: results do not change when points are added.

The functions take finite `values` and return one result for each row from `begin` on; they read a bounded number of
rows before it. A result that is not known yet is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuimon.analysis.level import mean_errors, most_noise, row_medians, without_bursts
from tuimon.model.points import Floats

BLOCK = 16
"""Points of a block; blocks begin at multiples of it."""
BLOCKS = 8
"""Blocks from which the usual level is computed."""
_FEWEST_BLOCKS, _FEWEST_OF_NOISE = 2, 3
_LINE = 1
"""Degree of the trend that is no noise: a steady rise does not count, but slow waves do."""
NINE = 9


def median_of_nine(values: Floats, begin: int) -> Floats:
    """Return the median of each value and the eight before it; NaN without nine."""
    known = values[max(0, begin - (NINE - 1)) :]
    missing = np.full(min(max(0, NINE - 1 - begin), len(values) - begin), np.nan)
    if len(known) < NINE:
        return missing
    windows = np.lib.stride_tricks.sliding_window_view(known, NINE)
    return np.concatenate((missing, np.partition(windows, NINE // 2, axis=1)[:, NINE // 2]))


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
    """Standard error of the mean of a block, by the noise of the points of these blocks (level.py); NaN with less than
    three."""


def usual(values: Floats, begin: int) -> Usual:
    """Return the usual level at the rows from `begin` on; NaN before two whole blocks."""
    if len(values) <= begin:
        return Usual(*(np.empty(0) for _ in Usual._fields))
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    lead = max(0, first - BLOCKS)
    middles = row_medians(values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK))[:, 0]
    known = np.concatenate((np.full(BLOCKS, np.nan), middles))
    windows = np.lib.stride_tricks.sliding_window_view(known, BLOCKS)[first - lead :]
    count = (~np.isnan(windows)).sum(axis=1)
    level = np.where(count >= _FEWEST_BLOCKS, _known_median(windows), np.nan)
    lowest, highest = np.fmin.reduce(windows, axis=1), np.fmax.reduce(windows, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where((lowest > 0) & (count >= BLOCKS // 2), highest / lowest, np.inf)
    noise = _noise(values, first, last)
    rows = np.arange(begin, len(values)) // BLOCK - first
    return Usual(level[rows], spread[rows], windows[rows, -1], noise[rows])


def _noise(values: Floats, first: int, last: int) -> Floats:
    """Return the noise at the blocks `first` … `last`, from the points of the eight blocks before each."""
    parts = [values[None, : block * BLOCK] for block in range(first, min(last + 1, BLOCKS))]
    if last >= BLOCKS:
        begin = max(first - BLOCKS, 0) * BLOCK
        windows = np.lib.stride_tricks.sliding_window_view(values[begin : last * BLOCK], BLOCKS * BLOCK)
        parts.append(windows[::BLOCK])
    return np.concatenate([_error_of_block(rows) for rows in parts])


def _error_of_block(rows: Floats) -> Floats:
    if rows.shape[1] < _FEWEST_OF_NOISE * BLOCK:
        return np.full(len(rows), np.nan)
    clipped = without_bursts(rows)  # they are no noise
    return np.minimum(mean_errors(clipped, BLOCK, _LINE)[0], most_noise(clipped))


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
