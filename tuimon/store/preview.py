"""The end of a curve whose history is still being read.

A preview is the last points of a stream, known before those that lie ahead of them. It stands behind what has been read
so far, as a later segment that takes over where it begins; between the two the line has a gap. Once all has been read
it is dropped, and the curve is the history alone: no point is ever counted twice.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tuimon.model.events import Preview
from tuimon.store.columns import PointColumns, Shared
from tuimon.store.curve_index import CurveIndex
from tuimon.store.join import Joined, join
from tuimon.store.segments import Part
from tuimon.store.series import UNTOLD, Series

_GROWN = 2
"""A history is copied again for the sake of its preview when it has grown by this part of it …"""
_LITTLE = 1024
"""… or is short …"""
LONG = 1 << 18
"""… and no farther than so many points: copying more would hold a key up. The rest shows when all has been read."""


class Previewed(Struct, frozen=True, eq=False):
    """A history with its preview, as one curve."""

    series: Series
    history: int
    """Rows of the history in front of the preview."""
    joined: Joined


def series_of(preview: Preview, prefix: str) -> tuple[Series, ...]:
    """A series for each metric of a preview."""
    found: list[Series] = []
    columns, shared, at = preview.columns, Shared(), 0
    for metric, count in zip(columns.metric.tolist(), columns.counts.tolist(), strict=True):
        end = at + count
        series = Series(UNTOLD, prefix + preview.names[metric], PointColumns(shared))
        series.columns.extend(columns.steps[at:end], columns.values[at:end], columns.wall_times[at:end])
        found.append(series)
        at = end
    return tuple(found)


def previewed(history: Joined | None, series: Series, before: Previewed | None) -> Previewed:
    """The history so far with the preview behind it; `before` is what the last call for this metric gave."""
    if before is not None and before.series is not series:
        before = None
    end = before.joined if before is not None and not before.history else _alone(series)
    first = int(end.columns.steps[0])
    behind = int(np.searchsorted(history.columns.steps[: history.length], first, "left")) if history is not None else 0
    rows = min(behind, LONG)
    if before is not None and before.history <= rows < before.history + max(before.history // _GROWN, _LITTLE):
        return before
    if history is None or not rows:
        return before if before is not None and not before.history else Previewed(series, 0, end)
    columns = PointColumns()
    for joined, count in ((history, rows), (end, end.length)):
        every = joined.columns
        columns.extend(every.steps[:count], every.values[:count], every.wall_times[:count])
    restarts = [history.restarts[history.restarts < rows], end.restarts + rows]
    gap = rows if rows == history.length or rows < behind else -1  # else the two meet
    if gap > 0:
        restarts.insert(1, np.array([gap], np.int64))
    positions, hidden = np.concatenate(restarts), history.superseded
    made = Joined(history.parts, columns, columns.length, positions, hidden, CurveIndex(), gap, history.ghosts)
    return Previewed(series, rows, made)


def _alone(series: Series) -> Joined:
    return join((Part(series, series.columns.length, (), (), 0),), None)
