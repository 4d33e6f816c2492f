"""Separate the event files of one directory that are of several trainings.

Files beside them show it, or that several processes wrote them at the same time."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from tuimon.sources.grouped_files import GroupedFile, Home, Located, ParallelWriters


class EventTrainings(Protocol):
    """Knows which event files of one directory are of different trainings."""

    def by_values(self, files: Sequence[GroupedFile], others: Sequence[Sequence[GroupedFile]]) -> Mapping[str, int]:
        """Return the number of the training whose values each file has, by path. others: the files of trainings."""
        ...

    def writers(self, files: Sequence[GroupedFile]) -> ParallelWriters:
        """Return the processes that wrote event files of one directory at the same time."""
        ...


def split_event_files(located: Sequence[Located], bare: Callable[[Home], Home], trainings: EventTrainings) -> None:
    """Separate the event files of each directory. bare: returns a directory without facets."""
    _split_by_values(located, bare, trainings)
    _split_parallel_writers(located, trainings)


def _split_by_values(located: Iterable[Located], bare: Callable[[Home], Home], trainings: EventTrainings) -> None:
    """Make event files of one directory parts of different runs if they have the values of these runs.

    Event files alone do not show it: a training that is started again in its directory supersedes its first attempt.
    """
    events: dict[Home, list[Located]] = defaultdict(list)
    beside: dict[Home, dict[Home, list[GroupedFile]]] = defaultdict(lambda: defaultdict(list))
    for item in located:
        if item.file.directory_is_source and not item.file.source and not item.prefix:
            events[item.directory].append(item)
        elif not (item.file.companion or item.file.source or item.prefix):
            beside[bare(item.directory)][item.home].append(item.file)
    for directory, items in events.items():
        runs = beside.get(bare(directory), {})
        if len(items) < 2 or sum(map(len, runs.values())) < 2:
            continue
        homes = list(runs)
        numbers = trainings.by_values([item.file for item in items], list(runs.values()))
        if len(set(numbers.values())) > 1:
            for item in items:
                if item.file.path in numbers:
                    item.home = homes[numbers[item.file.path]]


def _split_parallel_writers(located: Iterable[Located], trainings: EventTrainings) -> None:
    """Make event files that several processes wrote at the same time in one directory a run for each of them, or a
    source for each if they are of one training. In one source, the points of both would be mixed at each step.

    The sources are named "host node1", so that they are ranks (store/curve_builder.py)."""
    events: dict[tuple[Home, Home], list[Located]] = defaultdict(list)
    for item in located:
        if item.file.directory_is_source and not item.file.source and not item.prefix:
            events[item.directory, item.home].append(item)
    for items in events.values():
        parallel = trainings.writers([item.file for item in items]) if len(items) > 1 else ParallelWriters()
        for item in items:
            if (name := parallel.names.get(item.file.path)) is None:
                continue
            if parallel.alike:
                item.joined = posixpath.normpath(posixpath.join(item.source, f"host {name}"))
            else:
                base, parts = item.home
                item.home = base, (*parts, name)
