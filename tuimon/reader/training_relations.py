"""Relations between the first points of log files: one training, its continuation, or different trainings.

See `tuimon.reader.trainings` for the rules. Pure functions of names and points; no file is read here."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tuimon.reader.training_concepts import relation_by_concepts
from tuimon.reader.training_values import NOISE_STEPS, Beginning, Relation, Result, Values, compared
from tuimon.sources import layout
from tuimon.sources.grouped_files import Attempt, natural_order

STEPS = 256
"""Number of steps at the beginning of a file that are compared."""
_SURE = 5
"""Number of common steps with equal values from which on two files are of one training for good."""
_SAME_TIME = 60.0
"""Difference (s) up to which the last time in a file and the first one in another do not decide their order."""
_JOB = re.compile(r"([0-9]+)(?:_([0-9]+))?")
PROCESS = re.compile(r"(?:global|local|log)?[-_]?(?:rank|worker|node|host|gpu|proc|process)[-_]?\d+", re.IGNORECASE)
"""The part of a file's name that identifies a process of a job."""
_WORD = re.compile(r"[-_. ]+")
_DIGITS = re.compile(r"[0-9]+")
_OUTPUT = re.compile(r"stdout|stderr|out|err|logs?|console|output|txt", re.IGNORECASE)


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
        self._relations: dict[tuple[str, str], Relation] = {}
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
            if _kind(member) == _kind(path) and self._relation(member, path) is Relation.CONTINUED:
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
            if relation is not Relation.UNKNOWN:
                self.decided.update((path, *group))
            if relation is Relation.DIFFERENT:
                self._several = True
            elif relation is Relation.EQUAL:
                equal.append(group)
            elif relation is Relation.CONTINUED:
                continued.append(group)
        candidates = equal or self._most_likely(continued, path)
        return candidates[0] if len(candidates) == 1 else None

    def _most_likely(self, groups: list[list[str]], path: str) -> list[list[str]]:
        """Return those of several groups whose job a file can continue by the numbers in their names: the numbers of
        jobs rise, and the task of an array continues the task with its number."""
        job, task = _job(path)
        if len(groups) < 2 or job is None:
            return groups
        continued = [
            [_job(member) for member in group if self._relation(member, path) is Relation.CONTINUED] for group in groups
        ]
        fits = [
            any(other is not None and other < job and number == task for other, number in jobs) for jobs in continued
        ]
        return [group for group, fit in zip(groups, fits, strict=True) if fit]

    def _relation_to_group(self, group: Sequence[str], path: str) -> Relation:
        """Return the first certain relation to the members of a group, those of the same kind of output first and the
        last one of them before the others: a file is compared with its predecessor only, if it has one."""
        same_kind = [member for member in group if _kind(member) == _kind(path)]
        others = [member for member in group if member not in same_kind]
        for member in (*reversed(same_kind), *reversed(others)):
            if (relation := self._relation(member, path)) is not Relation.UNKNOWN:
                return relation
        return Relation.UNKNOWN

    def _relation(self, earlier: str, later: str) -> Relation:
        """Return the relation of two files, the first of which does not begin at a later step."""
        known = self._relations.get((earlier, later))
        if known is None:
            known = self._relations[earlier, later] = self._compare(earlier, later)
        return known

    def _compare(self, earlier: str, later: str) -> Relation:
        before, after = self._beginnings[earlier], self._beginnings[later]
        if _are_of_other_models(_validated(before.values.keys()), _validated(after.values.keys())):
            return Relation.DIFFERENT
        if 2 * len(before.values.keys() & after.values.keys()) < len(before.values.keys() | after.values.keys()):
            return relation_by_concepts(before, after)
        series: Values | None = before.values
        resumed = after.is_from_scratch is False
        if resumed and not before.whole and before.steps[-1] < after.steps[-1]:
            series = self._values_at(earlier, [*_steps_before(after.steps), *after.steps])
        if series is None:
            return Relation.UNKNOWN
        result = compared(series, after.values)
        if result.steps:
            relation = _relation_of_values(result, resumed, after)
            if relation is Relation.CONTINUED and _were_written_together(before, after):
                return Relation.DIFFERENT
            return relation
        if before.is_from_scratch and after.is_from_scratch:
            return Relation.DIFFERENT if after.steps[0] < before.steps[-1] else Relation.UNKNOWN
        stride = after.steps[1] - after.steps[0] if len(after.steps) > 1 else 1
        follows = resumed and 0 < after.steps[0] - _last_step(before, series) <= 2 * stride
        follows = follows and not _were_written_together(before, after)
        return Relation.CONTINUED if follows else Relation.UNKNOWN


def _were_written_together(before: Beginning, after: Beginning) -> bool:
    """Return whether a file was still written when another one began, so that this one cannot continue it."""
    if not (before.times and after.times):
        return False
    return max(before.times.values()) > min(after.times.values()) + _SAME_TIME


def _job(path: str) -> tuple[int | None, int | None]:
    """Return (number of the job, number of its task in an array) in the name of a file, as far as it has them."""
    match = _JOB.fullmatch(layout.job_number(os.path.basename(path)))
    return (int(match[1]), int(match[2]) if match[2] else None) if match else (None, None)


def _steps_before(steps: Sequence[int]) -> range:
    """Return some steps before the first one, at the usual distance."""
    stride = steps[1] - steps[0] if len(steps) > 1 else 1
    return range(steps[0] - NOISE_STEPS * stride, steps[0], stride)


def _last_step(beginning: Beginning, values: Values) -> int:
    return max(beginning.steps[-1], max((max(series, default=0) for series in values.values()), default=0))


def _relation_of_values(result: Result, resumed: bool, later: Beginning) -> Relation:
    """Return the relation of two files that have common steps. resumed: the later one does not begin from scratch."""
    alike = 2 * result.alike >= result.metrics
    extends = later.steps[-1] > result.last_step
    if resumed and extends and result.different and alike:
        return Relation.CONTINUED
    if 2 * result.different <= result.metrics:
        return Relation.EQUAL if result.steps >= _SURE else Relation.UNKNOWN
    if later.is_from_scratch is None or (resumed and not extends and result.steps < _SURE):
        return Relation.UNKNOWN
    return Relation.CONTINUED if resumed and alike else Relation.DIFFERENT


def _validated(metrics: Collection[str]) -> set[str]:
    """Return the metrics that also have a value of the validation."""
    return {name for name in metrics if f"val_{name}" in metrics or f"val/{name}" in metrics}


def _are_of_other_models(first: set[str], second: set[str]) -> bool:
    return bool(first & second and first - second and second - first)


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
