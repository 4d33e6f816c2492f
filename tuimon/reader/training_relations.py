"""Relations between the first points of log files: one training, its continuation, or different trainings.

See `tuimon.reader.trainings` for the rules. Pure functions of names and points; no file is read here."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache

import numpy as np
from msgspec import Struct

from tuimon.sources import layout
from tuimon.sources.grouped_files import Attempt, natural_order

STEPS = 256
"""Number of steps at the beginning of a file that are compared."""
_SURE = 5
"""Number of common steps with equal values from which on two files are of one training for good."""
_LIKE = 0.1
"""Relative difference up to which values of a resumed training are like those before."""
_NOISE_STEPS = 32
"""Number of steps, the last common one and those before, from which the noise of a metric is estimated."""
_COMPARED_STEPS, _COMPARED_METRICS = 16, 8
"""Maximum number of common steps, the last ones, and of metrics that are compared."""
_ROUNDED = 5e-3
"""Relative difference of two values (absolute below 1) that can be due to rounding."""
PROCESS = re.compile(r"(?:global|local|log)?[-_]?(?:rank|worker|node|host|gpu|proc|process)[-_]?\d+", re.IGNORECASE)
"""The part of a file's name that identifies a process of a job."""
_WORD = re.compile(r"[-_. ]+")
_DIGITS = re.compile(r"[0-9]+")
_OUTPUT = re.compile(r"stdout|stderr|out|err|logs?|console|output|txt", re.IGNORECASE)
_PREDICTABLE = re.compile(
    r"(?:^|[_/ ])(?:lr|learning[_ ]rate|wd|weight_decay|momentum)(?:_[a-z0-9]+)?$|(?:^|/)"
    r"(?:epoch|(?:global_)?steps?|iter(?:ation)?s?|time|wall_time|timestamp|elapsed|num_tokens|samples|tokens|episodes?)$",
    re.IGNORECASE,
)

Values = dict[str, dict[int, float]]
"""Values by metric and step."""


class Beginning(Struct, frozen=True):
    """The first points of a file."""

    values: Values
    """Values by metric and step; at least one point."""
    steps: Sequence[int]
    """All steps, ascending."""
    whole: bool
    """Whether the file has no other points."""

    @property
    def is_from_scratch(self) -> bool | None:
        """Whether it begins at the first step at which a training can log; None if that is unknown."""
        if self.steps[0] <= 1:
            return True
        return self.steps[0] <= self.steps[1] - self.steps[0] if len(self.steps) > 1 else None


class Comparison:
    """The trainings of some files, and their attempts."""

    def __init__(
        self, beginnings: Mapping[str, Beginning], values_at: Callable[[str, Iterable[int]], Values | None]
    ) -> None:
        """beginnings: by path. values_at: returns the values of a file at some steps, if it can."""
        self._beginnings = beginnings
        self._values_at = values_at
        self.decided: set[str] = set()
        """Paths of files that are certainly of one training with another file, or not."""
        self._several = False
        self._groups: list[list[str]] = []
        self._relations: dict[tuple[str, str], _Relation] = {}
        """Results of `_relation`: that of a file to its predecessor is needed for its group and for its chain."""
        self._chains: dict[str, list[str]] = {}
        """The files that continue one another, the earliest one first, by the path of each of them."""
        by_key: dict[str, list[str]] = {}
        for path in sorted(beginnings, key=lambda path: (beginnings[path].steps[0], natural_order(path))):
            key = training_key(path)
            if (group := by_key.get(key) or self._group_of(path)) is None:
                self._groups.append(group := [])
            self._continue_chain(group, path)
            group.append(path)
            by_key.setdefault(key, group)

    def names(self) -> dict[str, str]:
        """Return the name of the training of each file; {} unless there are several."""
        if not self._several:
            return {}
        first = {id(group): min(map(os.path.basename, group), key=natural_order) for group in self._groups}
        return {path: first[id(group)] for group in self._groups for path in group}

    def attempts(self) -> dict[str, Attempt]:
        """Return the attempt of each file that another one continues, or that continues another one."""
        attempts: dict[str, Attempt] = {}
        for chain in self._chains.values():
            # A job can resume from an earlier step than the job before it; the numbers of the jobs show the order.
            by_name = sorted(chain, key=natural_order)
            numbered = by_name[0] == chain[0] and len({_DIGITS.sub("0", path) for path in chain}) == 1
            ordered = by_name if numbered else chain
            attempts |= {path: Attempt(ordered[0], number) for number, path in enumerate(ordered)}
        return attempts

    def _continue_chain(self, group: Sequence[str], path: str) -> None:
        """Add a file to the chain of the file in its group that it continues, if there is one."""
        for member in reversed(group):
            if _kind(member) == _kind(path) and self._relation(member, path) is _Relation.CONTINUED:
                chain = self._chains.setdefault(member, [member])
                chain.append(path)
                self._chains[path] = chain
                return

    def _group_of(self, path: str) -> list[str] | None:
        """Return the group of files that are of the same training, or None without a certain one."""
        equal: list[list[str]] = []
        continued: list[list[str]] = []
        for group in self._groups:
            relation = self._relation_to_group(group, path)
            if relation is not _Relation.UNKNOWN:
                self.decided.update((path, *group))
            if relation is _Relation.DIFFERENT:
                self._several = True
            elif relation is _Relation.EQUAL:
                equal.append(group)
            elif relation is _Relation.CONTINUED:
                continued.append(group)
        candidates = equal or continued
        return candidates[0] if len(candidates) == 1 else None

    def _relation_to_group(self, group: Sequence[str], path: str) -> _Relation:
        """Return the first certain relation to the members of a group, those of the same kind of output first and the
        last one of them before the others: a file is compared with its predecessor only, if it has one."""
        same_kind = [member for member in group if _kind(member) == _kind(path)]
        others = [member for member in group if member not in same_kind]
        for member in (*reversed(same_kind), *reversed(others)):
            if (relation := self._relation(member, path)) is not _Relation.UNKNOWN:
                return relation
        return _Relation.UNKNOWN

    def _relation(self, earlier: str, later: str) -> _Relation:
        """Return the relation of two files, the first of which does not begin at a later step."""
        known = self._relations.get((earlier, later))
        if known is None:
            known = self._relations[earlier, later] = self._compare(earlier, later)
        return known

    def _compare(self, earlier: str, later: str) -> _Relation:
        before, after = self._beginnings[earlier], self._beginnings[later]
        if _are_of_other_models(_validated(before.values.keys()), _validated(after.values.keys())):
            return _Relation.DIFFERENT
        if 2 * len(before.values.keys() & after.values.keys()) < len(before.values.keys() | after.values.keys()):
            return _Relation.UNKNOWN
        series: Values | None = before.values
        resumed = after.is_from_scratch is False
        if resumed and not before.whole and before.steps[-1] < after.steps[-1]:
            series = self._values_at(earlier, [*_steps_before(after.steps), *after.steps])
        if series is None:
            return _Relation.UNKNOWN
        result = _compared(series, after.values)
        if result.steps:
            return _relation_of_values(result, resumed, after)
        if before.is_from_scratch and after.is_from_scratch:
            return _Relation.DIFFERENT if after.steps[0] < before.steps[-1] else _Relation.UNKNOWN
        stride = after.steps[1] - after.steps[0] if len(after.steps) > 1 else 1
        follows = resumed and 0 < after.steps[0] - _last_step(before, series) <= 2 * stride
        return _Relation.CONTINUED if follows else _Relation.UNKNOWN


def _steps_before(steps: Sequence[int]) -> range:
    """Return some steps before the first one, at the usual distance."""
    stride = steps[1] - steps[0] if len(steps) > 1 else 1
    return range(steps[0] - _NOISE_STEPS * stride, steps[0], stride)


def _last_step(beginning: Beginning, values: Values) -> int:
    return max(beginning.steps[-1], max((max(series, default=0) for series in values.values()), default=0))


def _relation_of_values(result: _Result, resumed: bool, later: Beginning) -> _Relation:
    """Return the relation of two files that have common steps. resumed: the later one does not begin from scratch."""
    alike = 2 * result.alike >= result.metrics
    extends = later.steps[-1] > result.last_step
    if resumed and extends and result.different and alike:
        return _Relation.CONTINUED
    if 2 * result.different <= result.metrics:
        return _Relation.EQUAL if result.steps >= _SURE else _Relation.UNKNOWN
    if later.is_from_scratch is None or (resumed and not extends and result.steps < _SURE):
        return _Relation.UNKNOWN
    return _Relation.CONTINUED if resumed and alike else _Relation.DIFFERENT


@lru_cache(maxsize=4096)
def _is_predictable(metric: str) -> bool:
    """Return whether a metric is a schedule, a counter or a clock, so that its values say nothing."""
    return _PREDICTABLE.search(metric) is not None


def _validated(metrics: Collection[str]) -> set[str]:
    """Return the metrics that also have a value of the validation."""
    return {name for name in metrics if f"val_{name}" in metrics or f"val/{name}" in metrics}


def _are_of_other_models(first: set[str], second: set[str]) -> bool:
    return bool(first & second and first - second and second - first)


class _Relation(Enum):
    UNKNOWN = 0
    EQUAL = 1
    CONTINUED = 2
    DIFFERENT = 3


class _Result(Struct):
    """Comparison of the values of two files at common steps."""

    steps: int = 0
    """Number of common steps."""
    last_step: int = 0
    """Last common step."""
    metrics: int = 0
    """Number of common metrics that are no schedules or counters, and have values at common steps."""
    different: int = 0
    """Number of these metrics with different values."""
    alike: int = 0
    """Number of these metrics whose values are equal or differ as little as from step to step."""


def _compared(before: Values, after: Values) -> _Result:
    """Compare the first metrics, which is enough, because a directory can have many files."""
    steps: set[int] = set()
    result = _Result()
    for metric in sorted(before.keys() & after.keys()):
        common = sorted(before[metric].keys() & after[metric].keys())[-_COMPARED_STEPS:]
        if not common or _is_predictable(metric):
            continue
        here, there = [before[metric][step] for step in common], [after[metric][step] for step in common]
        steps.update(common)
        result.metrics += 1
        if _are_equal(here, there):
            result.alike += 1
        else:
            result.different += 1
            history = [value for step, value in sorted(before[metric].items()) if step <= common[-1]]
            result.alike += _are_alike(here, there, history[-_NOISE_STEPS:])
        if result.metrics == _COMPARED_METRICS:
            break
    result.steps, result.last_step = len(steps), max(steps, default=0)
    return result


def _are_equal(here: Sequence[float], there: Sequence[float]) -> bool:
    """Return whether values are equal up to the precision with which they are written, all but one in ten of them."""
    tolerance = 0.51 * 10.0 ** -min(_decimals(here), _decimals(there))
    same = sum(
        a == b or (a != a and b != b) or abs(a - b) <= min(tolerance, _ROUNDED * max(abs(a), abs(b), 1.0))
        for a, b in zip(here, there, strict=True)
    )
    return same >= 0.9 * len(here)


def _are_alike(here: Sequence[float], there: Sequence[float], before: Sequence[float]) -> bool:
    """Return whether values differ as little as from step to step. before: values of the first file, up to `here`."""
    pairs = [pair for pair in zip(here, there, strict=True) if all(map(math.isfinite, pair))]
    if not pairs:
        return False
    first, second = np.array(pairs, np.float64).T
    changes = np.abs(np.diff([value for value in before if math.isfinite(value)]))
    noise = 3 * np.median(changes) if len(changes) else 0.0
    return bool(np.median(np.abs(first - second)) <= max(noise, _LIKE * np.median(np.abs(first))))


def _decimals(values: Sequence[float]) -> int:
    """Return the largest number of decimals in the shortest decimal forms of values."""
    forms = (repr(value) for value in values if math.isfinite(value))
    return max((len(form.partition(".")[2]) if "e" not in form else 12 for form in forms), default=0)


def training_key(path: str) -> str:
    """Return the part of a file's name that identifies its training: without roles, processes and kinds of output."""
    return "-".join(word for word in _words(path) if not _is_kind(word))


def _kind(path: str) -> tuple[str, ...]:
    """Return the parts of a file's name that say what is in it: its suffix, role, and kind of output."""
    return os.path.splitext(path)[1], *filter(_is_kind, _words(path))


def _words(path: str) -> list[str]:
    return _WORD.split(PROCESS.sub("", os.path.splitext(os.path.basename(path))[0]))


def _is_kind(word: str) -> bool:
    return layout.is_role(word) or _OUTPUT.fullmatch(word) is not None
