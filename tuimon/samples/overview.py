"""Summaries of many samples: a histogram of rewards, and numbers of each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence, Set

from msgspec import Struct

from tuimon.samples import Sample
from tuimon.samples.discovery import Location
from tuimon.samples.library import Entry, Library, digest, entry_of
from tuimon.samples.searching import Search
from tuimon.samples.selection import (
    Numbers,
    PromptNumbers,
    comparison,
    finite,
    mean_and_std,
    numbers_of,
    pass_field,
    passed_of,
    prompt_numbers,
    rewards_of,
)

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
    judged: int
    """Counted samples of which it is known whether they passed."""
    pass_field: str
    """Name of the number that is 1 for samples that passed, or "", see selection.pass_field."""

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


def numbers_by_step(library: Library, split: str, is_counted: Callable[[Sample], bool]) -> Iterator[StepNumbers]:
    """Yield the numbers of the samples of a split that pass a test for each step that has the split, the newest step
    first. Raises what the test raises."""
    for step in reversed(library.steps):
        entries: list[Entry] = []
        numbers: list[Numbers] = []
        for location, sample in library.samples(step):
            if sample.split == split:
                numbers.append(sample.components | {"reward": sample.reward})
                if is_counted(sample):
                    entries.append(entry_of(sample, location))
        if numbers:
            field = pass_field(numbers)
            mean, std = mean_and_std(rewards_of(entries))
            passed, judged = passed_of(numbers_of(entries), field)
            yield StepNumbers(step, len(entries), len(numbers), mean, std, passed, judged, field)


def has_prompt(prompt: str) -> Callable[[Sample], bool]:
    """Return a test of whether a sample has a prompt (its digest)."""
    return lambda sample: digest(sample.prompt or "") == prompt


def has_match(search: Search) -> Callable[[Sample], bool]:
    """Return a test of whether the response of a sample contains a search. The test raises TooSlow."""
    return lambda sample: search.is_in(sample.response)


def has_anywhere(search: Search) -> Callable[[Sample], bool]:
    """Return a test of whether the response or the prompt of a sample contains a search. The test raises TooSlow."""
    return lambda sample: search.is_in(sample.response) or bool(sample.prompt and search.is_in(sample.prompt))


def query_test(query: str) -> Callable[[Sample], bool]:
    """Return a test of whether a sample matches a query of the texts view: a comparison such as "format<1", a text, or
    "re:EXPRESSION". The test raises TooSlow. Raises re.error."""
    test = comparison(query)
    return has_anywhere(Search(query)) if test is None else lambda sample: test(entry_of(sample, Location(0, 0)))


def samples_of_all_steps(library: Library, split: str, is_counted: Callable[[Sample], bool]) -> Iterator[Sample]:
    """Yield the samples of a split that pass a test, those of the first step first."""
    for step in library.steps:
        for _, sample in library.samples(step):
            if sample.split == split and is_counted(sample):
                yield sample


def _numbers_of(library: Library, step: int, split: str, is_wanted: Callable[[], bool]) -> PromptNumbers | None:
    """Return the numbers of the prompts of a step in a split; None once `is_wanted` returns False."""
    samples: list[tuple[str, Numbers]] = []
    for _, sample in library.samples(step):
        if not is_wanted():
            return None
        if sample.split == split:
            samples.append((digest(sample.prompt or ""), sample.components | {"reward": sample.reward}))
    return prompt_numbers(step, samples)


def first_numbers(
    library: Library, step: int | None, split: str, prompts: Set[str], is_wanted: Callable[[], bool], steps: int = 0
) -> list[PromptNumbers] | None:
    """Return the numbers of the first steps before `step` that have some of the prompts in a split, until each prompt
    was found; steps without a further one are left out. Return None once `is_wanted` returns False.

    steps: maximum number of earlier steps that are read, the latest ones; 0: all.
    """
    wanted, found = set(prompts), list[PromptNumbers]()
    for other in [other for other in library.steps if other is not None and step is not None and other < step][-steps:]:
        if not wanted:
            break
        numbers = _numbers_of(library, other, split, is_wanted)
        if numbers is None:
            return None
        known = wanted & (numbers.rewards.keys() | numbers.passed.keys())
        if known:
            wanted -= known
            found.append(numbers)
    return found


def in_bin(entry: Entry, chosen: Bin) -> bool:
    """Return whether the reward of an entry is in a bin."""
    reward = finite(entry)
    return reward is not None and chosen.low <= reward <= chosen.high
