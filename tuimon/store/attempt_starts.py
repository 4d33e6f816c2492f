"""Find where the attempts of a training begin in a stream that holds several of them.

The restart is recognised by the steps of the longest series that goes back (`segments.restarts_within`). It counts for
each metric of the stream that counts the same steps, also for one whose own steps do not go back there, such as an
evaluation loss of which each attempt has few points.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from tuimon.model.events import MOST_FALLS
from tuimon.store.segments import restarts_within, stride_of
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
            starts.append(AttemptStart(int(steps[position]), int(before.max()), stride_of(before), places[0]))
    last = falls[-1].get(leader.id, 0)
    settled = last < length and int(steps[length - 1]) > int(steps[:last].max(initial=0))
    stream.data.starts = KnownStarts(
        stream.fall_count, leader, length if settled else _ANY_LENGTH, length, tuple(starts)
    )
    return tuple(starts)


def training_begin(stream: StreamView, length_of: Callable[[int], int]) -> int | None:
    """Return the first step of the metric with most points in a stream, which is one of the training; None without
    points. It is determined again once the stream has twice as many points."""
    data = stream.data
    if data.leader is None or stream.point_count >= 2 * data.leader_points:
        most = max(list(data.series.values()), key=lambda series: length_of(series.id), default=None)
        data.leader, data.leader_points = most, stream.point_count
    if data.leader is None or not (length := length_of(data.leader.id)):
        return None
    columns = data.leader.columns
    return int(columns.steps[0] if columns.ordered >= length else columns.steps[:length].min())
