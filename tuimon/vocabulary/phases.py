"""phase_of(): which part of the training step a timer measures, so that every framework's timers share one axis."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from msgspec import Struct

from tuimon.vocabulary._document import document
from tuimon.vocabulary.meaning import classify

TOTAL = "total"


class Phase(Struct, frozen=True):
    """What a timer measures."""

    id: str
    """Canonical: rollout, ref_logprob, train_actor …; "other" when the name says nothing."""
    label: str
    order: int
    """Place in the step."""
    name: str
    """The timer's own name: "rollout", "actor_train.train_step"."""
    cluster: str
    """The group of workers it ran on (ROLL); "" when the name does not say."""
    op: str
    """The operation of the workers; "" for a timer of the pipeline itself."""
    part: str
    """total | execute | onload | offload | reload_nccl | offload_nccl | statistic | a part of a checkpoint.

    A total holds its parts: only totals may be added up.
    """
    domain: str
    """Of several tasks trained at once (ROLL RLVR)."""
    pipeline: bool
    """A timer around a whole part of the step, which holds the workers' operations of the phases in `covers`."""
    covers: frozenset[str]


@cache
def _phases() -> tuple[tuple[str, str, int, re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple(
        (
            entry["id"],
            entry["label"],
            entry["order"],
            re.compile(entry["re"]),
            re.compile(entry["inside"]) if "inside" in entry else None,
        )
        for entry in document()["phase"]
    )


@cache
def _nested() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    pairs = document()["phase_names"]["nested"]
    return tuple((re.compile(pair["child"]), re.compile(pair["parent"])) for pair in pairs)


@cache
def _statistic() -> re.Pattern[str]:
    return re.compile(document()["phase_names"]["statistic"])


@lru_cache(maxsize=16384)
def phase_of(name: str) -> Phase | None:
    """The phase that the timer `name` measures, None when it is no timer of a phase (nor of the whole step)."""
    meaning = classify(name)
    if meaning.concept != "time.phase":
        return None
    facets = meaning.facets
    cluster, op, part = facets.get("role", ""), facets.get("op", ""), facets.get("part", "")
    text = facets.get("phase") or "/".join(filter(None, (cluster, op))) or name
    if not op:
        outer, _, last = text.rpartition("/")
        if outer and last == TOTAL:
            text = outer
        elif _statistic().search(text):
            part = "statistic"
    pipeline = not op and "/" not in text and not facets.get("domain")
    found = next(entry for entry in _phases() if entry[3].search(text))
    inside = {entry[0] for entry in _phases() if entry[4] is not None and entry[4].search(text)}
    covers = frozenset({found[0]} | inside) if pipeline else frozenset[str]()
    return Phase(
        found[0],
        found[1],
        found[2],
        f"{cluster}.{op}" if cluster and op else text,
        cluster,
        op,
        part or TOTAL,
        facets.get("domain", ""),
        pipeline,
        covers,
    )


def is_nested(child: Phase, parent: Phase) -> bool:
    """Whether the time of `child` (a total) lies inside that of `parent` (another total of the same run)."""
    if child.name == parent.name or not parent.pipeline:
        return child.name.startswith(f"{parent.name}/") and child.domain == parent.domain
    if not child.pipeline and child.id != "other":
        return child.id in parent.covers
    return any(c.search(child.name) and p.search(parent.name) for c, p in _nested())
