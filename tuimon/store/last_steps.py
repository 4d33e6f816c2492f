"""The last step of each step group of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tuimon.model.points import Indices, Steps
from tuimon.store.arrays import distinct
from tuimon.store.index import RunIndex, SourceOrder
from tuimon.store.streams import StreamView

_OFTEN = 4
"""A metric is logged often if it has at least one in this many of the points of the metric with most points."""


def last_steps(
    streams: Sequence[StreamView],
    index: RunIndex,
    sources: Iterable[SourceOrder],
    lengths: Indices,
    steps: Steps,
    end_of: Callable[[str], int | None],
) -> Mapping[int, int]:
    """Return the last step of each step group, of the metrics that are logged often (see `Run.last_step`).

    lengths, steps: number of points and last step of every series of the index. end_of: returns the last step of the
    curve of a metric; None without one.
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
        last[group] = _newest_step(streams, index, members, lengths[members], steps[members], end_of)
    return last


def _newest_step(
    streams: Sequence[StreamView],
    index: RunIndex,
    series: Indices,
    lengths: Indices,
    steps: Steps,
    end_of: Callable[[str], int | None],
) -> int:
    """Return the highest last step among the sources whose attempt goes on; of their curves if there is none.

    A series without a point since its stream began anew is left out. The attempt of a source has ended if the curve of
    a metric that others hold, too, does not reach its last step."""

    def is_current(member: int) -> bool:
        number = int(series[member])
        view = streams[int(index.positions[number])]
        return bool(index.previewed[number]) or view.is_current(index.series[number], int(lengths[member]))

    def first(members: Indices, *keys: Indices) -> int | None:
        """Return the first current member in descending order of the last key, then of the one before."""
        order = np.lexsort([key[members] for key in keys])[::-1]
        return next(filter(is_current, members[order].tolist()), None)

    holders = np.bincount(index.step_groups.metric)[index.step_groups.metric[series]]
    numbers: dict[str, int] = {}
    sources = np.array([numbers.setdefault(view.info.source, len(numbers)) for view in streams])
    source_of = sources[index.positions[series]]
    going_on, ended = [], []
    for source in distinct(source_of).tolist():
        members = np.flatnonzero(source_of == source)
        last, shared = first(members, steps), first(members, steps, holders)
        if last is None or shared is None:
            continue
        end = end_of(index.names[int(series[shared])]) if holders[shared] > 1 else None
        if end is None or end >= steps[shared]:
            going_on.append(int(steps[last]))
        else:
            ended.append(end)
    return max(going_on or ended, default=int(steps.max()))
