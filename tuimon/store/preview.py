"""Previews: the last points of a stream, read before the points that precede them.

A metric is drawn by its preview alone until its history has been read; then the preview is dropped, so that no point is
counted twice.
"""

from __future__ import annotations

from tuimon.model.events import Preview
from tuimon.store.columns import PointColumns, SharedColumns
from tuimon.store.join import JoinedCurve, join
from tuimon.store.segments import SeriesSlice
from tuimon.store.series import PREVIEW_ID, Series


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


def previewed(series: Series, previous: JoinedCurve | None) -> JoinedCurve:
    """Return the points of a preview as a curve; previous: the result of the last call for this metric."""
    return join((SeriesSlice(series, series.columns.length, (), (), 0),), previous)
