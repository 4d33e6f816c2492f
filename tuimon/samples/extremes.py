"""The best and the worst samples of a step, for reports."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from msgspec import Struct

from tuimon.samples import Sample
from tuimon.samples.library import Library
from tuimon.samples.selection import mean_and_std, rewards_of, sorted_by

COUNT = 5
"""Samples of each kind."""


class Extremes(Struct, frozen=True):
    """Samples of a step."""

    step: int | None
    split: str
    """"train" if the step has samples of training, else "validation"; the others are left out."""
    count: int
    """Number of samples of the step and the split."""
    mean: float
    """Mean of their finite rewards; NaN without any."""
    worst: tuple[Sample, ...]
    """Samples with the lowest rewards, ascending; without rewards, the first samples of the step."""
    best: tuple[Sample, ...]
    """Samples with the highest rewards that are not in `worst`, descending."""
    unreadable: tuple[str, ...]
    """Files that could not be read, with the reason."""


def extremes(paths: Sequence[str], step: int | None = None, count: int = COUNT) -> Extremes | None:
    """Return samples of the last step at or before `step` (None: of the last step) that has texts at or below some
    paths, or None if no file has texts of such a step."""
    library = Library(paths)
    library.refresh()
    return extremes_in(library, step, count)


def extremes_in(library: Library, step: int | None = None, count: int = COUNT) -> Extremes | None:
    """Return what `extremes` returns, from a library as it was refreshed last."""
    known = [other for other in library.steps if other is not None]
    if step is not None:
        known = known[: bisect.bisect_right(known, step)]
    if not known and (step is not None or not library.steps):
        return None
    chosen = known[-1] if known else None
    every = library.entries(chosen)
    entries = [entry for entry in every if entry.split == "train"] or every
    split = entries[0].split if entries else "train"
    rewards = rewards_of(entries)
    order = sorted_by(entries, "worst")
    if rewards:
        order = order[: len(rewards)]  # samples without a reward are the last
        low = order[: min(count, (len(order) + 1) // 2)]
        taken = {id(entry) for entry in low}
        high = [entry for entry in sorted_by(order, "best") if id(entry) not in taken][:count]
    else:
        low, high = order[:count], []
    worst, best = (
        tuple(sample for entry in chosen if (sample := library.sample(entry)) is not None) for chosen in (low, high)
    )
    return Extremes(
        chosen, split, len(entries), mean_and_std(rewards)[0], worst, best, tuple(library.problems.values())
    )
