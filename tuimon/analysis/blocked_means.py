"""matched_levels(): the level of each value of a setting, from the differences between runs that are otherwise equal.

The runs whose other settings are equal are a block. The result of run i of block h with value v of the setting is taken
as

    y[i] = a[h] + b[v] + noise

and b is estimated by least squares, from the differences between the runs of each block: a blocked difference of means,
which with one block is the difference of the means (Montgomery, "Design and Analysis of Experiments", intrablock
analysis of incomplete blocks). The level of a value is mean(y) + b[v] - mean(b), where the means are over the runs of
blocks with several values.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats, Steps


class Levels(Struct, frozen=True, eq=False):
    """Levels of the values of a setting."""

    rows: Steps
    """Positions of the runs that are compared."""
    codes: Steps
    """Value of each, as a number from 0 on."""
    weights: Floats
    """Level of value v = sum of weights[v, i] * result of run i of `rows`."""
    effects: Floats
    """Effect of the value of each run, with mean 0 in its block."""
    rest: Floats
    """What the effects leave of each result, with mean 0 in its block."""
    freedom: int
    """Degrees of freedom of the rest."""


def matched_levels(rows: Steps, codes: Steps, blocks: Steps, results: Floats) -> Levels | None:
    """Return the estimate from blocks with several values; None if there is no such block."""
    blocks = np.unique(blocks, return_inverse=True)[1]
    occurs = np.zeros((int(codes.max()) + 1, int(blocks.max()) + 1))
    occurs[codes, blocks] = 1
    used = (occurs.sum(axis=0) > 1)[blocks]
    if not used.any():
        return None
    occurs = occurs[:, occurs.sum(axis=0) > 1]
    linked = occurs @ occurs.T > 0
    for _ in range(len(linked).bit_length()):  # values that a chain of blocks connects
        linked = linked @ linked
    connected = max(linked, key=lambda group: int((group[codes] & used).sum()))
    used &= connected[codes]
    own = np.unique(codes[used], return_inverse=True)[1]
    return levels_of(rows[used], own, np.unique(blocks[used], return_inverse=True)[1], results)


def levels_of(rows: Steps, codes: Steps, blocks: Steps, results: Floats) -> Levels:
    """Return the least squares of y = a[block] + b[code]; see the module."""
    count, number = int(codes.max()) + 1, len(rows)
    values = np.zeros((number, count))
    values[np.arange(number), codes] = 1
    sizes = np.bincount(blocks)
    means = np.stack([np.bincount(blocks, column) / sizes for column in values.T], axis=1)
    within = values - means[blocks]
    y = results[rows] - (np.bincount(blocks, results[rows]) / sizes)[blocks]
    solve = np.linalg.pinv(within.T @ within, hermitian=True) @ within.T
    weights = 1 / number + solve - values.mean(axis=0) @ solve
    effects = within @ (solve @ y)
    return Levels(rows, codes, weights, effects, y - effects, number - len(sizes) - count + 1)
