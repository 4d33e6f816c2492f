"""Groups of sources that count steps alike, and the group that represents the run.

Sources that hold a metric in common count alike. RLinf's console counts global steps where its trackers count updates
of the model, and SB3's monitor.csv counts episodes: their steps cannot be compared with those of other sources. Neither
can those of a metric whose name says that it is drawn against something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.model.points import Indices

_MINOR = 10
"""A group with less than 1/10 of the metrics of the largest group cannot represent the run, whatever its rank."""
_SEVERAL = 2
"""Minimum number of points of a metric that is counted first."""
_AXES = ("samples", "tokens", "epoch", "epochs", "seqlen", "time")
_OTHER_AXIS = re.compile(r"(?:[ _-]vs[.]?[ _-]|[,_]x[=_])(?:" + "|".join(_AXES) + ")$")
"""Metrics of Megatron: the steps of "lm loss vs samples" are consumed samples. Writers may replace blanks by "_"."""
_NEVER = -1
"""Rank of metrics with another axis, which represent the run only if there is nothing else."""
OF_MACHINE = -2
"""Rank of sources with measurements of machines, whose steps are a clock; they represent the run only if there is
nothing else, however many metrics they have."""


class StepGroups(Struct, frozen=True, eq=False):
    """Groups of sources that count steps alike, numbered from 0."""

    of_source: dict[str, int]
    metric: Indices
    """Number of the metric of each series."""
    group: Indices
    """Group of each metric."""
    ranks: Indices
    """Best rank in each group."""

    def main(self, lengths: Indices) -> int:
        """Return the group that represents the run, given the points of each series; 0 if there is no group.

        It is the group with the best source among those with a considerable part of the metrics; of groups of as many
        metrics, such as those of trackers that write a file for each metric, the one with the longest series.
        """
        if not len(self.ranks):
            return 0
        points = np.zeros(len(self.group), np.int64)
        np.maximum.at(points, self.metric, lengths)
        for least in (_SEVERAL, 1):
            metrics = np.bincount(self.group[points >= least], minlength=len(self.ranks))
            if metrics[self.ranks != OF_MACHINE].any():
                metrics[self.ranks == OF_MACHINE] = 0
            if metrics.any():
                break
        eligible = (metrics > 0) & (metrics * _MINOR >= metrics.max())
        longest = np.zeros(len(self.ranks), np.int64)
        np.maximum.at(longest, self.group, points)
        order = np.lexsort((longest, metrics, self.ranks))
        return int(next((group for group in order[::-1] if eligible[group]), 0))


def group_sources(series: Sequence[tuple[str, int, str]]) -> StepGroups:
    """Group the sources of some series, given (source, rank of the source, merge key) of each."""
    numbers: dict[str, int] = {}
    holders: dict[int, list[str]] = {}
    ranks: dict[str, int] = {}
    for source, rank, key in series:
        if key.endswith(_AXES) and (match := _OTHER_AXIS.search(key)):  # the regex alone takes 7 ms for 10,000 keys
            source, rank = f"{source}{match[0]}", _NEVER
        number = numbers.setdefault(key, len(numbers))
        sources = holders.setdefault(number, [])
        if sources[-1:] != [source]:
            sources.append(source)
        ranks[source] = max(rank, ranks.get(source, rank))
    group_of = _connected(ranks, holders.values())
    best = np.full(max(group_of.values(), default=-1) + 1, OF_MACHINE, np.int64)
    for source, group in group_of.items():
        best[group] = max(best[group], ranks[source])
    metric = np.array([numbers[key] for *_, key in series], np.int64)
    return StepGroups(
        group_of, metric, np.array([group_of[sources[0]] for sources in holders.values()], np.int64), best
    )


def _connected(sources: Iterable[str], links: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return the connected component of each source, numbered in their order; the sources of a link are connected."""
    leader = {source: source for source in sources}

    def find(source: str) -> str:
        while leader[source] != source:
            leader[source] = leader[leader[source]]
            source = leader[source]
        return source

    for linked in links:
        for source in linked[1:]:
            leader[find(source)] = find(linked[0])
    numbers: dict[str, int] = {}
    return {source: numbers.setdefault(find(source), len(numbers)) for source in leader}
