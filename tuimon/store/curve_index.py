"""What is worked out of a growing column once: its tally, its moments, its sums and its pyramid."""

from __future__ import annotations

from threading import Lock

from tuimon.model.points import Floats
from tuimon.model.views import Envelope
from tuimon.store import envelope as columns_of
from tuimon.store.blocks import Sums
from tuimon.store.moments import Moments
from tuimon.store.pyramid import Pyramid
from tuimon.store.tally import Indices, Tally

_DIRECT = 1 << 16
"""Up to this many points are read themselves: as quick as a pyramid, and nothing to build."""


class CurveIndex:
    """What curves over one growing column share from snapshot to snapshot. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tally = Tally()
        self._moments = Moments()
        self._sums = Sums()
        self._pyramid = Pyramid()
        self._last: columns_of.Reduced | None = None
        """The last envelope that the pyramid was asked for."""

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
            found = columns_of.reduce(values, edges, restarts, tally, self._pyramid, self._last)
            self._last = edges, found
            return found
