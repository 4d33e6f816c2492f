"""matched_runs(): which runs of a sweep are equal in every setting except one, or in all of them except seeds.

The settings are compared as numbers ("codes"): runs with equal values of a setting have equal codes. A run without a
setting has a code of its own for it, like a value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.comparing import MISSING, is_output, is_seed, number_of
from tuimon.analysis.correlation import ranks_of, spearman_bound
from tuimon.model.points import Floats, Steps

_ENOUGH = 12
"""Minimum number of runs in which a number with many values that does not go with a setting is taken as random."""


class MatchedRuns(Struct, frozen=True, eq=False):
    """Runs by their settings. Each array has an item for each run."""

    values: dict[str, Sequence[Any]]
    """Values of each setting that is compared, in each run; None if it has none."""
    codes: dict[str, Steps]
    """Setting -> numbers from 0 on that are equal where the values are."""
    numbers: dict[str, Floats]
    """Values of each setting as numbers, also of texts; NaN where they are none."""
    ranks: dict[str, Floats]
    """Ranks of the numbers, or of two texts, less their mean, divided by the root of the sum of their squares, so that
    the sum of products is a rank correlation; 0 where there is none."""
    strata: dict[str, Steps]
    """Setting -> numbers that are equal where all other settings are."""
    cells: Steps
    """Numbers that are equal where all settings are, so that the runs differ at most in seeds."""

    def has(self, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return whether each run has a value of the setting."""
        return np.array([value is not None for value in self.values[name]], np.bool_)

    def varying_with(self, name: str) -> tuple[str, ...]:
        """Return the settings that differ wherever this one does; if each of them is equal somewhere, a few of which
        one does.

        A number with many values, such as that of a random search, differs everywhere. It is named only if its rank
        correlation with the setting is more than chance, or if there are few runs.
        """
        own = self.codes[name]
        others = [other for other in self.codes if other != name]
        always = [other for other in others if not _mixed(own, self.codes[other])]
        if always:
            return tuple(other for other in always if not self._is_random(name, other))
        chosen: list[str] = []
        groups = np.zeros_like(own)
        while others and (mixed := _mixed(own, groups)):
            counts = {other: _mixed(own, combined(groups, self.codes[other])) for other in others}
            best = min(others, key=lambda other: counts[other])
            if counts[best] == mixed and chosen:
                break
            chosen.append(best)
            others.remove(best)
            groups = combined(groups, self.codes[best])
        return tuple(chosen)

    def correlated_with(self, name: str) -> tuple[str, ...]:
        """Return the other settings with numbers, or with two texts, whose ranks go with this one's beyond chance."""
        return tuple(other for other in self.codes if other != name and self._is_correlated(name, other))

    def _is_random(self, name: str, other: str) -> bool:
        count = len(self.cells)
        many = int(self.codes[other].max()) + 1 > count // 2
        return many and count >= _ENOUGH and not self._is_correlated(name, other)

    def _is_correlated(self, name: str, other: str) -> bool:
        rho = float(self.ranks[name] @ self.ranks[other])
        return abs(rho) > spearman_bound(len(self.cells))


def matched_runs(settings: Sequence[tuple[str, Sequence[Any]]]) -> MatchedRuns:
    """Return the runs by their settings. settings: (name, value in each run; MISSING or None if it has none).

    Seeds, names of outputs, settings without a difference, and texts of which most runs have their own are left out.
    """
    values: dict[str, Sequence[Any]] = {}
    codes: dict[str, Steps] = {}
    numbers: dict[str, Floats] = {}
    for name, row in settings:
        if is_seed(name) or is_output(name) or name.startswith("_"):
            continue
        known = [None if value is MISSING else value for value in row]
        own, as_numbers = _codes(known)
        count = max(own, default=-1) + 1
        if count > 1 and (np.isfinite(as_numbers).any() or count <= len(own) // 2):
            values[name], codes[name], numbers[name] = known, np.array(own, np.int64), as_numbers
    names = list(codes)
    size = len(settings[0][1]) if settings else 0
    after = [np.zeros(size, np.int64)]
    for name in reversed(names):
        after.append(combined(after[-1], codes[name]))
    before, strata = np.zeros(size, np.int64), {}
    for name, rest in zip(names, after[-2::-1], strict=True):
        strata[name] = combined(before, rest)
        before = combined(before, codes[name])
    ranks = {name: _unit_ranks(numbers[name], own) for name, own in codes.items()}
    return MatchedRuns(values, codes, numbers, ranks, strata, before)


def _unit_ranks(numbers: Floats, codes: Steps) -> Floats:
    """Return `MatchedRuns.ranks` of a setting."""
    known = np.isfinite(numbers)
    if not known.any() and codes.max() == 1:
        numbers, known = codes.astype(np.float64), np.ones(len(codes), np.bool_)
    ranks = np.zeros(len(numbers))
    if known.any():
        own = ranks_of(numbers[known])
        ranks[known] = own - own.mean()
    length = math.sqrt(float(ranks @ ranks))
    unit: Floats = ranks / length if length else ranks
    return unit


def _codes(values: Sequence[Any]) -> tuple[list[int], Floats]:
    """Return a number from 0 on for each different value, and the values as numbers, NaN where they are none."""
    codes: dict[object, int] = {}
    result = []
    numbers = np.full(len(values), np.nan)
    for index, value in enumerate(values):
        number = value if type(value) is float else number_of(value)
        if number is not None and math.isfinite(number):
            numbers[index] = number
            key: object = number
        else:
            key = (type(value), value if isinstance(value, str | bool) else repr(value))
        result.append(codes.setdefault(key, len(codes)))
    return result, numbers


def combined(first: Steps, second: Steps) -> Steps:
    """Return numbers from 0 on that are equal where both the first and the second ones are."""
    if not len(first):
        return first
    inverse: Steps = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
    return inverse


def _mixed(own: Steps, groups: Steps) -> int:
    """Return how many more pairs of group and code there are than groups: 0 if each group has one code."""
    return int(combined(groups, own).max()) - int(combined(groups, groups).max())
