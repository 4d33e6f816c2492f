"""Small array functions that several modules need."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Steps

Number = TypeVar("Number", np.int64, np.float64)

_SAMPLE = 256
"""Number of distances from which the usual stride of a long column is estimated."""
_FIRST, _LAST = -(2**63), 2**63 - 1


def distinct(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values of a NaN-free array (n,), ascending.

    Equals np.unique without its import of numpy.ma, which would delay the first curves by 9 ms.
    """
    ascending = np.sort(numbers)
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(ascending) else ascending


def median(values: npt.NDArray[Number]) -> float:
    """Return the median of values (n,) without NaN; NaN if there is none.

    Equals np.median without its import of numpy.ma; five times as fast for some hundred values.
    """
    half = len(values) // 2
    if not len(values):
        return float("nan")
    ordered = np.partition(values, (max(half - 1, 0), half))
    middle = float(ordered[half])
    return middle if len(values) % 2 else (float(ordered[half - 1]) + middle) / 2


def usual_stride(steps: Steps) -> int:
    """Return the median distance between consecutive distinct steps, sampled in long arrays.

    Steps must ascend. The result is 0 if no two steps differ.
    """
    if len(steps) > _SAMPLE:
        rows = np.linspace(0, len(steps) - 2, _SAMPLE).astype(np.int64)
        distances = steps[rows + 1] - steps[rows]
    else:
        distances = np.diff(steps)
    distances = distances[distances > 0]
    return max(int(median(distances)), 1) if len(distances) else 0


def count_below(steps: Steps, limit: int) -> int:
    """Return how many of the ascending steps are < `limit`, which may be any integer."""
    return int(np.searchsorted(steps, max(limit, _FIRST), "left")) if limit <= _LAST else len(steps)
