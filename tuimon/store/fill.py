"""A metric's points from its best source, filled with points of other sources where the best one has none.

An event file may have lost its first half, a W&B file may lag, a console may be ahead: points of other sources before
the best source's first step, after its last step and in its holes are drawn, too. Nothing is inserted between points
of the best source whose distance is usual, so rounded values are never mixed with exact ones.

A source is trusted if it agrees about most of the common steps. Without common steps its stride must be about that of
the best source, and points after the best source's end must not belong to an attempt that the best source saw end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.model.points import Indices, Steps
from tuimon.store.arrays import count_below, count_up_to, usual_stride
from tuimon.store.columns import PointColumns, SharedColumns
from tuimon.store.compare import Comparison
from tuimon.store.curve_index import CurveIndex
from tuimon.store.join import Joined

_ALIKE = 4
"""Sources without a common step are taken to share an axis if their usual strides differ at most by this factor."""
_CLOCKS = 1.0
"""Seconds by which the wall times of two sources may differ; text often has whole seconds."""
_LONG = 1 << 16
"""Points from which a curve is copied only for a considerable number of points after its end."""
_WORTH = 64
"""A long curve is copied only if it gets at least 1/64 of its points after its end."""


class Piece(Struct, frozen=True, eq=False):
    """Rows start:stop of one source."""

    joined: Joined
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def extends(self, other: Piece) -> bool:
        """Return whether this is the other piece, or the other piece with rows added at its end."""
        return self.joined.columns is other.joined.columns and self.start == other.start and self.stop >= other.stop


class FillPlan(Struct, frozen=True, eq=False):
    """Pieces of sources to be drawn, by ascending step."""

    front: tuple[Piece, ...]
    """Pieces of other sources before the best source's first step."""
    best: Joined
    holes: tuple[tuple[Joined, Indices], ...]
    """For each hole of the best source the rows of another source, by ascending step."""
    ahead: tuple[Piece, ...]
    """Pieces of other sources after the best source's last step."""

    @property
    def added(self) -> int:
        """Number of points of other sources."""
        return sum(map(len, (*self.front, *self.ahead))) + sum(len(rows) for _, rows in self.holes)

    def restarts(self) -> Indices:
        """Return the positions in the filled curve at which a source restarts."""
        result: list[Indices] = []
        offset = 0
        for piece in (*self.front, Piece(self.best, 0, self.best.length), *self.ahead):
            inside = piece.joined.restarts
            inside = inside[(inside >= piece.start) & (inside < piece.stop)]
            place = inside - piece.start + offset
            offset += len(piece)
            if piece.joined is self.best:
                steps = self._hole_steps()
                place += np.searchsorted(steps, self.best.columns.steps[inside])
                offset += len(steps)
            result.append(place)
        positions = np.concatenate(result)
        return positions[positions > 0]

    def _hole_steps(self) -> Steps:
        return np.concatenate([np.empty(0, np.int64), *(other.columns.steps[rows] for other, rows in self.holes)])


class Filled(Struct, frozen=True, eq=False):
    """A filled curve: the first `length` rows of `columns`."""

    plan: FillPlan
    columns: PointColumns
    length: int
    index: CurveIndex


def plan_fill(best: Joined, others: Sequence[tuple[Joined, Comparison]]) -> FillPlan | None:
    """Return what other sources add to the best one, or None if they add nothing.

    others: the other sources with points, better ones first, and their up-to-date comparisons with the best one.
    """
    steps = best.columns.steps[: best.length]
    if _has_one_step(steps):
        return None
    stride = max(usual_stride(steps), 1)
    first, last = int(steps[0]), int(steps[-1])
    front: list[Piece] = []
    ahead: list[Piece] = []
    holes: dict[int, tuple[Joined, Indices]] = {}
    for other, comparison in others:
        theirs = other.columns.steps[: other.length]
        if _has_one_step(theirs):
            continue
        trusted_before, trusted_after = _trusted(best, other, comparison)
        if trusted_before and (stop := count_up_to(theirs, first - stride)):
            front.insert(0, Piece(other, 0, stop))
            first = int(theirs[0])
        if not trusted_after:
            continue
        for rows in comparison.holes():
            holes.setdefault(int(np.searchsorted(steps, theirs[rows[0]])), (other, rows))
        start = _skip_superseded(best, other, count_below(theirs, last + stride))
        if start < other.length:
            ahead.append(Piece(other, start, other.length))
            last = int(theirs[-1])
    if best.length > _LONG and sum(map(len, ahead)) * _WORTH < best.length:
        ahead = []
    plan = FillPlan(tuple(front), best, tuple(holes[row] for row in sorted(holes)), tuple(ahead))
    return plan if plan.added else None


def fill(plan: FillPlan, previous: Filled | None, shared: SharedColumns | None = None) -> Filled:
    """Build the filled curve, by appending to the previous one if only its end is new.

    shared: columns of other metrics of the source.
    """
    new = _new_pieces(plan, previous) if previous is not None else None
    if previous is not None and new is not None:
        for piece in new:
            columns, rows = piece.joined.columns, slice(piece.start, piece.stop)
            previous.columns.extend(columns.steps[rows], columns.values[rows], columns.wall_times[rows])
        return Filled(plan, previous.columns, previous.columns.length, previous.index)
    best = plan.best
    parts: list[tuple[PointColumns, slice | Indices]] = [
        *((piece.joined.columns, slice(piece.start, piece.stop)) for piece in plan.front),
        (best.columns, slice(0, best.length)),
        *((other.columns, rows) for other, rows in plan.holes),
        *((piece.joined.columns, slice(piece.start, piece.stop)) for piece in plan.ahead),
    ]
    steps = np.concatenate([columns.steps[rows] for columns, rows in parts])
    values = np.concatenate([columns.values[rows] for columns, rows in parts])
    wall_times = np.concatenate([columns.wall_times[rows] for columns, rows in parts])
    order = np.argsort(steps, kind="stable") if plan.holes else slice(None)
    result = PointColumns(shared)
    result.extend(steps[order], values[order], wall_times[order])
    return Filled(plan, result, result.length, CurveIndex())


def _new_pieces(plan: FillPlan, previous: Filled) -> list[Piece] | None:
    """Return the pieces to append to the previous curve; None if the curve must be built from scratch."""
    old, best = previous.plan, Piece(plan.best, 0, plan.best.length)
    known = Piece(old.best, 0, old.best.length)
    if previous.columns.length != previous.length or not best.extends(known) or not _same_start(plan, old):
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


def _same_start(plan: FillPlan, old: FillPlan) -> bool:
    """Return whether both add the same points before the best source's first step and in its holes."""
    if len(plan.front) != len(old.front) or len(plan.holes) != len(old.holes):
        return False
    return all(
        a.extends(b) and len(a) == len(b) for a, b in zip(plan.front, old.front, strict=True)
    ) and all(
        a.columns is b.columns and np.array_equal(rows, known)
        for (a, rows), (b, known) in zip(plan.holes, old.holes, strict=True)
    )  # fmt: skip


def _has_one_step(steps: Steps) -> bool:
    return len(steps) > 1 and bool(steps[0] == steps[-1])


def _trusted(best: Joined, other: Joined, comparison: Comparison) -> tuple[bool, bool]:
    """Return whether the other's points are trusted (before the best one's first step, in its holes and after it)."""
    ours, theirs = best.columns, other.columns
    if theirs.wall_times[other.length - 1] < ours.wall_times[0]:  # False if either is unknown
        return True, False  # an earlier attempt
    if comparison.common:
        agrees = (comparison.common - comparison.differing) * 2 >= comparison.common
        # Two logs of one kind that differ at the same steps are two attempts: earlier points belong to the earlier one.
        return agrees or (comparison.same_kind and not comparison.between), agrees
    a, b = usual_stride(ours.steps[: best.length]), usual_stride(theirs.steps[: other.length])
    trusted = not comparison.between and 0 < max(a, b) <= _ALIKE * min(a, b)
    return trusted, trusted


def _skip_superseded(best: Joined, other: Joined, start: int) -> int:
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
