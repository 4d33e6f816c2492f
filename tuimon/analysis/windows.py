"""Statistics of the points before each point of a growing curve. Causal: results do not change when points are added.

The functions take finite `values` and return one result for each row from `begin` on; they read a bounded number of
rows before it. A result that is not known yet is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuimon.model.points import Floats

BLOCK = 16
"""Points of a block; blocks begin at multiples of it."""
BLOCKS = 8
"""Blocks from which the usual level is computed."""
_FEWEST_BLOCKS, _FEWEST_OF_NOISE = 2, 3
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
    latest: Floats
    """The last of these medians."""
    noise: Floats
    """Deviation of these medians from a line: slow waves are noise, a steady rise is not; NaN with less than four."""


def usual(values: Floats, begin: int) -> Usual:
    """Return the usual level at the rows from `begin` on; NaN before two whole blocks."""
    if len(values) <= begin:
        return Usual(*(np.empty(0) for _ in Usual._fields))
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    lead = max(0, first - BLOCKS)
    blocks = np.partition(values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK), (BLOCK // 2 - 1, BLOCK // 2), axis=1)
    middles = blocks[:, BLOCK // 2 - 1 : BLOCK // 2 + 1].mean(axis=1)
    known = np.concatenate((np.full(BLOCKS, np.nan), middles))
    windows = np.lib.stride_tricks.sliding_window_view(known, BLOCKS)[first - lead :]
    count = (~np.isnan(windows)).sum(axis=1)
    places = np.stack(((count - 1) // 2, count // 2), axis=1)  # NaN are sorted to the end
    middle = np.take_along_axis(np.sort(windows, axis=1), np.maximum(places, 0), axis=1).mean(axis=1)
    level = np.where(count >= _FEWEST_BLOCKS, middle, np.nan)
    noise = _noise(windows)
    rows = np.arange(begin, len(values)) // BLOCK - first
    return Usual(level[rows], windows[rows, -1], noise[rows])


def _noise(windows: Floats) -> Floats:
    """Return the deviation of the medians of each row from a line, by their differences; NaN with less than four."""
    jumps = np.diff(windows, axis=1)
    known = ~np.isnan(jumps)
    count = np.maximum(known.sum(axis=1), 1)
    rest = np.where(known, jumps - (np.where(known, jumps, 0.0).sum(axis=1) / count)[:, None], 0.0)
    noise = np.sqrt(np.square(rest).sum(axis=1) / (2 * np.maximum(count - 1, 1)))
    return np.where(count >= _FEWEST_OF_NOISE, noise, np.nan)
