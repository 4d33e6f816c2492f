"""The order in which metrics are told: as panels show their concepts, those that tell most first."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from tuimon.registry import discover
from tuimon.vocabulary import classify

ASIDE = frozenset({"progress", "machine", "hidden"})
"""Panels of metrics that tell nothing of how well a model does: they come last."""


def telling(metrics: Iterable[str]) -> list[str]:
    """Names of metrics, those that tell most first."""
    return sorted(metrics, key=_place)


def _place(name: str) -> tuple[bool, int, int, str]:
    meaning = classify(name)
    return (meaning.panel in ASIDE, _places().get(meaning.concept, len(_places())), meaning.preference, name)


@cache
def _places() -> dict[str, int]:
    """Concept -> where it stands on the screen."""
    panels = sorted(discover("tuimon.panels", "PANEL"), key=lambda panel: (panel.order, panel.id))
    shown = (concept for panel in panels for concept in getattr(panel, "concepts", ()))
    return {concept: place for place, concept in enumerate(dict.fromkeys(shown))}
