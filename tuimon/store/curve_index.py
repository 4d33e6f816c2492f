"""What is worked out of a growing column once: its tally, its moments, its sums and its pyramid."""

from __future__ import annotations

from threading import Lock

import numpy as np

from tuimon.model.points import Floats
from tuimon.model.views import Envelope
from tuimon.store import envelope as columns_of
from tuimon.store.blocks import Sums
from tuimon.store.moments import Moments
from tuimon.store.pyramid import Pyramid
from tuimon.store.tally import Indices, Tally

_DIRECT = 1 << 16
"""Up to this many points are read themselves: as quick as a pyramid, and nothing to build."""
_NO_ROWS: Indices = np.empty(0, np.int64)
_NOTHING = _NO_ROWS, _NO_ROWS, Envelope(*[np.empty(0)] * 5)


class CurveIndex:
    """What curves over one growing column share from snapshot to snapshot. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tally = Tally()
        self._moments = Moments()
        self._sums = Sums()
        self._pyramid = Pyramid()
        self._last: tuple[Indices, Indices, Envelope] = _NOTHING
        """The edges, the restarts and the result of the last envelope that the pyramid was asked for."""

    def tally(self, values: Floats) -> Tally:
        """Counted over all of `values`, a prefix of the column; only what is new is counted."""
        with self._lock:
            if len(values) < self._tally.length:
                return Tally().extended(values)
            self._tally = self._tally.extended(values)
            return self._tally

    def prepare(self, values: Floats) -> None:
        """Takes in what is new, which whoever draws all of it would otherwise have to do at once."""
        self.tally(values)
        if len(values) > _DIRECT:
            with self._lock:
                self._pyramid.extend(values)

    def moments(self, values: Floats) -> Moments:
        """The same of mean and deviation, which nobody asks for until a chart has the screen to itself."""
        with self._lock:
            if len(values) < self._moments.length:
                return Moments().extended(values)
            self._moments = self._moments.extended(values)
            return self._moments

    def means(self, values: Floats, begin: int, end: int, most: int, before: int) -> tuple[Indices, Floats, int]:
        """See Sums.means."""
        with self._lock:
            self._sums.extend(values)
            return self._sums.means(values, begin, end, most, before)

    def reduce(self, values: Floats, edges: Indices, restarts: Indices, tally: Tally) -> Envelope:
        """See envelope.reduce."""
        if edges[-1] - edges[0] <= _DIRECT:
            return columns_of.reduce(values, edges, restarts, tally, None)
        with self._lock:
            self._pyramid.extend(values)
            known = self._known(edges, restarts)
            found = columns_of.reduce(values, edges[known:], restarts, tally, self._pyramid)
            if known:
                found = _behind(self._last[2], known, found)
            self._last = edges, restarts, found
            return found

    def _known(self, edges: Indices, restarts: Indices) -> int:
        """How many leading columns are those of the last envelope: of a growing run all but the last ones. The last
        with a point may be followed by another point now, so it is none of them."""
        before, restarts_before, envelope = self._last
        if len(before) != len(edges) or not np.array_equal(restarts, restarts_before):
            return 0
        differs = before != edges
        same = int(differs.argmax()) - 1 if differs.any() else len(edges) - 1
        full = np.flatnonzero(np.isfinite(envelope.low[: max(same, 0)]))
        return int(full[-1]) if len(full) else 0


def _behind(before: Envelope, known: int, found: Envelope) -> Envelope:
    """The first columns of one envelope and all of another."""
    pairs = (
        (before.low, found.low),
        (before.high, found.high),
        (before.first, found.first),
        (before.last, found.last),
        (before.gap_after, found.gap_after),
    )
    return Envelope(*(np.concatenate((a[:known], b)) for a, b in pairs))
