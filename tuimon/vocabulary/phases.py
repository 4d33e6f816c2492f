"""phase_of(): the part of the step that a timer measures, alike for all frameworks."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from tuimon.vocabulary._document import compiled
from tuimon.vocabulary.meaning import classify
from tuimon.vocabulary.units import without_time_unit

TOTAL = "total"


class Phase(Struct, frozen=True):
    """Part of a training step that a timer measures."""

    id: str
    """Canonical id: rollout, ref_logprob, train_actor …; "other" if the name does not say."""
    label: str
    order: int
    """Position in the step."""
    name: str
    """Name of the timer: "rollout", "actor_train.train_step"."""
    cluster: str
    """Group of workers that it ran on (ROLL); "" if unknown."""
    op: str
    """Operation of the workers; "" for a timer of the pipeline itself."""
    part: str
    """total, execute, onload, offload, reload_nccl, offload_nccl, statistic, or a part of a checkpoint.

    A total includes its parts: only totals may be added up.
    """
    domain: str
    """Task, if several are trained at once (ROLL RLVR)."""
    pipeline: bool
    """Whether it times a whole part of the step, with the operations in `covers`."""
    covers: frozenset[str]


@lru_cache(maxsize=16384)
def phase_of(name: str) -> Phase | None:
    """Return the phase that the timer `name` measures; None if it does not measure a phase."""
    meaning = classify(name)
    if meaning.concept != "time.phase":
        return None
    facets = meaning.facets
    cluster, op, part = facets.get("role", ""), facets.get("op", ""), facets.get("part", "")
    text = facets.get("phase") or "/".join(filter(None, (cluster, op))) or name
    text = without_time_unit(text)
    if not op:
        outer, _, last = text.rpartition("/")
        if outer and last == TOTAL:
            text = outer
        elif re.search(compiled()["phase_names"]["statistic"], text):
            part = "statistic"
    pipeline = not op and "/" not in text and not facets.get("domain")
    phases = compiled()["phases"]
    phase = next(entry for entry in phases if re.search(entry["re"], text))
    inside = (entry["id"] for entry in phases if "inside" in entry and re.search(entry["inside"], text))
    covers = frozenset((phase["id"], *inside)) if pipeline else frozenset[str]()
    name = f"{cluster}.{op}" if cluster and op else text
    domain = facets.get("domain", "")
    return Phase(
        phase["id"], phase["label"], phase["order"], name, cluster, op, part or TOTAL, domain, pipeline, covers
    )


def is_nested(child: Phase, parent: Phase) -> bool:
    """Return whether the time of `child` is part of that of `parent` (both totals)."""
    if child.name == parent.name or not parent.pipeline:
        return child.name.startswith(f"{parent.name}/") and child.domain == parent.domain
    if not child.pipeline and child.id != "other":
        return child.id in parent.covers
    nested = compiled()["phase_names"]["nested"]
    return any(re.search(pair["child"], child.name) and re.search(pair["parent"], parent.name) for pair in nested)
