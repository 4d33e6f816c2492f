"""What np.unique gives of whole numbers, without numpy.ma, which np.unique loads: 9 ms of a start, 1 MB that stays."""

from __future__ import annotations

import numpy as np

from tuimon.store.tally import Indices


def distinct(numbers: Indices) -> Indices:
    """The different ones among int64 (n,), ascending."""
    ascending = np.sort(numbers)
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(ascending) else ascending
