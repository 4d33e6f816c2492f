"""What the lines of one chart are called, as short as tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tuimon.vocabulary import Meaning

_TELLING = ("component", "ds", "domain", "role", "kind", "sign", "who", "op", "phase", "tool", "q", "k")


def labels_of(lines: Sequence[tuple[str, Meaning]]) -> list[str]:
    """A label for each (metric, meaning), no two the same; "" for a line that is alone.

    Each line takes the first of these that no other line would be called too: its split, its concept, what the name
    tells beside that, the name itself.
    """
    if len(lines) < 2:
        return ["" for _ in lines]
    several = len({meaning.concept for _, meaning in lines}) > 1
    ways = [_ways(name, meaning, several) for name, meaning in lines]
    taken = [Counter(way) for way in zip(*ways, strict=True)]
    labels = [
        next((label for label, all_ in zip(own, taken, strict=True) if label and all_[label] == 1), own[-1])
        for own in ways
    ]
    return labels if len(set(labels)) == len(labels) else [name for name, _ in lines]


def _ways(name: str, meaning: Meaning, several: bool) -> tuple[str, ...]:
    validation = " val" if meaning.split == "val" and "val" not in meaning.label else ""
    told = " ".join(meaning.facets[key] for key in _TELLING if key in meaning.facets)
    with_told = (f"{meaning.label} {told}" if several else told) + validation if told else ""
    return meaning.split, meaning.label, meaning.label + validation, with_told, name
