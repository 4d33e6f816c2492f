"""Which sources of a run count steps alike, and by which of them the run is told.

Sources that hold a metric in common count alike. RLinf's console counts global steps where its trackers count updates
of the model, SB3's monitor.csv counts episodes: what they call a step has nothing to do with the steps of the others.
Nor has that of a metric which says itself that it is drawn against something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from tuimon.store.tally import Indices

_MINOR = 10
"""Sources that hold less than this part of the metrics of others do not speak for the run, however good they are."""
_SEVERAL = 2
"""Points of a metric that goes on."""
_AXES = ("samples", "tokens", "epoch", "epochs", "seqlen", "time")
_OTHER_AXIS = re.compile(r"(?:[ _-]vs[.]?[ _-]|[,_]x[=_])(?:" + "|".join(_AXES) + ")$")
"""Of Megatron: "lm loss vs samples" has the samples that were consumed as its step. Writers may make "_" of a blank."""
_NEVER = -1
"""The rank of what does not speak for the run while anything else does."""


class Counting(Struct, frozen=True, eq=False):
    """Groups of sources that count alike, numbered from 0."""

    of_source: dict[str, int]
    metric: Indices
    """The number of its metric for each series."""
    group: Indices
    """The group of each metric."""
    ranks: Indices
    """The best rank in each group."""

    def main(self, lengths: Indices) -> int:
        """The group that tells of the run, given the points of each series: the one with the best source among those
        with a good part of the metrics. 0 without any."""
        if not len(self.ranks):
            return 0
        points = np.zeros(len(self.group), np.int64)
        np.maximum.at(points, self.metric, lengths)
        for least in (_SEVERAL, 1):
            metrics = np.bincount(self.group[points >= least], minlength=len(self.ranks))
            if metrics.any():
                break
        speaks = (metrics > 0) & (metrics * _MINOR >= metrics.max())
        return max(np.flatnonzero(speaks).tolist(), key=lambda one: (self.ranks[one], metrics[one]), default=0)


def counting(series: Sequence[tuple[str, int, str]]) -> Counting:
    """series: (source, its rank, merge key) of each."""
    numbers: dict[str, int] = {}
    holders: dict[int, list[str]] = {}
    ranks: dict[str, int] = {}
    for source, rank, key in series:
        if key.endswith(_AXES) and (found := _OTHER_AXIS.search(key)):  # of ten thousand, the search alone takes 7 ms
            source, rank = f"{source}{found[0]}", _NEVER
        number = numbers.setdefault(key, len(numbers))
        held = holders.setdefault(number, [])
        if held[-1:] != [source]:
            held.append(source)
        ranks[source] = max(rank, ranks.get(source, rank))
    group_of = _united(ranks, holders.values())
    best = np.zeros(max(group_of.values(), default=-1) + 1, np.int64)
    for source, group in group_of.items():
        best[group] = max(best[group], ranks[source])
    metric = np.array([numbers[key] for *_, key in series], np.int64)
    return Counting(group_of, metric, np.array([group_of[held[0]] for held in holders.values()], np.int64), best)


def _united(sources: Iterable[str], together: Iterable[Sequence[str]]) -> dict[str, int]:
    """The group of each source, numbered in their order, where each of `together` are of one group."""
    leader = {source: source for source in sources}

    def lead(source: str) -> str:
        while leader[source] != source:
            leader[source] = leader[leader[source]]
            source = leader[source]
        return source

    for held in together:
        for source in held[1:]:
            leader[lead(source)] = lead(held[0])
    numbers: dict[str, int] = {}
    return {source: numbers.setdefault(lead(source), len(numbers)) for source in leader}
