"""Curves whose history is still being read, extended by a preview of their end.

A preview holds the last points of a stream, read before the points that precede them. It follows the history read so
far as a later segment that takes over where it begins; the line has a gap between the two. Once everything has been
read the preview is dropped and the curve is the history alone, so no point is counted twice.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.model.events import Preview
from tuimon.store.columns import PointColumns, SharedColumns
from tuimon.store.curve_index import CurveIndex
from tuimon.store.join import JoinedCurve, join
from tuimon.store.segments import SeriesSlice
from tuimon.store.series import PREVIEW_ID, Series

_MIN_GROWTH = 2
"""The history is copied again only once it has grown by the rows copied before divided by this number."""
_MIN_ROWS = 1024
"""The history is copied again only once it has grown by at least this many rows."""
MAX_HISTORY = 1 << 18
"""Rows of the history shown before a preview, at most. Copying more would delay key presses; the rest is shown once
all has been read."""


class Previewed(Struct, frozen=True, eq=False):
    """A history and its preview, as one curve."""

    series: Series
    history: int
    """Rows of the history before the preview."""
    joined: JoinedCurve


def preview_series(preview: Preview, prefix: str) -> tuple[Series, ...]:
    """Return a series for each metric of a preview."""
    result: list[Series] = []
    columns, shared, start = preview.columns, SharedColumns(), 0
    for metric, count in zip(columns.metric.tolist(), columns.counts.tolist(), strict=True):
        end = start + count
        series = Series(PREVIEW_ID, prefix + preview.names[metric], PointColumns(shared))
        series.columns.extend(columns.steps[start:end], columns.values[start:end], columns.wall_times[start:end])
        result.append(series)
        start = end
    return tuple(result)


def append_preview(history: JoinedCurve | None, series: Series, previous: Previewed | None) -> Previewed:
    """Return the history so far followed by the preview; previous: result of the last call for this metric."""
    if previous is not None and previous.series is not series:
        previous = None
    end = previous.joined if previous is not None and not previous.history else _without_history(series)
    first = int(end.columns.steps[0])
    available = 0
    if history is not None:
        available = int(np.searchsorted(history.columns.steps[: history.length], first, "left"))
    rows = min(available, MAX_HISTORY)
    if previous is not None and 0 <= rows - previous.history < max(previous.history // _MIN_GROWTH, _MIN_ROWS):
        return previous
    if history is None or not rows:
        return previous if previous is not None and not previous.history else Previewed(series, 0, end)
    columns = PointColumns()
    for joined, count in ((history, rows), (end, end.length)):
        source = joined.columns
        columns.extend(source.steps[:count], source.values[:count], source.wall_times[:count])
    restarts = [history.restarts[history.restarts < rows], end.restarts + rows]
    gap = rows if rows == history.length or rows < available else -1  # else history and preview meet
    if gap > 0:
        restarts.insert(1, np.array([gap], np.int64))
    length, index, positions = columns.length, CurveIndex(), np.concatenate(restarts)
    joined = replace(history, columns=columns, length=length, restarts=positions, index=index, gap=gap)
    return Previewed(series, rows, joined)


def _without_history(series: Series) -> JoinedCurve:
    return join((SeriesSlice(series, series.columns.length, (), (), 0),), None)
