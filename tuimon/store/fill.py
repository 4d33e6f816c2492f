"""A metric's points from its best source, and from the others where that one has none.

An event file that lost its first half, a W&B file that lags, a console that is ahead: what another source has before
the first step of the best one, behind its last, and in its holes is drawn, too. Between points of the best source that
are no further apart than usual nothing is put, so a rounded value never stands between exact ones.

A source is believed when it agrees about most of the steps that both have. Where there are none, its points must lie
about as far apart as the best one's; and what it has ahead must not be the rest of an attempt that the best source has
seen end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.model.points import Steps
from tuimon.store.columns import PointColumns, Shared
from tuimon.store.compare import Comparison, before, until, usual_stride
from tuimon.store.curve_index import CurveIndex
from tuimon.store.join import Joined
from tuimon.store.tally import Indices

_ALIKE = 4
"""Sources without a common step are on one axis when their usual strides differ by no more than this factor."""
_CLOCKS = 1.0
"""Seconds by which the wall times of two sources may differ: text tells whole seconds."""
_LONG = 1 << 16
_WORTH = 64
"""A long curve is copied for the sake of points ahead of it only when they are at least this part of it."""


class Piece(Struct, frozen=True, eq=False):
    """Rows start:stop of what one source holds."""

    joined: Joined
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def extends(self, other: Piece) -> bool:
        """Whether it is that one, or that one with more at its end."""
        return self.joined.columns is other.joined.columns and self.start == other.start and self.stop >= other.stop


class Plan(Struct, frozen=True, eq=False):
    """What is drawn, in order of steps: pieces of others, the best source with rows put into its holes, pieces."""

    front: tuple[Piece, ...]
    best: Joined
    holes: tuple[tuple[Joined, Indices], ...]
    """Rows of another source for each hole, by ascending step."""
    ahead: tuple[Piece, ...]

    @property
    def filled(self) -> int:
        """Points that are not the best source's."""
        return sum(map(len, (*self.front, *self.ahead))) + sum(len(rows) for _, rows in self.holes)

    def restarts(self) -> Indices:
        """Positions in what is drawn at which a source begins again."""
        found: list[Indices] = []
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
            found.append(place)
        positions = np.concatenate(found)
        return positions[positions > 0]

    def _hole_steps(self) -> Steps:
        return np.concatenate([np.empty(0, np.int64), *(other.columns.steps[rows] for other, rows in self.holes)])


class Filled(Struct, frozen=True, eq=False):
    """A plan carried out: the first `length` rows of `columns`."""

    plan: Plan
    columns: PointColumns
    length: int
    index: CurveIndex


def plan(best: Joined, others: Sequence[tuple[Joined, Comparison]]) -> Plan | None:
    """What the others, the better ones first, have to add; None for nothing. All have points; their comparisons with
    the best are up to date."""
    steps = best.columns.steps[: best.length]
    if _stepless(steps):
        return None
    stride = max(usual_stride(steps), 1)
    first, last = int(steps[0]), int(steps[-1])
    front: list[Piece] = []
    ahead: list[Piece] = []
    holes: dict[int, tuple[Joined, Indices]] = {}
    for other, seen in others:
        theirs = other.columns.steps[: other.length]
        if _stepless(theirs):
            continue
        before_it, after_it = _believed(best, other, seen)
        if before_it and (stop := before(theirs, first - stride)):
            front.insert(0, Piece(other, 0, stop))
            first = int(theirs[0])
        if not after_it:
            continue
        for rows in seen.holes():
            holes.setdefault(int(np.searchsorted(steps, theirs[rows[0]])), (other, rows))
        start = _not_superseded(best, other, until(theirs, last + stride))
        if start < other.length:
            ahead.append(Piece(other, start, other.length))
            last = int(theirs[-1])
    if best.length > _LONG and sum(map(len, ahead)) * _WORTH < best.length:
        ahead = []
    made = Plan(tuple(front), best, tuple(holes[at] for at in sorted(holes)), tuple(ahead))
    return made if made.filled else None


def carry_out(wanted: Plan, last: Filled | None, shared: Shared | None = None) -> Filled:
    """Builds what is drawn; where only its end is new, that is appended to what the last call built. shared: what other
    metrics hold."""
    more = _more(wanted, last) if last is not None else None
    if last is not None and more is not None:
        for piece in more:
            columns, rows = piece.joined.columns, slice(piece.start, piece.stop)
            last.columns.extend(columns.steps[rows], columns.values[rows], columns.wall_times[rows])
        return Filled(wanted, last.columns, last.columns.length, last.index)
    best = wanted.best
    parts: list[tuple[PointColumns, slice | Indices]] = [
        *((piece.joined.columns, slice(piece.start, piece.stop)) for piece in wanted.front),
        (best.columns, slice(0, best.length)),
        *((other.columns, rows) for other, rows in wanted.holes),
        *((piece.joined.columns, slice(piece.start, piece.stop)) for piece in wanted.ahead),
    ]
    steps = np.concatenate([columns.steps[rows] for columns, rows in parts])
    values = np.concatenate([columns.values[rows] for columns, rows in parts])
    wall_times = np.concatenate([columns.wall_times[rows] for columns, rows in parts])
    order = np.argsort(steps, kind="stable") if wanted.holes else slice(None)
    made = PointColumns(shared)
    made.extend(steps[order], values[order], wall_times[order])
    return Filled(wanted, made, made.length, CurveIndex())


def _more(wanted: Plan, last: Filled) -> list[Piece] | None:
    """What is to be appended to what the last call built; None when it must be built anew."""
    old, best = last.plan, Piece(wanted.best, 0, wanted.best.length)
    known = Piece(old.best, 0, old.best.length)
    if last.columns.length != last.length or not best.extends(known) or not _same_inside(wanted, old):
        return None
    rest = [Piece(wanted.best, known.stop, best.stop), *wanted.ahead]
    if not old.ahead:
        return [piece for piece in rest if len(piece)]
    if len(rest[0]) or len(wanted.ahead) != len(old.ahead):
        return None
    *earlier, (grown, end) = zip(wanted.ahead, old.ahead, strict=True)
    if not grown.extends(end) or not all(a.extends(b) and len(a) == len(b) for a, b in earlier):
        return None
    return [Piece(grown.joined, end.stop, grown.stop)]


def _same_inside(wanted: Plan, old: Plan) -> bool:
    """Whether both have the same points before the best source's first and in its holes."""
    if len(wanted.front) != len(old.front) or len(wanted.holes) != len(old.holes):
        return False
    return all(
        a.extends(b) and len(a) == len(b) for a, b in zip(wanted.front, old.front, strict=True)
    ) and all(
        a.columns is b.columns and np.array_equal(rows, known)
        for (a, rows), (b, known) in zip(wanted.holes, old.holes, strict=True)
    )  # fmt: skip


def _stepless(steps: Steps) -> bool:
    return len(steps) > 1 and bool(steps[0] == steps[-1])


def _believed(best: Joined, other: Joined, seen: Comparison) -> tuple[bool, bool]:
    """Whether the other's points are believed (before the best one's first, in its holes and ahead of it)."""
    ours, theirs = best.columns, other.columns
    if theirs.wall_times[other.length - 1] < ours.wall_times[0]:  # false where either is unknown
        return True, False  # an earlier attempt
    if seen.common:
        agrees = (seen.common - seen.differing) * 2 >= seen.common
        # Two logs of one kind that differ on the same steps are two attempts: what came before is the earlier one's.
        return agrees or (seen.alike and not seen.between), agrees
    a, b = usual_stride(ours.steps[: best.length]), usual_stride(theirs.steps[: other.length])
    believed = not seen.between and 0 < max(a, b) <= _ALIKE * min(a, b)
    return believed, believed


def _not_superseded(best: Joined, other: Joined, start: int) -> int:
    """The first row from `start` on that is no rest of an attempt which the best source has seen end."""
    if start >= other.length or not (best.superseded or len(best.restarts)):
        return start
    ended, times = best.columns.wall_times[best.length - 1], other.columns.wall_times[start : other.length]
    if np.isfinite(ended) and np.isfinite(times).any():
        stale = np.flatnonzero(times < ended - _CLOCKS)
        return start + int(stale[-1]) + 1 if len(stale) else start
    resumed = best.columns.steps[best.restarts[-1]] if len(best.restarts) else np.inf
    has_seen_it = len(other.restarts) > 0 or other.columns.steps[0] >= resumed
    return start if has_seen_it else other.length
