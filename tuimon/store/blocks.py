"""A column reduced to the means of blocks of its values: what an average over a long curve is worked out from.

Blocks begin at multiples of their size, which is a power of two, so that they stay what they are while a column grows
or a window moves over it. The cost is that of the blocks, however long the column is: of a block of more than 64 values
the mean is that of 64 of them, evenly spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuimon.model.points import Floats
from tuimon.store.tally import Indices

_SAMPLED = 64


class Means(NamedTuple):
    """Arrays of one length, in the order of the column."""

    x: Floats
    """Where the middle of each block stands along the axis."""
    values: Floats
    """The mean of its finite values; NaN where it has none."""
    block: int
    """How many values a block has; 1: nothing is reduced."""


def means(values: Floats, begin: int, end: int, most: int, before: int) -> tuple[Indices, Floats, int]:
    """(row in the middle of each block, its mean, values a block) of values[begin:end] in at most `most` + 2 blocks,
    and of up to `before` blocks before them. A neighbour at both sides is taken in, so that a line may leave a chart.
    """
    size = 1
    while size * most < end - begin:
        size *= 2
    first = max(begin // size - 1 - before, 0) * size
    stop = min((end // size + 1) * size, len(values))
    stride = max(size // _SAMPLED, 1)
    taken = values[first:stop:stride]
    across = size // stride
    blocks = -(-len(taken) // across)
    padded = np.full(blocks * across, np.nan)
    padded[: len(taken)] = taken
    finite = np.isfinite(padded).reshape(blocks, across)
    counts = finite.sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        # divided before they are added: the sum of a block may be beyond the largest float
        parts = np.where(finite, padded.reshape(blocks, across), 0.0) / np.maximum(counts, 1)[:, None]
        found = parts.sum(axis=1)
    found[counts == 0] = np.nan
    rows = np.minimum(first + np.arange(blocks) * size + size // 2, len(values) - 1)
    return rows, found, size
