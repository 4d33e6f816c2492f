"""A metric's points from its best source, continued by other sources after its last step.

An event file is flushed every two minutes, so a console can be ahead of it. Points of other sources before the last
step of the best one are not drawn, so that values of different precision are never mixed within a curve.

A source is trusted if it agrees about most of the common steps, of which there must be one, and if its points do not
belong to an attempt that the best source saw end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tuimon.model.equal import Compared
from tuimon.model.points import Floats, Indices, Steps
from tuimon.store.arrays import count_below, usual_stride
from tuimon.store.columns import concatenated
from tuimon.store.join import JoinedCurve

_CLOCKS = 1.0
"""Seconds by which the wall times of two sources may differ; text often has whole seconds."""
_LONG, _PART = 1 << 16, 64
"""A longer curve is continued by 1/64 of its points at a time, as it is copied each time."""


class Piece(NamedTuple):
    """Rows start:stop of another source."""

    joined: JoinedCurve
    start: int
    stop: int


def pieces_ahead(best: JoinedCurve, others: Iterable[tuple[JoinedCurve, Callable[[], Compared]]]) -> list[Piece]:
    """Return the pieces of other sources after the last step of the best one.

    others: the other sources with points, better ones first, and what compares them with the best one.
    """
    steps = best.columns.steps[: best.length]
    ahead: list[Piece] = []
    if _has_one_step(steps):
        return ahead
    stride, last = max(usual_stride(steps), 1), int(steps[-1])
    unit = best.length // _PART if best.length > _LONG else 1
    for other, compare in others:
        theirs = other.columns.steps[: other.length]
        start = count_below(theirs, last + stride)
        if start == other.length or _has_one_step(theirs) or not _is_trusted(best, other, compare()):
            continue
        start = _skip_superseded(best, other, start)
        count = (other.length - start) // unit * unit
        if count:
            ahead.append(Piece(other, start, start + count))
            last = int(theirs[start + count - 1])
    return ahead


def continued(best: JoinedCurve, ahead: Sequence[Piece]) -> tuple[tuple[Steps, Floats, Floats], Indices]:
    """Return (steps, values and wall times, restarts) of the best source and the pieces after it."""
    whole = [Piece(best, 0, best.length), *ahead]
    parts = [(piece.joined.columns, slice(piece.start, piece.stop)) for piece in whole]
    restarts, offset = [], 0
    for joined, start, stop in whole:
        inside = joined.restarts[(joined.restarts >= start) & (joined.restarts < stop)]
        restarts.append(inside - start + offset)
        offset += stop - start
    positions = np.concatenate(restarts)
    return concatenated(parts), positions[positions > 0]


def _has_one_step(steps: Steps) -> bool:
    return len(steps) > 1 and bool(steps[0] == steps[-1])


def _is_trusted(best: JoinedCurve, other: JoinedCurve, compared: Compared) -> bool:
    """Return whether the other's points after the last step of the best source are of the same curve."""
    ours, theirs = best.columns, other.columns
    if theirs.wall_times[other.length - 1] < ours.wall_times[0]:  # False if either is unknown
        return False  # an earlier attempt
    return 0 < compared.common >= 2 * compared.differing


def _skip_superseded(best: JoinedCurve, other: JoinedCurve, start: int) -> int:
    """Return the first row from `start` on that does not belong to an attempt which the best source saw end."""
    if not (best.superseded or len(best.restarts)):
        return start
    ended, times = best.columns.wall_times[best.length - 1], other.columns.wall_times[start : other.length]
    if np.isfinite(ended) and np.isfinite(times).any():
        stale = np.flatnonzero(times < ended - _CLOCKS)
        return start + int(stale[-1]) + 1 if len(stale) else start
    resumed = best.columns.steps[best.restarts[-1]] if len(best.restarts) else np.inf
    has_restart = len(other.restarts) > 0 or other.columns.steps[0] >= resumed
    return start if has_restart else other.length
