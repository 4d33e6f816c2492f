"""Where a log begins again, and which of its points make the curve.

A segment is what one attempt of the training wrote of one series: a file, what follows a SessionLog START, or what
follows the place where the steps go back. The curve takes the later segment wherever two of them overlap in step, as
TensorBoard's data server does for each tag ("preempt" in tensorboard/data/server/reservoir.rs); a START with a step
also voids what the source wrote at and behind that step before (SummaryWriter's purge_step; `_Purge` in
tensorboard/backend/event_processing/event_accumulator.py). Nothing is deleted: the result is an order of the points,
and the points left out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
from msgspec import Struct

from tuimon.model.points import Steps
from tuimon.store.series import Series
from tuimon.store.tally import Indices


class Part(Struct, frozen=True):
    """What one stream holds of a metric, as a snapshot knows it."""

    series: Series
    length: int
    borders: tuple[int, ...]
    """Positions in it, inside (0, length), where the log says that a segment starts."""
    purges: tuple[tuple[int, int], ...]
    """(position, step): of its points before that position those with at least that step are void. Position -1: all."""
    writer: int
    """Parts with the same number, always neighbours, were written at the same time by writers side by side."""

    @property
    def steps(self) -> Steps:
        return self.series.columns.steps[: self.length]


class Arrangement(Struct, frozen=True, eq=False):
    """A curve as row numbers of its parts laid one behind the other."""

    order: Indices
    """The points of the curve: their steps ascend, equal steps in the order in which they were logged."""
    restarts: Indices
    """Positions in `order`, not 0, where a later segment takes over."""
    hidden: Indices
    """The points left out, ascending."""


def restarts_within(steps: Steps) -> list[int]:
    """Positions at which one stream's steps begin again.

    Steps that go back and then climb through at least two values below the highest step before are a restart: 0 5 2 3.
    One point out of order is none: 0 5 2 6.
    """
    back = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    if len(back) == 0:
        return []
    # Between two places where the steps go back they never fall: a run. Its lowest step is its first, its highest its
    # last, and its second lowest stands where they first rise.
    rises = np.append(np.flatnonzero(steps[1:] > steps[:-1]) + 1, len(steps))
    ends = np.append(back[1:], len(steps))
    rise = rises[np.searchsorted(rises, back, "right")]
    climbs = rise < ends
    second = steps[np.where(climbs, rise, 0)]
    found: list[int] = []
    highest = int(steps[back[0] - 1])
    for at, climbing, value, last in zip(
        back.tolist(), climbs.tolist(), second.tolist(), steps[ends - 1].tolist(), strict=True
    ):
        if climbing and value < highest:
            found.append(at)
            highest = last
        else:
            highest = max(highest, last)
    return found


def arrange(parts: Sequence[Part]) -> Arrangement:
    """The curve that the parts make; parts in the order in which their streams were begun."""
    steps = np.concatenate([part.steps for part in parts])
    segments: list[Indices] = []
    offset = 0
    for _, together in groupby(parts, key=lambda part: part.writer):
        beside: list[list[Indices]] = []
        for part in together:
            beside.append([piece + offset for piece in _pieces(part)])
            offset += part.length
        if len(beside) == 1:
            segments.extend(beside[0])
        else:  # each writer's own restarts count, but no writer takes over from another
            rows = _joined([kept for pieces in beside for kept in _take_over(pieces, steps)])
            segments.append(rows[np.argsort(steps[rows], kind="stable")])
    kept = [rows for rows in _take_over(segments, steps) if len(rows)]
    order = _joined(kept)
    restarts = np.cumsum([len(rows) for rows in kept[:-1]], dtype=np.int64)
    visible = np.zeros(len(steps), np.bool_)
    visible[order] = True
    return Arrangement(order, restarts, np.flatnonzero(~visible))


def _pieces(part: Part) -> list[Indices]:
    """The segments of one stream without void points, each sorted by step."""
    steps = part.steps
    valid = np.ones(part.length, np.bool_)
    for position, step in part.purges:
        before = slice(None) if position < 0 else slice(0, position)
        valid[before] &= steps[before] < step
    starts = [0, *part.borders]
    pieces: list[Indices] = []
    for start, end in zip(starts, [*part.borders, part.length], strict=True):
        inner = [start, *(start + at for at in restarts_within(steps[start:end])), end]
        for low, high in pairwise(inner):
            rows = np.flatnonzero(valid[low:high]) + low
            found = steps[rows]
            if (found[1:] < found[:-1]).any():
                rows = rows[np.argsort(found, kind="stable")]
            pieces.append(rows)
    return pieces


def _take_over(segments: Sequence[Indices], steps: Steps) -> list[Indices]:
    """Each segment cut off where a later one begins."""
    kept: list[Indices] = []
    limit: int | None = None
    for rows in reversed(segments):
        if len(rows) == 0:
            continue
        found = steps[rows]
        kept.append(rows if limit is None else rows[: np.searchsorted(found, limit, "left")])
        limit = int(found[0]) if limit is None else min(limit, int(found[0]))
    return kept[::-1]


def _joined(rows: Sequence[Indices]) -> Indices:
    return np.concatenate(rows) if rows else np.empty(0, np.int64)
