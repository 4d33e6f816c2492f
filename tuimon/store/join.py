"""The points of one metric of one source, joined from its streams, and kept joined as they grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from tuimon.model.points import Floats, Steps
from tuimon.store.columns import PointColumns, Shared
from tuimon.store.curve_index import CurveIndex
from tuimon.store.segments import Part, arrange
from tuimon.store.tally import Indices

if TYPE_CHECKING:
    from tuimon.store.curve import Curve


class Joined(Struct, frozen=True, eq=False):
    """The first `length` rows of `columns` are the curve that the parts make."""

    parts: tuple[Part, ...]
    columns: PointColumns
    """The series' own where nothing had to be moved."""
    length: int
    restarts: Indices
    superseded: int
    index: CurveIndex
    gap: int = -1
    """The one of the restarts that is none: what lies before it has not been read yet. -1: there is no such."""
    ghosts: list[Curve] = field(default_factory=list)
    """Where curves put what they make of the superseded points: the same list as long as these are the same."""

    def is_newer(self, parts: tuple[Part, ...]) -> bool:
        """True when the parts come from an older snapshot than this does."""
        return _alike(self.parts, parts) and any(
            part.length < known.length for part, known in zip(parts, self.parts, strict=True)
        )


def join(parts: tuple[Part, ...], before: Joined | None, shared: Shared | None = None) -> Joined:
    """Join the parts; `before` is what the last call for this metric and source gave, and is extended where only later
    points have come. shared: what the other metrics of the source hold."""
    same = before is not None and _alike(before.parts, parts)
    if before is not None and same and all(map(_as_long, before.parts, parts)):
        return before
    restarts = untouched(parts)
    if restarts is not None:
        columns = parts[0].series.columns
        index = before.index if before is not None and before.columns is columns else CurveIndex()
        return Joined(parts, columns, parts[0].length, restarts, 0, index)
    if before is not None and same and _append(before, parts):
        length, restarts = before.columns.length, before.restarts
        return Joined(parts, before.columns, length, restarts, before.superseded, before.index, ghosts=before.ghosts)
    arrangement = arrange(parts)
    columns = PointColumns(shared)
    steps, values, wall_times = _columns(parts)
    columns.extend(steps[arrangement.order], values[arrangement.order], wall_times[arrangement.order])
    return Joined(parts, columns, columns.length, arrangement.restarts, len(arrangement.hidden), CurveIndex())


def hidden(parts: Sequence[Part]) -> tuple[Steps, Floats, Floats]:
    """Steps, values and wall times of the points that the curve leaves out, in the order in which they were logged."""
    rows = arrange(parts).hidden
    steps, values, wall_times = _columns(parts)
    return steps[rows], values[rows], wall_times[rows]


def _alike(before: tuple[Part, ...], parts: tuple[Part, ...]) -> bool:
    """Whether they differ in nothing but their lengths."""
    return before is parts or (len(before) == len(parts) and all(map(_of_one_series, before, parts)))


def _of_one_series(one: Part, other: Part) -> bool:
    return one is other or (
        one.series is other.series
        and one.borders == other.borders
        and one.purges == other.purges
        and one.writer == other.writer
    )


def _as_long(one: Part, other: Part) -> bool:
    return one.length == other.length


def _columns(parts: Sequence[Part]) -> tuple[Steps, Floats, Floats]:
    rows = [(part.series.columns, part.length) for part in parts]
    return (
        np.concatenate([columns.steps[:n] for columns, n in rows]),
        np.concatenate([columns.values[:n] for columns, n in rows]),
        np.concatenate([columns.wall_times[:n] for columns, n in rows]),
    )


def untouched(parts: Sequence[Part]) -> Indices | None:
    """The restarts, when the one part there is makes the curve just as it was logged; else None."""
    if len(parts) != 1 or parts[0].series.columns.ordered < parts[0].length:
        return None
    part, step_at = parts[0], parts[0].series.columns.step_at
    if any(step_at(at) <= step_at(at - 1) for at in part.borders):
        return None
    for position, step in part.purges:
        before = part.length if position < 0 else position
        if before and step_at(before - 1) >= step:
            return None
    return np.array(part.borders, np.int64)


def _append(before: Joined, parts: tuple[Part, ...]) -> bool:
    """Append to the columns of `before` what has come since, if all of it lies behind its last step."""
    columns, length = before.columns, before.length
    grown = [
        (part, known.length) for part, known in zip(parts, before.parts, strict=True) if part.length != known.length
    ]
    if columns.length != length or length == 0 or columns is parts[0].series.columns:
        return False
    if any(n > part.length or part.writer != parts[-1].writer for part, n in grown):
        return False
    if any(position < 0 for part, _ in grown for position, _ in part.purges):
        return False
    rows = [(part.series.columns, slice(n, part.length)) for part, n in grown]
    pieces = [found.steps[inside] for found, inside in rows]
    if any((piece[1:] < piece[:-1]).any() for piece in pieces):
        return False
    steps = np.concatenate(pieces)
    lowest, last = int(steps.min()), int(columns.steps[length - 1])
    beside = any(part.writer == parts[-1].writer for part in parts[:-1])
    if lowest < last or (beside and lowest == last):  # beside: equal steps stand in the order of their writers
        return False
    order = np.argsort(steps, kind="stable") if len(pieces) > 1 else slice(None)
    values = np.concatenate([found.values[inside] for found, inside in rows])
    wall_times = np.concatenate([found.wall_times[inside] for found, inside in rows])
    columns.extend(steps[order], values[order], wall_times[order])
    return True
