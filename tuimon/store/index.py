"""Which series of a run make which metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field

from tuimon.store.counting import Counting, counting
from tuimon.store.records import StreamView
from tuimon.store.segments import Part
from tuimon.store.series import UNTOLD, Segments, Series
from tuimon.store.tally import Indices

MergeKey: TypeAlias = Callable[[str], str]

_NEVER = 1 << 62
"""More points than there will be."""


class Candidate(Struct, eq=False):
    """A metric as one source holds it: its series in the order of the source's streams."""

    source: str
    name: str
    rank: int
    series: list[tuple[int, Series]] = field(default_factory=list)
    """(position of the stream in the run, series)."""
    previews: list[tuple[int, Series]] = field(default_factory=list)
    """The same of those whose history is still being read."""


class Entry(Struct, eq=False):
    """A metric of the run: the names of one merge key."""

    name: str
    """As the best source that has it writes it."""
    candidates: dict[tuple[str, str], Candidate] = field(default_factory=dict)


class RunIndex(Struct, eq=False):
    """Made anew when the structure of a run changes, which is seldom once its first points are read."""

    structure: int
    streams: Sequence[StreamView]
    series: list[Series]
    """Those of the best source first, its streams in the order in which they were begun, each stream's in the order of
    its file. The items that follow have one for each of them, too."""
    positions: Indices
    """The position of its stream in the run."""
    names: tuple[str, ...]
    """The name of its entry."""
    rows: Indices
    """Its row in the table."""
    previewed: Indices
    """The points of a preview; 0 for any other series."""
    preview_steps: Indices
    """Their last step."""
    members: dict[str, list[int]]
    """By merge key: which of the series."""
    keys: dict[str, str]
    """The merge key of every name as written."""
    counting: Counting
    """Which of its sources count steps alike."""
    metrics: tuple[str, ...] | None = None
    """Names of the entries that have points; they stay the same as long as the structure does."""
    main: tuple[frozenset[int], frozenset[str]] | None = None
    """Groups that count as the main sources do, and the names of their entries."""
    entries: dict[str, Entry] = field(default_factory=dict)
    """By merge key, as far as they have been asked for."""

    def entry(self, key: str) -> Entry:
        """KeyError where there is none."""
        known = self.entries.get(key)
        return known or self.entries.setdefault(key, self._entry(self.members[key]))

    def _entry(self, members: Sequence[int]) -> Entry:
        entry = Entry(self.names[members[0]])
        for at in members:
            series, position = self.series[at], int(self.positions[at])
            source = self.streams[position].found
            key = (source.source, series.name)
            candidate = entry.candidates.get(key)
            if candidate is None:
                candidate = entry.candidates[key] = Candidate(source.source, series.name, source.rank)
            candidate.rank = max(candidate.rank, source.rank)
            (candidate.previews if series.id == UNTOLD else candidate.series).append((position, series))
        return entry


def build_index(streams: Sequence[StreamView], structure: int, merge_key: MergeKey) -> RunIndex:
    """The best source comes first and names what others hold, too, so that it makes no difference which was read
    first."""
    series: list[Series] = []
    positions: list[int] = []
    for position in chain.from_iterable(best_first(streams)):
        stream = streams[position]
        # The owner may be adding series meanwhile: list() takes what there is in one step. A series too many does no
        # harm, as the snapshot gives it no points.
        series += [*list(stream.body.series.values()), *stream.preview]
        positions += [position] * (len(series) - len(positions))
    written = [one.name for one in series]
    sources = [streams[at].found.source for at in positions]
    keys = _keys(zip(sources, written, strict=True), merge_key)
    merged = [keys[name] for name in written]
    members: dict[str, list[int]] = {}
    for number, key in enumerate(merged):
        members.setdefault(key, []).append(number)
    ranks = [streams[at].found.rank for at in positions]
    previews = [(at, one.columns) for at, one in enumerate(series) if one.id == UNTOLD]
    previewed, preview_steps = np.zeros((2, len(series)), np.int64)
    for at, columns in previews:
        previewed[at], preview_steps[at] = columns.length, columns.last_step
    return RunIndex(
        structure,
        streams,
        series,
        np.array(positions, np.int64),
        tuple([written[members[key][0]] for key in merged]),
        np.array([one.id for one in series], np.int64),
        previewed,
        preview_steps,
        members,
        keys,
        counting(list(zip(sources, ranks, merged, strict=True))),
    )


def best_first(streams: Sequence[StreamView]) -> list[list[int]]:
    """Positions of the streams of each source, in the order in which they were begun; the best source first, of equals
    by name."""
    found: dict[str, list[int]] = {}
    ranks: dict[str, int] = {}
    for at, stream in enumerate(streams):
        source, rank = stream.found.source, stream.found.rank
        found.setdefault(source, []).append(at)
        ranks[source] = max(rank, ranks.get(source, rank))
    by_preference = sorted(found, key=lambda source: (-ranks[source], source))
    return [sorted(found[source], key=lambda at: (streams[at].found.order, at)) for source in by_preference]


def _keys(names: Iterable[tuple[str, str]], merge_key: MergeKey) -> dict[str, str]:
    """The key of every name. Two names that one source holds side by side are two metrics, whatever their key says."""
    known: dict[str, str] = {}
    holders: dict[tuple[str, str], str] = {}
    apart: set[str] = set()
    for source, name in names:
        key = known.setdefault(name, merge_key(name))
        if holders.setdefault((source, key), name) != name:
            apart.add(key)
    return {name: f"{key}\0{name}" if key in apart else key for name, key in known.items()}


class SourceOrder(Struct, frozen=True):
    """The streams of one source, in the order in which they were begun."""

    positions: tuple[int, ...]
    writers: tuple[int, ...]
    """For each: streams written at the same time have the same number."""
    purge_behind: tuple[int | None, ...]
    """For each: the lowest step that a later stream's start voids."""
    cut_counts: tuple[int, ...]
    """For each: segments that it has begun itself."""
    place: dict[int, int]
    """Which of them a stream of the run is, by its position there."""


def order_sources(streams: Sequence[StreamView]) -> dict[str, SourceOrder]:
    """By source name."""
    by_source: dict[str, list[int]] = {}
    for position, stream in enumerate(streams):
        by_source.setdefault(stream.found.source, []).append(position)
    return {source: _order(positions, streams) for source, positions in by_source.items()}


def _order(positions: list[int], streams: Sequence[StreamView]) -> SourceOrder:
    positions = sorted(positions, key=lambda position: (streams[position].found.order, position))
    writers: list[int] = []
    latest = float("nan")
    for position in positions:
        stream = streams[position]
        if stream.first_wall_time < latest:  # false where either is unknown
            writers.append(writers[-1])
            latest = max(latest, stream.last_wall_time)
        else:
            writers.append(len(writers))
            latest = stream.last_wall_time
    behind: list[int | None] = []
    limit: int | None = None
    for position in reversed(positions):
        behind.append(limit)
        stream = streams[position]
        for step in stream.body.cuts[: stream.cut_count]:
            if step is not None:
                limit = step if limit is None else min(limit, step)
    cut_counts = tuple(streams[position].cut_count for position in positions)
    place = {position: number for number, position in enumerate(positions)}
    return SourceOrder(tuple(positions), tuple(writers), tuple(reversed(behind)), cut_counts, place)


def part(series: Series, length: int, stream: StreamView, writer: int, purge_behind: int | None) -> Part:
    """One stream's share of a metric, with what the log says about its segments."""
    if not stream.cut_count and purge_behind is None:
        return Part(series, length, (), (), writer)
    known = series.segments
    if known is None or known[:2] != (stream.cut_count, purge_behind) or length < known.least:
        known = series.segments = _segments(series, length, stream, purge_behind)
    return Part(series, length, known.borders, known.purges, writer)


def _segments(series: Series, length: int, stream: StreamView, purge_behind: int | None) -> Segments:
    borders: list[int] = []
    purges: dict[int, int] = {} if purge_behind is None else {-1: purge_behind}
    at, least = 0, 0
    for number, step in enumerate(stream.body.cuts[: stream.cut_count]):
        at = series.position(number, length)
        if at and step is not None:
            purges[at] = min(step, purges.get(at, step))
        if 0 < at < length and borders[-1:] != [at]:
            borders.append(at)
        least = max(least, at + 1)
    # a start with no point behind it yet is elsewhere once there is one: then this holds for no length
    held = least if at < length else _NEVER
    return Segments(stream.cut_count, purge_behind, held, tuple(borders), tuple(purges.items()))
