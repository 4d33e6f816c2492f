"""Aggregates over an append-only column that successive curves share: tally, block sums, pyramid."""

from __future__ import annotations

from threading import Lock

from tuimon.model.points import Floats, Indices
from tuimon.model.views import Envelope
from tuimon.store import envelope
from tuimon.store.aggregates import Tally
from tuimon.store.block_sums import BlockSums
from tuimon.store.pyramid import Pyramid

_DIRECT = 1 << 16
"""Ranges of up to this many points are reduced without the pyramid, which takes no longer and needs no pyramid."""


class CurveIndex:
    """Aggregates over one append-only column. Thread-safe.

    The aggregates grow with the column, so that a redraw after one more point costs that point and not the column.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._tally = Tally()
        self._sums = BlockSums()
        self._pyramid = Pyramid()

    def tally(self, values: Floats) -> Tally:
        """Return the tally of `values`, a prefix of the column."""
        with self._lock:
            if len(values) < self._tally.length:
                return Tally().extended(values)
            self._tally = self._tally.extended(values)
            return self._tally

    def block_means(self, values: Floats, begin: int, end: int, most: int, before: int) -> tuple[Indices, Floats, int]:
        """Return means over blocks of values[begin:end], as BlockSums.means does."""
        with self._lock:
            self._sums.extend(values)
            return self._sums.means(values, begin, end, most, before)

    def reduce(self, values: Floats, edges: Indices, restarts: Indices, tally: Tally) -> Envelope:
        """Reduce `values` to the envelope of the bins between `edges`, as envelope.reduce does."""
        if edges[-1] - edges[0] <= _DIRECT:
            return envelope.reduce(values, edges, restarts, tally, None)
        with self._lock:
            self._pyramid.extend(values)
            return envelope.reduce(values, edges, restarts, tally, self._pyramid)
