"""Which metrics of a run a panel is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify

_SIDES = frozenset({"max", "min", "std", "diff", "worst", "p50", "p99", "threshold"})
"""Reducers that go with a mean: no line of their own beside it."""
_NEVER_ALONE = frozenset({"hidden", "machine", "progress", "memory"})
_NOT_ALONE = frozenset({"reward.range"})


@lru_cache(maxsize=128)
def by_concept(metrics: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Concept -> its metrics, the preferred first. Kept, as a run's tuple of names seldom changes."""
    found: dict[str, list[tuple[int, int, str]]] = {}
    for position, name in enumerate(metrics):
        meaning = classify(name)
        found.setdefault(meaning.concept, []).append((meaning.preference, position, name))
    return MappingProxyType({concept: tuple(name for *_, name in sorted(ones)) for concept, ones in found.items()})


@lru_cache(maxsize=512)
def lines_of(metrics: tuple[str, ...], concepts: tuple[str, ...]) -> tuple[str, ...]:
    """The metrics of some concepts in the order in which they deserve a line.

    First the preferred metric of each concept in turn, each with its validation twin, then the others. The max, min and
    std of a metric go only where there is no mean.
    """
    known = by_concept(metrics)
    first: list[str] = []
    rest: list[tuple[int, int, str]] = []
    for rank, concept in enumerate(concepts):
        names = known.get(concept, ())
        plain = tuple(name for name in names if not is_side(classify(name))) or names[:1]
        for split in ("train", "val"):
            of_split = [name for name in plain if classify(name).split == split]
            first.extend(of_split[:1])
            rest.extend((classify(name).preference, rank, name) for name in of_split[1:])
    return (*first, *(name for *_, name in sorted(rest)))


def is_side(meaning: Meaning) -> bool:
    """Whether the metric is the max, min or spread of something whose mean says more."""
    facets = meaning.facets
    return facets.get("q") in _SIDES or facets.get("side") is not None


@lru_cache(maxsize=64)
def leftovers(metrics: tuple[str, ...], shown: frozenset[str]) -> tuple[str, ...]:
    """The metrics of no shown concept that are worth a chart, the unknown before the known but secondary."""
    found: list[tuple[bool, int, str]] = []
    for position, name in enumerate(metrics):
        meaning = classify(name)
        if meaning.concept in shown or meaning.concept in _NOT_ALONE or meaning.panel in _NEVER_ALONE:
            continue
        found.append((meaning.concept == "known.other", position, name))
    return tuple(name for *_, name in sorted(found))


def curve_or_none(run: Run, metric: str) -> Curve | None:
    """The curve, or None where it has no point left."""
    try:
        curve = run.curve(metric)
    except KeyError:
        return None
    return curve if len(curve) else None
