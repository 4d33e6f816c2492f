"""Separate the event files of one directory if files beside it show that they are of several trainings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from tuimon.sources.grouped_files import GroupedFile, Home, Located

ByValues = Callable[[Sequence[GroupedFile], Sequence[Sequence[GroupedFile]]], Mapping[str, int]]
"""Returns the number of the training whose values each file has, by path, given the files of each training."""


def split_event_files(located: Iterable[Located], bare: Callable[[Home], Home], by_values: ByValues) -> None:
    """Make event files of one directory parts of different runs if they have the values of these runs.

    bare: returns a directory without facets. Event files alone do not show it: a training that is started again in its
    directory supersedes its first attempt.
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
        numbers = by_values([item.file for item in items], list(runs.values()))
        if len(set(numbers.values())) > 1:
            for item in items:
                if item.file.path in numbers:
                    item.home = homes[numbers[item.file.path]]
