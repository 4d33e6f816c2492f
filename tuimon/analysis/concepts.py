"""Find the metrics of a run that belong to a concept of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, meanings

_SPREADS = frozenset({"max", "min", "std", "diff", "var"})
"""Values of the facet q for extremes and spreads of the main series."""


@lru_cache(maxsize=64)
def _by_concept(metrics: tuple[str, ...]) -> Mapping[str, tuple[tuple[str, Meaning], ...]]:
    by_concept: dict[str, list[tuple[str, Meaning]]] = {}
    for metric, meaning in meanings(metrics).items():
        by_concept.setdefault(meaning.concept, []).append((metric, meaning))
    return {c: tuple(sorted(pairs, key=lambda pair: pair[1].preference)) for c, pairs in by_concept.items()}


def metrics_of(run: Run, concept: str, split: str = "train", *, all_names: bool = False) -> list[str]:
    """Return the metrics of a concept with the best preference, those with the most points first, or all of them.

    Extremes and spreads are left out, and so is a metric with other steps than the main sources if there are others:
    the reward of single episodes beside its mean.
    """
    pairs = [
        (metric, meaning)
        for metric, meaning in _by_concept(run.tracked_metrics).get(concept, ())
        if meaning.split == split and meaning.facets.get("q") not in _SPREADS
    ]
    if all_names:
        return [metric for metric, _ in pairs]
    main = [pair for pair in pairs if pair[0] in run.main_metrics] or pairs
    best = [metric for metric, meaning in main if meaning.preference == main[0][1].preference]
    return sorted(best, key=lambda metric: -len(run.curve(metric))) if len(best) > 1 else best


def curves(run: Run, concept: str, split: str = "train") -> Iterator[Curve]:
    """Yield the curves of `metrics_of`."""
    return map(run.curve, metrics_of(run, concept, split))
