"""Order, filters and groups of the samples of a step."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.samples import Sample, flags
from tuimon.samples.discovery import Location
from tuimon.samples.library import Entry, entry_of
from tuimon.samples.searching import Search

_CORRECTNESS = ("acc", "accuracy", "correct", "is_correct", "exact_match", "correct_answer", "passed", "success")
_BINARY = (-1.0, 0.0, 1.0)
"""Values of a number that says which samples passed; 1 has passed."""
_COMPARISON = re.compile(
    r"([\w./|-]+)\s*(<=|>=|<|>|=)\s*([-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?)", re.IGNORECASE
)
_SIGNS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "=": operator.eq}
_SAME = 1e-9
Numbers: TypeAlias = Mapping[str, float | None]
"""Numbers of a sample by their names; None is unknown."""
Item = TypeVar("Item", "Entry", "Group")


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


def _members(item: Entry | Group) -> Sequence[Entry]:
    return item.entries if isinstance(item, Group) else (item,)


def _spread(item: Entry | Group) -> float:
    """Return the size of the advantage of a sample, or the deviation of the rewards of a group; NaN if unknown."""
    if isinstance(item, Group):
        return item.std
    return math.nan if item.advantage is None else abs(item.advantage)


_ORDERS: dict[str, Callable[[Entry | Group], float]] = {
    "worst": lambda item: mean_and_std(rewards_of(_members(item)))[0],
    "best": lambda item: -mean_and_std(rewards_of(_members(item)))[0],
    "longest": lambda item: -max(entry.length for entry in _members(item)),
    "shortest": lambda item: max(entry.length for entry in _members(item)),
    "|advantage|": lambda item: -_spread(item),
}
"""Value by which a sample or a group is sorted, ascending; NaN: it has none."""
SORTS = (*_ORDERS, "as written")


def sorted_by(items: Sequence[Item], sort: str) -> list[Item]:
    """Return samples or groups in an order of SORTS. Those without the value are the last; equal ones stay as
    written."""
    if sort not in _ORDERS:
        return list(items)
    values = [(_ORDERS[sort](item), item) for item in items]
    return [item for value, item in sorted(values, key=lambda pair: (math.isnan(pair[0]), pair[0]))]


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


def comparison(query: str) -> Callable[[Entry], bool] | None:
    """Return the test of a query such as "format<1" or "length>=512" on the name of a number, or None if the query is
    not a comparison."""
    match = _COMPARISON.fullmatch(query.strip())
    if match is None:
        return None
    name, sign, limit = match[1].lower(), match[2], float(match[3])

    def test(entry: Entry) -> bool:
        numbers: dict[str, float | None] = {key.lower(): value for key, value in entry.components}
        numbers |= {"reward": entry.reward, "advantage": entry.advantage, "length": entry.length}
        value = numbers.get(name)
        return value is not None and bool(_SIGNS[sign](value, limit))

    return test


def query_test(query: str) -> Callable[[Sample], bool]:
    """Return a test of whether a sample matches a query of the texts view: a comparison such as "format<1", a text, or
    "re:EXPRESSION". The test raises TooSlow. Raises re.error."""
    test = comparison(query)
    return Search(query).matches if test is None else lambda sample: test(entry_of(sample, Location(0, 0)))
