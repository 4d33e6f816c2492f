"""Order, filters and groups of the samples of a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.samples import flags
from tuimon.samples.library import Entry

SINCE_FIRST = "since first"
"""Order by the change since the first step that has the prompt, the greatest loss first."""
SORTS = ("worst", "best", "longest", "shortest", "|advantage|", SINCE_FIRST, "as written")
_CORRECTNESS = ("acc", "accuracy", "correct", "is_correct", "exact_match", "correct_answer", "passed", "success")
_BINARY = (-1.0, 0.0, 1.0)
"""Values of a number that says which samples passed; 1 has passed."""
_COMPARISON = re.compile(
    r"([\w./|-]+)\s*(<=|>=|<|>|=)\s*([-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?)", re.IGNORECASE
)
_SAME = 1e-9
Numbers: TypeAlias = Mapping[str, float | None]
"""Numbers of a sample by their names; None is unknown."""


class Group(Struct, frozen=True):
    """The samples of one prompt."""

    key: str
    entries: tuple[Entry, ...]
    mean: float
    """Mean of the finite rewards; NaN if there is none."""
    std: float
    passed: int
    judged: int
    """Samples of which it is known whether they passed."""

    @property
    def identical(self) -> int:
        """Number of samples with the most frequent response; 0 if all differ."""
        return flags.most_identical(entry.text for entry in self.entries)

    @property
    def is_flat(self) -> bool:
        """Whether the group has several samples, all with the same reward: no advantage follows from it."""
        return len(self.entries) > 1 and self.std <= _SAME


def finite(entry: Entry) -> float | None:
    """Return the reward, or None if it is unknown or not finite."""
    return entry.reward if entry.reward is not None and math.isfinite(entry.reward) else None


def rewards_of(entries: Iterable[Entry]) -> list[float]:
    """Return the finite rewards."""
    return [reward for entry in entries if (reward := finite(entry)) is not None]


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (of the population); NaN for no values."""
    if not values:
        return math.nan, math.nan
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def numbers_of(entries: Iterable[Entry]) -> list[Numbers]:
    """Return the numbers of each entry: the parts of its reward, and its reward as "reward"."""
    return [dict(entry.components) | {"reward": entry.reward} for entry in entries]


def pass_field(samples: Sequence[Numbers]) -> str:
    """Return the name of the number that is 1 for samples that passed: the accuracy or the like, else the reward; "" if
    neither has only the values -1, 0 and 1, as it does not say then which samples passed."""
    named = next((name for numbers in samples[:1] for name in numbers if name.lower() in _CORRECTNESS), "reward")
    for name in dict.fromkeys((named, "reward")):
        if all(name in numbers for numbers in samples):
            values = [value for numbers in samples if (value := numbers[name]) is not None and math.isfinite(value)]
            if values and all(value in _BINARY for value in values):
                return name
    return ""


def passed_of(samples: Iterable[Numbers], field: str) -> tuple[int, int]:
    """Return how many samples passed, and of how many that is known. field: result of `pass_field`."""
    values = [numbers.get(field) for numbers in samples] if field else []
    known = [value for value in values if value is not None and math.isfinite(value)]
    return sum(value == 1 for value in known), len(known)


def groups_of(entries: Sequence[Entry], field: str = "") -> list[Group]:
    """Return the groups in the order in which their first samples were written. field: result of `pass_field`."""
    members: dict[str, list[Entry]] = {}
    for entry in entries:
        members.setdefault(entry.group, []).append(entry)
    return [
        Group(key, tuple(group), *mean_and_std(rewards_of(group)), *passed_of(numbers_of(group), field))
        for key, group in members.items()
    ]


class PromptNumbers(Struct, frozen=True):
    """Numbers of the prompts of a step, by their digests."""

    step: int | None
    pass_field: str
    """Name of the number that is 1 for samples that passed, or "", see `pass_field`."""
    passed: Mapping[str, float]
    """Share of the samples that passed, among the samples for which that is known."""
    rewards: Mapping[str, float]
    """Mean of the finite rewards."""


def prompt_numbers(step: int | None, samples: Iterable[tuple[str, Numbers]]) -> PromptNumbers:
    """Return the numbers of the prompts of samples: (digest of the prompt, numbers of the sample)."""
    by_prompt: dict[str, list[Numbers]] = {}
    for prompt, numbers in samples:
        by_prompt.setdefault(prompt, []).append(numbers)
    field = pass_field([numbers for group in by_prompt.values() for numbers in group])
    passed, rewards = {}, {}
    for prompt, group in by_prompt.items():
        count, judged = passed_of(group, field)
        if judged:
            passed[prompt] = count / judged
        finite_rewards = [reward for n in group if (reward := n["reward"]) is not None and math.isfinite(reward)]
        if finite_rewards:
            rewards[prompt] = math.fsum(finite_rewards) / len(finite_rewards)
    return PromptNumbers(step, field, passed, rewards)


def changes_since(firsts: Sequence[PromptNumbers], later: PromptNumbers) -> tuple[bool, dict[str, float]]:
    """Return (whether the share that passed is compared, else the mean reward; change of each prompt).

    firsts: numbers of earlier steps, ascending; of a prompt the first one that has it counts.
    """
    is_share = bool(later.pass_field) and all(first.pass_field == later.pass_field for first in firsts)
    *before, after = (numbers.passed if is_share else numbers.rewards for numbers in (*firsts, later))
    first = {prompt: value for values in reversed(before) for prompt, value in values.items()}
    return is_share, {prompt: value - first[prompt] for prompt, value in after.items() if prompt in first}


def sorted_by(entries: Sequence[Entry], sort: str, change: Mapping[str, float] | None = None) -> list[Entry]:
    """Return the entries in an order of SORTS. Samples without the value are the last; equal ones stay as written.

    change: result of `changes_since`, by prompt.
    """

    def advantage(one: Sequence[Entry]) -> float:
        return math.nan if one[0].advantage is None else abs(one[0].advantage)

    value = _orders(advantage, change or {}).get(sort)
    return sorted(entries, key=lambda entry: _nan_last(value((entry,)))) if value else list(entries)


def sorted_groups(groups: Sequence[Group], sort: str, change: Mapping[str, float] | None = None) -> list[Group]:
    """Return the groups in an order of SORTS: by their mean reward, deviation, longest text or change.

    change: result of `changes_since`, by prompt."""
    value = _orders(lambda entries: mean_and_std(rewards_of(entries))[1], change or {}).get(sort)
    return sorted(groups, key=lambda group: _nan_last(value(group.entries))) if value else list(groups)


def _orders(
    spread: Callable[[Sequence[Entry]], float], change: Mapping[str, float]
) -> dict[str, Callable[[Sequence[Entry]], float]]:
    """Return, for each of SORTS, the value by which a sample or a group is sorted, ascending; NaN: it has none."""
    return {
        "worst": lambda entries: mean_and_std(rewards_of(entries))[0],
        "best": lambda entries: -mean_and_std(rewards_of(entries))[0],
        "longest": lambda entries: -max(entry.length for entry in entries),
        "shortest": lambda entries: max(entry.length for entry in entries),
        "|advantage|": lambda entries: -spread(entries),
        SINCE_FIRST: lambda entries: change.get(entries[0].prompt, math.nan),
    }


def _nan_last(value: float) -> tuple[bool, float]:
    return math.isnan(value), 0.0 if math.isnan(value) else value


_TESTS: dict[str, Callable[[Entry], bool]] = {
    "truncated": lambda entry: entry.truncated is True,
    "error": lambda entry: entry.error,
    "zero reward": lambda entry: entry.reward == 0,
    "reward 1": lambda entry: entry.reward == 1,
    "no reward": lambda entry: finite(entry) is None,
    **{name: (lambda entry, bit=bit: bool(entry.flags & bit)) for bit, name in flags.NAMES.items()},  # type: ignore[misc]
}
FLAT, MIXED = "zero variance", "mixed groups"
FILTERS = ("all", *_TESTS, FLAT, MIXED)
"""Names of the filters; the last two apply to groups: all rewards equal, or not."""


def filtered(entries: Sequence[Entry], name: str) -> list[Entry]:
    """Return the entries that a filter of FILTERS keeps."""
    if name in (FLAT, MIXED):
        groups = groups_of(entries)
        kept = {group.key for group in groups if len(group.entries) > 1 and group.is_flat == (name == FLAT)}
        return [entry for entry in entries if entry.group in kept]
    test = _TESTS.get(name)
    return [entry for entry in entries if test(entry)] if test is not None else list(entries)


def counts(entries: Sequence[Entry]) -> dict[str, int]:
    """Return the number of samples that each filter keeps, of the filters that keep any."""
    found = {name: sum(map(test, entries)) for name, test in _TESTS.items()}
    for name in (FLAT, MIXED):
        found[name] = len(filtered(entries, name))
    return {"all": len(entries)} | {name: count for name, count in found.items() if count}


def comparison(query: str) -> Callable[[Entry], bool] | None:
    """Return the test of a query such as "format<1" or "length>=512" on the name of a number, or None if the query is
    not a comparison."""
    match = _COMPARISON.fullmatch(query.strip())
    if match is None:
        return None
    name, sign, limit = match[1].lower(), match[2], float(match[3])
    tests: dict[str, Callable[[float], bool]] = {
        "<": lambda value: value < limit,
        ">": lambda value: value > limit,
        "<=": lambda value: value <= limit,
        ">=": lambda value: value >= limit,
        "=": lambda value: value == limit,
    }

    def test(entry: Entry) -> bool:
        numbers: dict[str, float | None] = {key.lower(): value for key, value in entry.components}
        numbers |= {"reward": entry.reward, "advantage": entry.advantage, "length": entry.length}
        value = numbers.get(name)
        return value is not None and tests[sign](value)

    return test
