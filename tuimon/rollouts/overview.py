"""Summaries of many samples: a histogram of rewards, and numbers of each step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from tuimon.rollouts.library import Entry, Library, digest, entry_of
from tuimon.rollouts.searching import Search
from tuimon.rollouts.selection import finite, has_passed, mean_and_std, pass_mark, rewards_of

_FEW = 12
"""Up to this many different rewards have a bin each."""


class Bin(Struct, frozen=True):
    """A range of rewards."""

    low: float
    high: float
    """Included; equal to `low` for a single value."""
    count: int


class StepNumbers(Struct, frozen=True):
    """Numbers of the samples of a step."""

    step: int | None
    count: int
    """Samples that match a search, or that have a prompt."""
    total: int
    """Samples of the step."""
    mean: float
    """Mean reward of the counted samples; NaN without one."""
    std: float
    passed: int

    @property
    def share(self) -> float:
        return self.count / self.total if self.total else 0.0


def histogram(entries: Sequence[Entry], bins: int = _FEW) -> list[Bin]:
    """Return bins of the finite rewards, ascending: one for each value if there are few, else of equal width."""
    rewards = rewards_of(entries)
    values = sorted(set(rewards))
    if len(values) <= _FEW:
        return [Bin(value, value, rewards.count(value)) for value in values]
    low, high = values[0], values[-1]
    width = (high - low) / bins
    counts = [0] * bins
    for reward in rewards:
        counts[min(int((reward - low) / width), bins - 1)] += 1
    return [
        Bin(low + index * width, high if index == bins - 1 else math.nextafter(low + (index + 1) * width, low), count)
        for index, count in enumerate(counts)
    ]


def prompt_by_step(library: Library, prompt: str) -> Iterator[StepNumbers]:
    """Yield the numbers of the samples with a prompt (its digest) for each step that has it, the newest step first."""
    for step in reversed(library.steps):
        entries: list[Entry] = []
        total = 0
        for location, sample in library.samples(step):
            total += 1
            if digest(sample.prompt or "") == prompt:
                entries.append(entry_of(sample, location))
        if entries:
            yield _numbers(step, entries, total)


def matches_by_step(library: Library, search: Search) -> Iterator[StepNumbers]:
    """Yield the numbers of the samples whose response contains a search for each step, the newest step first.
    Raises TooSlow."""
    for step in reversed(library.steps):
        entries: list[Entry] = []
        total = 0
        for location, sample in library.samples(step):
            total += 1
            if search.is_in(sample.response):
                entries.append(entry_of(sample, location))
        yield _numbers(step, entries, total)


def _numbers(step: int | None, entries: Sequence[Entry], total: int) -> StepNumbers:
    mean, std = mean_and_std(rewards_of(entries))
    mark = pass_mark(entries)
    return StepNumbers(step, len(entries), total, mean, std, sum(has_passed(entry, mark) for entry in entries))


def in_bin(entry: Entry, chosen: Bin) -> bool:
    """Return whether the reward of an entry is in a bin."""
    reward = finite(entry)
    return reward is not None and chosen.low <= reward <= chosen.high
