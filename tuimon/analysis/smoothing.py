"""smooth(): exponential moving average with bias correction.

    m_0 = 0,  m_i = w m_(i-1) + (1 - w) x_i,  smoothed x_i = m_i / (1 - w^i)

The division is the bias correction of Kingma & Ba, "Adam", 2015, section 3, as in TensorBoard's charts
(tensorboard/components/vz_line_chart2, resmoothDataset): the curve begins at the mean of the first points, not at zero.
Values that are not finite become NaN and are excluded from the average.
"""

from __future__ import annotations

import numpy as np

from tuimon.model.points import Floats

_BLOCK = 64


def smooth(values: Floats, weight: float) -> Floats:
    """Return the smoothed values, float64 (n,). weight: from 0 (no smoothing) to below 1 (0.99: about 100 points).

    ValueError for any other weight.
    """
    if not 0.0 <= weight < 1.0:
        raise ValueError(f"smoothing weight must be at least 0 and below 1, not {weight}")
    finite = np.isfinite(values)
    known = values[finite]
    smoothed = np.full(len(values), np.nan)
    if len(known):
        with np.errstate(under="ignore"):
            correction = 1.0 - np.power(weight, np.arange(1, len(known) + 1))
        smoothed[finite] = _recursive((1.0 - weight) * known, weight) / correction
    return smoothed


def _recursive(inputs: Floats, weight: float) -> Floats:
    """Return y_i = weight y_(i-1) + inputs_i, where y before the first is 0.

    Computed in blocks: a triangular matrix of powers gives the contribution of each block's own inputs. The
    contribution of earlier blocks follows the same recursion from block end to block end, with the weight to the power
    of the block's length. All coefficients are positive, so nothing cancels.
    """
    with np.errstate(under="ignore"):
        powers = np.power(weight, np.arange(_BLOCK + 1))
    rows = np.arange(_BLOCK)
    distance = rows[:, None] - rows[None, :]
    triangle = np.where(distance >= 0, powers[np.maximum(distance, 0)], 0.0)
    blocks = -(-len(inputs) // _BLOCK)
    padded = np.zeros(blocks * _BLOCK)
    padded[: len(inputs)] = inputs
    own = padded.reshape(blocks, _BLOCK) @ triangle.T
    if blocks > 1:
        ends = _recursive(own[:-1, -1].copy(), float(powers[_BLOCK]))
        own[1:] += ends[:, None] * powers[1:]
    flat: Floats = own.ravel()[: len(inputs)]
    return flat
