"""The curves of a run: made when asked for, kept from snapshot to snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tuimon.store.compare import TEXT, Comparison, Disagreement
from tuimon.store.curve import Curve, same_time
from tuimon.store.fill import carry_out, plan
from tuimon.store.index import Candidate
from tuimon.store.join import Joined, hidden
from tuimon.store.records import ViewCache
from tuimon.store.shares import Shares


class Drawn:
    """Of one snapshot; any thread may use it."""

    def __init__(self, shares: Shares, cache: ViewCache, origin: float) -> None:
        self._shares = shares
        self._cache = cache
        self._origin = origin

    def best(self, ranked: Sequence[Candidate]) -> Curve | None:
        """What is drawn of a metric: the points of its best source that has any, and the others' where it has none."""
        for candidate in ranked:
            if self._shares.joined(candidate).length:
                order = (candidate, *(other for other in ranked if other is not candidate))
                return self._kept(order, filled=len(order) > 1)
        return None

    def from_source(self, candidate: Candidate, ranked: Sequence[Candidate]) -> Curve:
        """The metric as one source holds it."""
        return self._kept((candidate, *(other for other in ranked if other is not candidate)), filled=False)

    def _kept(self, order: tuple[Candidate, ...], filled: bool) -> Curve:
        """order: the source that is drawn, then the others."""
        with self._cache.lock:
            curve = self._plain(order)
            return self._fill(order, curve) if filled else curve

    def _plain(self, order: tuple[Candidate, ...]) -> Curve:
        candidate, shares = order[0], self._shares
        key, joined = (candidate.source, candidate.name), shares.joined(candidate)
        sources = tuple(one.source for one in order)
        made_of = (joined, sources, *map(shares.count, order[1:]))
        last = self._cache.curves.get(key)
        if last is not None and last[0] == made_of and same_time(last[1].origin, self._origin):
            return last[1]
        columns, length = joined.columns, joined.length
        curve = Curve.of(
            candidate.name,
            columns.steps[:length],
            columns.values[:length],
            columns.wall_times[:length],
            index=joined.index,
            restarts=joined.restarts,
            superseded=joined.superseded,
            sources=sources,
            origin=self._origin,
            hidden=partial(hidden, shares.parts(candidate)) if joined.superseded else None,
            disagreement=partial(_disagreement, shares, self._cache, order) if len(order) > 1 else None,
            gap=joined.gap,
            ghosts=joined.ghosts,
        )
        self._cache.curves[key] = made_of, curve
        return curve

    def _fill(self, order: tuple[Candidate, ...], curve: Curve) -> Curve:
        """The curve with what the other sources add to it; itself where they add nothing."""
        shares, cache, best = self._shares, self._cache, order[0]
        extent = shares.extent(best)
        # As long, from the same step to the same step: that source has nothing to add, and need not be looked at.
        others = [one for one in order[1:] if extent is None or shares.extent(one) != extent]
        joined = [shares.joined(one) for one in others]
        key, made_of = (best.source, best.name), (curve, *joined)
        last = cache.filled.get(key)
        if last is not None and last[0] == made_of:
            return last[2]
        found = [
            (one, _compared(shares, cache, best, other))
            for one, other in zip(joined, others, strict=True)
            if one.length
        ]  # fmt: skip
        wanted = plan(shares.joined(best), found) if found else None
        if wanted is None:
            cache.filled[key] = made_of, None, curve
            return curve
        made = carry_out(wanted, last[1] if last is not None else None, cache.shared[best.source])
        columns, length = made.columns, made.length
        filled = Curve.of(
            curve.metric,
            columns.steps[:length],
            columns.values[:length],
            columns.wall_times[:length],
            index=made.index,
            restarts=wanted.restarts(),
            superseded=curve.superseded,
            sources=curve.sources,
            origin=curve.origin,
            hidden=curve.superseded_points if curve.superseded else None,
            disagreement=curve.find_disagreement if len(order) > 1 else None,
            filled=wanted.filled,
            ghosts=shares.joined(best).ghosts,
        )
        cache.filled[key] = made_of, made, filled
        return filled


def _compared(shares: Shares, cache: ViewCache, best: Candidate, other: Candidate) -> Comparison:
    """The comparison of two sources, up to date. Under the cache's lock."""
    ours, theirs = shares.joined(best), shares.joined(other)
    key = (best.source, best.name, other.source, other.name)
    seen = cache.comparisons.get(key)
    if seen is None or seen.best is not ours.columns or seen.other is not theirs.columns:
        seen = cache.comparisons[key] = _comparison(ours, theirs, best, other)
    elif seen.is_newer(ours.length, theirs.length):
        seen = _comparison(ours, theirs, best, other)
    elif seen.is_early:
        seen = cache.comparisons[key] = _comparison(ours, theirs, best, other)
    seen.extend(ours.length, theirs.length, partial(hidden, shares.parts(best)) if ours.superseded else None)
    return seen


def _comparison(ours: Joined, theirs: Joined, best: Candidate, other: Candidate) -> Comparison:
    return Comparison(ours.columns, theirs.columns, min(best.rank, other.rank) <= TEXT, best.rank == other.rank)


def _disagreement(shares: Shares, cache: ViewCache, order: tuple[Candidate, ...]) -> Disagreement | None:
    """The first of what is drawn and another source: of several sources at one step, the better one."""
    found: list[Disagreement] = []
    best = order[0]
    with cache.lock:
        ours = shares.joined(best)
        for other in order[1:]:
            theirs = shares.joined(other)
            if not ours.length or not theirs.length or (best.rank == other.rank <= TEXT):
                continue  # two texts are two attempts, or two workers
            seen = _compared(shares, cache, best, other)
            if seen.first is not None and not _of_another_axis(ours, theirs, seen):
                found.append(Disagreement(*seen.first, other.source, seen.differing))
    return min(found, key=lambda one: one.step, default=None)


def _of_another_axis(ours: Joined, theirs: Joined, seen: Comparison) -> bool:
    """Whether they are attempts that followed each other, or only count steps differently: where most steps differ, and
    both begin with the same values, but at other steps."""
    if theirs.columns.wall_times[theirs.length - 1] < ours.columns.wall_times[0]:
        return True
    if seen.differing * 2 <= seen.common:
        return False
    if min(ours.length, theirs.length) < 2 or np.array_equal(ours.columns.steps[:2], theirs.columns.steps[:2]):
        return False
    first = ours.columns.values[:2]
    return bool(first[0] != first[1]) and seen.agreement(first, theirs.columns.values[:2]) == 1.0
