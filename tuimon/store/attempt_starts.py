"""Find where the attempts of a training begin in a stream that holds several of them.

The restart is recognised by the steps of the longest series that goes back (`segments.restarts_within`). It counts for
each metric of the stream that counts the same steps, also for one whose own steps do not go back there, such as an
evaluation loss of which each attempt has few points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from tuimon.model.events import MOST_FALLS
from tuimon.model.points import Steps
from tuimon.store.arrays import median
from tuimon.store.segments import restarts_within
from tuimon.store.series import AttemptStart, Series
from tuimon.store.streams import StreamView

_ANY_LENGTH = 1 << 62
"""More points than any series has."""


class KnownStarts(Struct, frozen=True):
    """Attempts found last in a stream, and the inputs for which they are valid."""

    fall_count: int
    leader: Series
    settled_length: int
    """The result holds for any length of the leader from this one on."""
    length: int
    """The result holds for this length."""
    starts: tuple[AttemptStart, ...]

    def holds(self, fall_count: int, length: int) -> bool:
        """Return whether the result is valid for this state of the stream."""
        return fall_count == self.fall_count and (length == self.length or length >= self.settled_length)


def attempt_starts(stream: StreamView, length_of: Callable[[int], int]) -> tuple[AttemptStart, ...]:
    """Return the starts of attempts in a stream, in the order of its log. length_of: maps ids of series to lengths."""
    if not 0 < stream.fall_count <= MOST_FALLS:
        return ()
    known = stream.data.starts
    if isinstance(known, KnownStarts) and known.holds(stream.fall_count, length_of(known.leader.id)):
        return known.starts
    leader, length = None, 0
    for series in list(stream.data.series.values()):
        series_length = length_of(series.id)
        if length < series_length > series.columns.ordered:
            leader, length = series, series_length
    if leader is None:
        return ()
    steps = leader.columns.steps[:length]
    falls = stream.data.falls[: stream.fall_count]
    starts: list[AttemptStart] = []
    for position in restarts_within(steps):
        # Another metric of the same attempt may have gone back before the leader did.
        places = [place for place in falls if place.get(leader.id, 0) == position]
        if places:
            before = steps[:position]
            starts.append(AttemptStart(int(steps[position]), int(before.max()), _stride(before), places[0]))
    last = falls[-1].get(leader.id, 0)
    settled = last < length and int(steps[length - 1]) > int(steps[:last].max(initial=0))
    stream.data.starts = KnownStarts(
        stream.fall_count, leader, length if settled else _ANY_LENGTH, length, tuple(starts)
    )
    return tuple(starts)


def _stride(steps: Steps) -> int:
    """Return the largest usual distance of neighbouring steps."""
    rises = np.diff(steps)
    rises = rises[rises > 0]
    return int(median(rises)) if len(rises) else 1
