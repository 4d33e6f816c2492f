"""Previews: the last points of a stream, read before the points that precede them.

A metric is drawn by its preview alone until its history has been read; then the preview is dropped, so that no point is
counted twice.
"""

from __future__ import annotations

from tuimon.model.events import Preview
from tuimon.store.columns import PointColumns, SharedColumns, extend_all
from tuimon.store.join import JoinedCurve, join
from tuimon.store.segments import SeriesSlice
from tuimon.store.series import PREVIEW_ID, Series


def preview_series(preview: Preview, prefix: str) -> tuple[Series, ...]:
    """Return a series for each metric of a preview."""
    columns, shared = preview.columns, SharedColumns()
    names = [prefix + preview.names[metric] for metric in columns.metric.tolist()]
    series = tuple(Series(PREVIEW_ID, name, PointColumns(shared)) for name in names)
    of_metrics = [item.columns for item in series]
    extend_all(of_metrics, columns.counts, columns.steps, columns.values, columns.wall_times)
    return series


def previewed(series: Series, previous: JoinedCurve | None) -> JoinedCurve:
    """Return the points of a preview as a curve; previous: the result of the last call for this metric."""
    return join((SeriesSlice(series, series.columns.length, (), (), 0),), previous)
