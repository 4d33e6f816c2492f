"""The last step of each step group of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tuimon.model.points import Indices, Steps
from tuimon.store.arrays import distinct
from tuimon.store.index import RunIndex, SourceOrder
from tuimon.store.streams import StreamView

_OFTEN = 4
"""A metric is logged often if it has at least one in this many of the points of the metric with most points."""


def last_steps(
    streams: Sequence[StreamView], index: RunIndex, sources: Iterable[SourceOrder], lengths: Indices, steps: Steps
) -> Mapping[int, int]:
    """Return the last step of each step group, of the metrics that are logged often (see `Run.last_step`).

    lengths, steps: number of points and last step of every series of the index.
    """
    newest = np.zeros(len(streams), np.bool_)
    for order in sources:
        with_points = [p for p in order if streams[p].point_count or streams[p].preview]
        last_writer = [order[position].writer for position in with_points[-1:]]
        for position, place in order.items():
            newest[position] = place.writer in last_writer
    groups = index.step_groups
    unread = np.array([bool(view.preview) for view in streams], np.bool_)
    # A history that is being read has no end yet: then only the preview counts.
    ends = ~unread[index.positions] | (index.previewed > 0)
    series = np.flatnonzero(newest[index.positions] & ends & (lengths > 0) & ~index.along_other_axis)
    series_groups = groups.group[groups.metric[series]]
    most = np.zeros(len(groups.ranks), np.int64)
    np.maximum.at(most, series_groups, lengths[series])
    often = lengths[series] * _OFTEN >= most[series_groups]
    series, series_groups = series[often], series_groups[often]
    last: dict[int, int] = {}
    for group in distinct(series_groups).tolist():
        members = series[series_groups == group]
        last[group] = _newest_step(streams, index, members, lengths[members], steps[members])
    return last


def _newest_step(
    streams: Sequence[StreamView], index: RunIndex, series: Indices, lengths: Indices, steps: Steps
) -> int:
    """Return the highest last step among the series that have a point since their stream began anew, or among all of
    the series if none of them has."""

    def is_current(member: int) -> bool:
        number = int(series[member])
        view = streams[int(index.positions[number])]
        return bool(index.previewed[number]) or view.is_current(index.series[number], int(lengths[member]))

    highest = int(steps.max())
    if any(map(is_current, np.flatnonzero(steps == highest).tolist())):
        return highest
    return max((step for member, step in enumerate(steps.tolist()) if is_current(member)), default=highest)
