"""What came before a point, for each point of a growing curve: causal, so that it stays true when more points come.

All take `values`, finite, and `begin`: the answer is for the rows from `begin` on, and reads only a bounded stretch
before them. What is not known yet is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Floats

BLOCK = 16
"""Points of a block of the usual level; blocks stand at multiples of it."""
BLOCKS = 8
"""Blocks that make the usual level."""
_FEWEST_BLOCKS = 2
_MAD_TO_DEVIATION = 1.4826
"""See statistics.py."""
_NETWORK = (
    (1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3),
    (5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2),
)  # fmt: skip
"""Exchanges that bring the median of nine to the middle (Paeth, "Median finding on a 3 x 3 grid", Graphics Gems,
1990)."""
NINE = 9


def median_of_nine(values: Floats, begin: int) -> Floats:
    """The median of each value and the eight before it."""
    count = len(values) - begin
    first = begin - (NINE - 1)
    known = np.concatenate((np.full(max(0, -first), np.nan), values[max(0, first) :]))
    lanes = [known[offset : offset + count] for offset in range(NINE)]
    for low, high in _NETWORK:
        # NaN goes through both, so that what has not nine values is NaN
        lanes[low], lanes[high] = np.minimum(lanes[low], lanes[high]), np.maximum(lanes[low], lanes[high])
    return lanes[4]


class Usual(NamedTuple):
    """What is usual at each row."""

    level: Floats
    """The median of the medians of the eight whole blocks of 16 before the block that a value is in; of fewer, two at
    least, near the beginning. So it is of 1 to 143 points ago, and a burst of four blocks does not move it."""
    noise: Floats
    """The median of the robust deviations of these blocks; a trend is no noise."""
    latest: Floats
    """The median of the last of these blocks."""


def usual(values: Floats, begin: int) -> Usual:
    """What is usual at the rows from `begin` on."""
    count = len(values) - begin
    if count <= 0:
        return Usual(np.empty(0), np.empty(0), np.empty(0))
    first, last = begin // BLOCK, (len(values) - 1) // BLOCK
    lead = max(0, first - BLOCKS)
    blocks = np.sort(values[lead * BLOCK : last * BLOCK].reshape(-1, BLOCK), axis=1)
    medians = _middle(blocks)
    with np.errstate(over="ignore", invalid="ignore"):
        noises = _MAD_TO_DEVIATION * _middle(np.sort(np.abs(blocks - medians[:, None]), axis=1))
    latest = np.concatenate(([np.nan], medians))[first - lead : last - lead + 1]
    rows = np.arange(begin, len(values)) // BLOCK - first
    level, noise = (_before(numbers, first - lead, last - lead) for numbers in (medians, noises))
    return Usual(level[rows], noise[rows], latest[rows])


def usual_at(values: Floats, row: int) -> tuple[float, float]:
    """(level, noise) at one row."""
    found = usual(values[: row + 1], row)
    return float(found.level[0]), float(found.noise[0])


def medians(values: Floats, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], width: int) -> Floats:
    """The median of the finite values of each stretch values[begin:end], of the last `width` of it; NaN for none."""
    rows = ends[:, None] + np.arange(-width, 0)
    found = np.where(rows >= np.maximum(begins, 0)[:, None], values[np.clip(rows, 0, None)], np.nan)
    found = np.sort(np.where(np.isfinite(found), found, np.nan), axis=1)
    count = np.isfinite(found).sum(axis=1)
    line = np.arange(len(found))
    result: Floats = (
        0.5 * found[line, np.maximum(count - 1, 0) // 2] + 0.5 * found[line, np.minimum(count // 2, width - 1)]
    )
    return result


def _middle(ordered: Floats) -> Floats:
    half = ordered.shape[1] // 2
    return 0.5 * ordered[:, half - 1] + 0.5 * ordered[:, half]


def _before(numbers: Floats, first: int, last: int) -> Floats:
    """For the blocks first … last: the median of the numbers of up to BLOCKS blocks before each."""
    found = np.full(last - first + 1, np.nan)
    for block in range(max(first, _FEWEST_BLOCKS), min(last + 1, BLOCKS)):
        found[block - first] = np.median(numbers[:block])
    full = max(first, BLOCKS)
    if full <= last:
        windows = np.lib.stride_tricks.sliding_window_view(numbers[full - BLOCKS : last], BLOCKS)
        found[full - first :] = _middle(np.sort(windows, axis=1))
    return found
