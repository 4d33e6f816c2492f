"""The timers of a run as a tree: the phases of the step and nested timers."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from tuimon.vocabulary import Phase, is_nested, phase_of


class Timer(Struct, frozen=True):
    """A timer of a whole phase, with its place in the tree."""

    metric: str
    phase: Phase
    parent: str
    """Metric of the enclosing timer; "" for a phase of the step."""
    parts: tuple[tuple[str, str], ...]
    """(part, metric) of its parts: execute, onload, offload."""


@lru_cache(maxsize=64)
def timer_tree(names: tuple[str, ...]) -> tuple[Timer, ...]:
    """Return the timers among metrics of phases in the order of the step, each child directly after its parent."""
    phases = [(name, phase) for name in names if (phase := phase_of(name))]
    parts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    totals: dict[tuple[str, str], tuple[str, Phase]] = {}
    for name, phase in phases:
        key = (phase.domain, phase.name)
        if phase.part == "total":
            totals.setdefault(key, (name, phase))
        elif phase.part != "statistic":
            parts.setdefault(key, []).append((phase.part, name))
    enclosing = {
        name: [(other, outer) for other, outer in totals.values() if other != name and is_nested(phase, outer)]
        for name, phase in totals.values()
    }
    tree: dict[str, list[Timer]] = {}
    for key, (name, phase) in totals.items():
        # Of several enclosing timers the parent is the outermost, and of these the first in the step.
        parent = min(
            enclosing[name],
            key=lambda timer: (len(enclosing[timer[0]]), timer[1].order, timer[1].name),
            default=("", None),
        )[0]
        tree.setdefault(parent, []).append(Timer(name, phase, parent, tuple(parts.get(key, ()))))
    ordered: list[Timer] = []

    def add(parent: str) -> None:
        for timer in sorted(tree.pop(parent, ()), key=lambda timer: (timer.phase.order, timer.phase.name)):
            ordered.append(timer)
            add(timer.metric)

    add("")
    return tuple(ordered)
