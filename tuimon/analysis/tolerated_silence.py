"""Time without a point that is normal for a run."""

from __future__ import annotations

import math

from tuimon.analysis.cadence import Cadence

TOLERATED_INTERVALS = 4.0
"""Usual intervals without a point that are tolerated."""
_INTERVALS_AFTER_END = 10.0
_SILENCE_AFTER_END = 10.0
"""Shortest tolerated silence (s) after the process that held the log open has closed it."""
PAUSES = 1.5
"""Factor of the longest pause so far for a pause that is tolerated."""
SHORTEST_SILENCE = 120.0
"""Shortest tolerated silence (s): what a writer may buffer (SummaryWriter flushes every 120 s)."""
_SHORTEST_WATCHED = 60.0
"""Shortest tolerated silence (s) of a log that was watched while it grew regularly, which shows how much its writer
buffers. Not less, as the first evaluation and the first checkpoint of a run are pauses of unknown length."""
_GAPS = 10.0
"""Longest times between two growths of a watched log that are tolerated."""
_FEWEST_GROWTHS = 10
"""Growths of a watched log from which on they count as regular."""
UNKNOWN_SILENCE = 600.0
"""Tolerated silence (s) if the usual interval is unknown, and the shortest one while the log grows."""
_GROWING = 2.0
"""Factor for the tolerated silence while the log grows."""


def tolerated_silence(cadence: Cadence | None, growing: bool = False, buffered: float = SHORTEST_SILENCE) -> float:
    """Return the time (s) without a point that is normal. buffered: how long the writer may hold a point back.

    It is 4 usual intervals, 1.5 times the longest pause or `buffered`, whichever is longest; while the log grows twice
    that, at least 10 minutes; and 10 minutes if the pace is unknown.
    """
    if cadence is None:
        return UNKNOWN_SILENCE
    usual = max(TOLERATED_INTERVALS * cadence.interval, PAUSES * cadence.longest_pause, buffered)
    return max(_GROWING * usual, UNKNOWN_SILENCE) if growing else usual


def silence_after_end(cadence: Cadence | None) -> float:
    """Return the time (s) without a point after which a run whose log was closed has ended: 10 intervals, 10 s."""
    return max(_INTERVALS_AFTER_END * cadence.interval if cadence else 0.0, _SILENCE_AFTER_END)


def buffered_for(growths: int, longest_gap: float) -> float:
    """Return the time (s) for which a writer may hold a point back: 2 minutes, less if it is known from the growth.

    growths, longest_gap: how often its log was seen to grow, and the longest time (s) between two of these growths.
    """
    if growths < _FEWEST_GROWTHS or not math.isfinite(longest_gap):
        return SHORTEST_SILENCE
    return min(max(_GAPS * longest_gap, _SHORTEST_WATCHED), SHORTEST_SILENCE)
