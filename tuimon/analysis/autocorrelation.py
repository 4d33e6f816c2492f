"""autocorrelation(): how much each point of a noisy curve has in common with the one before.

The points are taken as a trend, a polynomial of degree 3, and noise that is an autoregressive process of order 1: the
correlation of two points that are k apart is rho^k. rho is that of the greatest restricted likelihood (Patterson &
Thompson, "Recovery of inter-block information when block sizes are unequal", 1971). The correlation of what a fitted
trend leaves is much smaller than rho, because the trend follows the slow part of the noise: of 36 points with rho 0.7
it is 0.38.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tuimon.model.points import Floats

_DEGREE = 3
_FEWEST = 16
"""Minimum number of points from which rho is estimated."""
_RHOS = np.arange(0.0, 0.96, 0.05)
_NONE = 1e-12
"""Relative deviation from the trend that is a rounding error."""


def autocorrelation(values: Floats) -> float:
    """Return rho of finite values, from 0 to 0.95; 0 if there are fewer than 16 values or all are on the trend."""
    count = len(values)
    if count < _FEWEST:
        return 0.0
    trend = _trend(count)
    rest = values - trend @ (trend.T @ values)
    size = float(np.linalg.norm(rest))
    if size <= _NONE * float(np.linalg.norm(values)):
        return 0.0
    columns = np.column_stack((trend, rest / size))
    lagged = columns[1:].T @ columns[:-1]
    rhos = _RHOS[:, None, None]
    squares = columns.T @ columns - rhos * (lagged + lagged.T) + rhos**2 * (columns[1:-1].T @ columns[1:-1])
    of_trend = np.linalg.slogdet(squares[:, :-1, :-1])[1]
    of_rest = np.linalg.slogdet(squares)[1] - of_trend
    likelihood = np.log(1 - _RHOS**2) - of_trend - (count - _DEGREE - 1) * of_rest
    return float(_RHOS[int(likelihood.argmax())])


@lru_cache(maxsize=64)
def _trend(count: int) -> Floats:
    """Return an orthonormal basis of the polynomials at `count` points, as columns.

    Cached: a comparison has many curves of the same length, and the decomposition takes half of the time.
    """
    basis: Floats = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, count), _DEGREE + 1))[0]
    basis.setflags(write=False)
    return basis
