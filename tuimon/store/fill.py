"""A metric's points from its best source, continued by other sources after its last step.

An event file is flushed every two minutes, so a console can be ahead of it. Points of other sources before the last
step of the best one are not drawn, so that values of different precision are never mixed within a curve.

A source is trusted if it agrees about most of the common steps, of which there must be one, and if its points do not
belong to an attempt that the best source saw end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.model.equal import Compared
from tuimon.model.points import Indices, Steps
from tuimon.store.arrays import count_below, usual_stride
from tuimon.store.columns import PointColumns, SharedColumns
from tuimon.store.curve_index import CurveIndex
from tuimon.store.join import JoinedCurve

_CLOCKS = 1.0
"""Seconds by which the wall times of two sources may differ; text often has whole seconds."""
_LONG = 1 << 16
"""Points from which a curve is copied only for a considerable number of points after its end."""
_WORTH = 64
"""A long curve is copied only if it gets at least 1/64 of its points after its end."""


class Piece(Struct, frozen=True, eq=False):
    """Rows start:stop of one source."""

    joined: JoinedCurve
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def extends(self, other: Piece) -> bool:
        """Return whether this is the other piece, or the other piece with rows added at its end."""
        return self.joined.columns is other.joined.columns and self.start == other.start and self.stop >= other.stop


class FillPlan(Struct, frozen=True, eq=False):
    """Pieces of sources to be drawn, by ascending step."""

    best: JoinedCurve
    ahead: tuple[Piece, ...]
    """Pieces of other sources after the best source's last step."""

    @property
    def added(self) -> int:
        """Number of points of other sources."""
        return sum(map(len, self.ahead))

    def restarts(self) -> Indices:
        """Return the positions in the filled curve at which a source restarts."""
        result = [self.best.restarts]
        offset = self.best.length
        for piece in self.ahead:
            inside = piece.joined.restarts
            result.append(inside[(inside >= piece.start) & (inside < piece.stop)] - piece.start + offset)
            offset += len(piece)
        positions = np.concatenate(result)
        return positions[positions > 0]


class Filled(Struct, frozen=True, eq=False):
    """A filled curve: the first `length` rows of `columns`."""

    plan: FillPlan
    columns: PointColumns
    length: int
    index: CurveIndex


def plan_fill(best: JoinedCurve, others: Sequence[tuple[JoinedCurve, Compared]]) -> FillPlan | None:
    """Return what other sources add to the best one, or None if they add nothing.

    others: the other sources with points, better ones first, and how they compare with the best one.
    """
    steps = best.columns.steps[: best.length]
    if _has_one_step(steps):
        return None
    stride = max(usual_stride(steps), 1)
    last = int(steps[-1])
    ahead: list[Piece] = []
    for other, compared in others:
        theirs = other.columns.steps[: other.length]
        if _has_one_step(theirs) or not _is_trusted(best, other, compared):
            continue
        start = _skip_superseded(best, other, count_below(theirs, last + stride))
        if start < other.length:
            ahead.append(Piece(other, start, other.length))
            last = int(theirs[-1])
    if best.length > _LONG and sum(map(len, ahead)) * _WORTH < best.length:
        ahead = []
    return FillPlan(best, tuple(ahead)) if ahead else None


def fill(plan: FillPlan, previous: Filled | None, shared: SharedColumns | None = None) -> Filled:
    """Build the filled curve, by appending to the previous one if only its end is new.

    shared: columns of other metrics of the source.
    """
    new = _new_pieces(plan, previous) if previous is not None else None
    if previous is None or new is None:
        previous = Filled(plan, PointColumns(shared), 0, CurveIndex())
        new = [Piece(plan.best, 0, plan.best.length), *plan.ahead]
    for piece in new:
        columns, rows = piece.joined.columns, slice(piece.start, piece.stop)
        previous.columns.extend(columns.steps[rows], columns.values[rows], columns.wall_times[rows])
    return Filled(plan, previous.columns, previous.columns.length, previous.index)


def _new_pieces(plan: FillPlan, previous: Filled) -> list[Piece] | None:
    """Return the pieces to append to the previous curve; None if the curve must be built from scratch."""
    old, best = previous.plan, Piece(plan.best, 0, plan.best.length)
    known = Piece(old.best, 0, old.best.length)
    if previous.columns.length != previous.length or not best.extends(known):
        return None
    rest = [Piece(plan.best, known.stop, best.stop), *plan.ahead]
    if not old.ahead:
        return [piece for piece in rest if len(piece)]
    if len(rest[0]) or len(plan.ahead) != len(old.ahead):
        return None
    *earlier, (grown, end) = zip(plan.ahead, old.ahead, strict=True)
    if not grown.extends(end) or not all(a.extends(b) and len(a) == len(b) for a, b in earlier):
        return None
    return [Piece(grown.joined, end.stop, grown.stop)]


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
    if start >= other.length or not (best.superseded or len(best.restarts)):
        return start
    ended, times = best.columns.wall_times[best.length - 1], other.columns.wall_times[start : other.length]
    if np.isfinite(ended) and np.isfinite(times).any():
        stale = np.flatnonzero(times < ended - _CLOCKS)
        return start + int(stale[-1]) + 1 if len(stale) else start
    resumed = best.columns.steps[best.restarts[-1]] if len(best.restarts) else np.inf
    has_restart = len(other.restarts) > 0 or other.columns.steps[0] >= resumed
    return start if has_restart else other.length
