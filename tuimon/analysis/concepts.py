"""Which metrics of a run stand for a concept of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify

_EXTREMES = frozenset({"max", "min", "std", "diff", "var"})
"""Values of the facet q of series that are extremes or spreads of the one that matters."""


@lru_cache(maxsize=64)
def _by_concept(metrics: tuple[str, ...]) -> Mapping[str, tuple[tuple[str, Meaning], ...]]:
    found: dict[str, list[tuple[str, Meaning]]] = {}
    for metric in metrics:
        meaning = classify(metric)
        found.setdefault(meaning.concept, []).append((metric, meaning))
    return {concept: tuple(sorted(ones, key=lambda one: one[1].preference)) for concept, ones in found.items()}


def named(run: Run, concept: str, split: str = "train", *, every: bool = False) -> list[str]:
    """The metrics of a concept: those of the best name alone, or every one; extremes and spreads left out."""
    ones = [
        (metric, meaning)
        for metric, meaning in _by_concept(run.metrics).get(concept, ())
        if meaning.split == split and meaning.facets.get("q") not in _EXTREMES
    ]
    return [metric for metric, meaning in ones if every or meaning.preference == ones[0][1].preference]


def curves(run: Run, concept: str, split: str = "train", *, every: bool = False) -> Iterator[Curve]:
    """The curves of these metrics."""
    return (run.curve(metric) for metric in named(run, concept, split, every=every))
