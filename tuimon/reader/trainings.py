"""Decide which files of one directory and one format are of one training, and which of different ones.

The names alone do not say it: slurm-1001.out and slurm-1002.out are two trainings, or one that was resumed by a second
job. So the points at the beginning of each file are compared. Two files are

- of one training if their names differ only by the process or the kind of output (slurm-1001.out and .err, rank_0.log
  and rank_1.log, train.csv and val.csv), if their values are equal at common steps, or if one of them goes on where
  the other one has been: it does not begin at its first possible step, and repeats a few steps at most, with values
  like those of the other file;
- of different trainings if most of their common metrics have different values at common steps, or if both begin at
  their first possible steps and have no step in common, or if they are of different models: both have the training and
  the validation value of a common metric, and each has such a pair that the other lacks (loss and accuracy; loss and
  mae);
- undecided otherwise, also if most metrics of one file do not occur in the other.

Files of different trainings become runs of their own, and with them the other files that have points. A file without
enough points is decided again when it has more.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache

import numpy as np
from msgspec import Struct

from tuimon.errors import FormatError
from tuimon.formats import DocumentDecoder, Format, StreamDecoder
from tuimon.model.log_names import log_name
from tuimon.model.points import Item, Points
from tuimon.reader.compression import decompressed_head
from tuimon.reader.encoding import utf8
from tuimon.reader.rank_paths import task_numbers
from tuimon.sources import layout
from tuimon.sources.files import open_regular
from tuimon.sources.grouped_files import GroupedFile, natural_order

BEGINNING = 64 << 10
"""Bytes of the beginning of a file that are compared; of a document, its largest size."""
MOST_FILES = 200
"""Maximum number of files of a directory that are compared; more are not told apart."""
_STEPS = 256
"""Number of steps at the beginning of a file that are compared."""
_SURE = 5
"""Number of common steps with equal values from which on two files are of one training for good."""
_LIKE = 0.1
"""Relative difference up to which values of a resumed training are like those before."""
_COMPARED_STEPS, _COMPARED_METRICS = 16, 8
"""Maximum number of common steps, the last ones, and of metrics that are compared."""
_ROUNDED = 5e-3
"""Relative difference of two values (absolute below 1) that can be due to rounding."""
_SEARCHED = 8 << 20
"""Largest size (bytes) of a file that is searched for the steps at which another one goes on."""
_OF_PROCESSES = frozenset({"rank_metrics", "rank_logs", "per_rank", "ranks", "torchrun_logs"})
"""Names of directories whose files are those of processes."""
_PROCESS = re.compile(r"(?:global|local|log)?[-_]?(?:rank|worker|node|host|gpu|proc|process)[-_]?\d+", re.IGNORECASE)
"""The part of a file's name that identifies a process of a job."""
_WORD = re.compile(r"[-_. ]+")
_OUTPUT = re.compile(r"stdout|stderr|out|err|logs?|console|output|txt", re.IGNORECASE)
_PREDICTABLE = re.compile(
    r"(?:^|[_/ ])(?:lr|learning[_ ]rate|wd|weight_decay|momentum)(?:_[a-z0-9]+)?$|(?:^|/)"
    r"(?:epoch|(?:global_)?steps?|iter(?:ation)?s?|time|wall_time|timestamp|elapsed|num_tokens|samples|tokens|episodes?)$",
    re.IGNORECASE,
)


class Beginning(Struct, frozen=True):
    """The first points of a file."""

    values: Mapping[str, Mapping[int, float]]
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


class Trainings:
    """Finds the training of each file. Reads the beginnings of the files."""

    def __init__(self) -> None:
        self.formats: dict[str, Format] = {}
        """The format of each file, by path."""
        self.undecided: set[str] = set()
        """Paths of files that had too few points when they were last compared."""
        self._beginnings: dict[str, tuple[int, Beginning | None]] = {}
        """(bytes read, first points) by path."""

    def of(self, files: Sequence[GroupedFile]) -> dict[str, str]:
        """Return the name of the training of each file, that of one of its files; {} unless there are several.

        files: the files of one format in one directory. Files without points of an unknown training are missing."""
        logs = _logs(files)
        if len(logs) < 2 or len(logs) > MOST_FILES or _are_processes(list(logs)):
            return {}
        found = {live: beginning for live in logs if (beginning := self._beginning(logs[live][0])) is not None}
        comparison = _Comparison(found, self._values_at)
        names = comparison.names()
        sure = {live for live in logs if live in comparison.decided or self._is_long(logs[live][0])}
        for live, paths in logs.items():
            (self.undecided.difference_update if live in sure else self.undecided.update)(paths)
        if not names:
            return {}
        for live in logs.keys() - found.keys():
            if (name := _training_beside(live, names)) is not None:
                names[live] = name
        return {path: names[live] for live, paths in logs.items() if live in names for path in paths}

    def each(self, files: Sequence[GroupedFile]) -> dict[str, str]:
        """Return a name for each file, so that it is a run of its own; the same one for the parts of a rotated log.

        {} for the files of the processes of one job."""
        logs = _logs(files)
        if len(logs) > 1 and _are_processes(list(logs)):
            return {}
        return {path: os.path.basename(live) for live, paths in logs.items() for path in paths}

    def _is_long(self, path: str) -> bool:
        return self._beginnings.get(path, (0, None))[0] >= BEGINNING

    def _beginning(self, path: str) -> Beginning | None:
        """Return the first points of a file; None if it has none or cannot be read."""
        size, known = self._beginnings.get(path, (-1, None))
        if size >= BEGINNING:
            return known
        data, whole = _first_bytes(path, BEGINNING)
        if len(data) != size:
            values = _values(self.formats[path], data, whole)
            steps = sorted({step for series in values.values() for step in series})
            known = None
            if steps:
                whole = whole and len(steps) <= _STEPS
                last = steps[: _STEPS + 1][-1]
                first = {m: {s: v for s, v in series.items() if s <= last} for m, series in values.items()}
                known = Beginning({m: series for m, series in first.items() if series}, steps[:_STEPS], whole)
            self._beginnings[path] = len(data), known
        return known

    def _values_at(self, live: str, steps: Iterable[int]) -> dict[str, dict[int, float]] | None:
        """Return the values of a file at some steps; None if it is too long to be searched."""
        data, whole = _first_bytes(live, _SEARCHED)
        if not whole:
            return None
        wanted = frozenset(steps)
        found = _values(self.formats[live], data, whole) if live in self.formats else {}
        return {m: {s: v for s, v in series.items() if s in wanted} for m, series in found.items()}


class _Comparison:
    """The trainings of some files."""

    def __init__(
        self,
        beginnings: Mapping[str, Beginning],
        values_at: Callable[[str, Iterable[int]], dict[str, dict[int, float]] | None],
    ) -> None:
        """beginnings: by path. values_at: returns the values of a file at some steps, if it can."""
        self._beginnings = beginnings
        self._values_at = values_at
        self.decided: set[str] = set()
        """Paths of files that are certainly of one training with another file, or not."""
        self._several = False
        self._groups: list[list[str]] = []
        by_key: dict[str, list[str]] = {}
        for path in sorted(beginnings, key=lambda path: (beginnings[path].steps[0], natural_order(path))):
            key = _key(path)
            if (group := by_key.get(key) or self._group_of(path)) is None:
                self._groups.append(group := [])
            group.append(path)
            by_key.setdefault(key, group)

    def names(self) -> dict[str, str]:
        """Return the name of the training of each file; {} unless there are several."""
        if not self._several:
            return {}
        first = {id(group): min(map(os.path.basename, group), key=natural_order) for group in self._groups}
        return {path: first[id(group)] for group in self._groups for path in group}

    def _group_of(self, path: str) -> list[str] | None:
        """Return the group of files that are of the same training, or None without a certain one."""
        equal: list[list[str]] = []
        continued: list[list[str]] = []
        for group in self._groups:
            relations: set[_Relation] = set()
            for member in group:
                relations.add(relation := self._relation(member, path))
                if relation is _Relation.DIFFERENT:
                    break
            if relations != {_Relation.UNKNOWN}:
                self.decided.update((path, *group))
            if _Relation.DIFFERENT in relations:
                self._several = True
            elif _Relation.EQUAL in relations:
                equal.append(group)
            elif _Relation.CONTINUED in relations:
                continued.append(group)
        found = equal or continued
        return found[0] if len(found) == 1 else None

    def _relation(self, earlier: str, later: str) -> _Relation:
        """Compare two files, the first of which does not begin at a later step."""
        one, other = self._beginnings[earlier], self._beginnings[later]
        if _are_of_other_models(_validated(one.values.keys()), _validated(other.values.keys())):
            return _Relation.DIFFERENT
        if 2 * len(one.values.keys() & other.values.keys()) < len(one.values.keys() | other.values.keys()):
            return _Relation.UNKNOWN
        series: Mapping[str, Mapping[int, float]] | None = one.values
        resumed = other.is_from_scratch is False
        if resumed and not one.whole and one.steps[-1] < other.steps[-1]:
            series = self._values_at(earlier, other.steps)
        if series is None:
            return _Relation.UNKNOWN
        result = _compared(series, other.values)
        if result.steps:
            if 2 * result.different <= result.metrics:
                return _Relation.EQUAL if result.steps >= _SURE else _Relation.UNKNOWN
            likely = resumed and 2 * result.alike >= result.metrics
            return _Relation.CONTINUED if likely else _Relation.DIFFERENT
        if one.is_from_scratch and other.is_from_scratch:
            return _Relation.DIFFERENT if other.steps[0] < one.steps[-1] else _Relation.UNKNOWN
        stride = other.steps[1] - other.steps[0] if len(other.steps) > 1 else 1
        return (
            _Relation.CONTINUED if resumed and 0 < other.steps[0] - one.steps[-1] <= 2 * stride else _Relation.UNKNOWN
        )


@lru_cache(maxsize=4096)
def _is_predictable(metric: str) -> bool:
    """Return whether a metric is a schedule, a counter or a clock, so that its values say nothing."""
    return _PREDICTABLE.search(metric) is not None


def _validated(metrics: Collection[str]) -> set[str]:
    """Return the metrics that also have a value of the validation."""
    return {name for name in metrics if f"val_{name}" in metrics or f"val/{name}" in metrics}


def _are_of_other_models(one: set[str], other: set[str]) -> bool:
    return bool(one & other and one - other and other - one)


class _Relation(Enum):
    UNKNOWN = 0
    EQUAL = 1
    CONTINUED = 2
    DIFFERENT = 3


class _Result(Struct):
    """Comparison of the values of two files at common steps."""

    steps: int = 0
    """Number of common steps."""
    metrics: int = 0
    """Number of common metrics that are no schedules or counters, and have values at common steps."""
    different: int = 0
    """Number of these metrics with different values."""
    alike: int = 0
    """Number of these metrics whose values are equal or differ as little as from step to step."""


def _compared(one: Mapping[str, Mapping[int, float]], other: Mapping[str, Mapping[int, float]]) -> _Result:
    """Compare the first metrics, which is enough, because a directory can have many files."""
    steps: set[int] = set()
    result = _Result()
    for metric in sorted(one.keys() & other.keys()):
        common = sorted(one[metric].keys() & other[metric].keys())[-_COMPARED_STEPS:]
        if not common or _is_predictable(metric):
            continue
        here, there = [one[metric][step] for step in common], [other[metric][step] for step in common]
        steps.update(common)
        result.metrics += 1
        if _are_equal(here, there):
            result.alike += 1
        else:
            result.different += 1
            result.alike += _are_alike(here, there)
        if result.metrics == _COMPARED_METRICS:
            break
    result.steps = len(steps)
    return result


def _are_equal(here: Sequence[float], there: Sequence[float]) -> bool:
    """Return whether values are equal up to the precision with which they are written, all but one in ten of them."""
    tolerance = 0.51 * 10.0 ** -min(_decimals(here), _decimals(there))
    same = sum(
        a == b or (a != a and b != b) or abs(a - b) <= min(tolerance, _ROUNDED * max(abs(a), abs(b), 1.0))
        for a, b in zip(here, there, strict=True)
    )
    return same >= 0.9 * len(here)


def _are_alike(here: Sequence[float], there: Sequence[float]) -> bool:
    pairs = [pair for pair in zip(here, there, strict=True) if all(map(math.isfinite, pair))]
    if not pairs:
        return False
    first, second = np.array(pairs, np.float64).T
    noise = 3 * np.median(np.abs(np.diff(first))) if len(pairs) > 1 else 0.0
    return bool(np.median(np.abs(first - second)) <= max(noise, _LIKE * np.median(np.abs(first))))


def _decimals(values: Sequence[float]) -> int:
    """Return the largest number of decimals in the shortest decimal forms of values."""
    forms = (repr(value) for value in values if math.isfinite(value))
    return max((len(form.partition(".")[2]) if "e" not in form else 12 for form in forms), default=0)


def _first_bytes(path: str, limit: int) -> tuple[bytes, bool]:
    """Return (the first bytes of a file, at most `limit`, in UTF-8; whether that is all). (b"", False) on an error."""
    try:
        descriptor, status = open_regular(path)
        try:
            data = os.pread(descriptor, limit, 0)
        finally:
            os.close(descriptor)
    except OSError:
        return b"", False
    if log_name(path).compressed:
        data = decompressed_head(data, limit)
        return utf8(data), False
    return utf8(data), len(data) >= status.st_size


def _values(log_format: Format, data: bytes, whole: bool) -> dict[str, dict[int, float]]:
    """Return the values at the beginning of a file by metric and step."""
    values: dict[str, dict[int, float]] = defaultdict(dict)
    decoder = log_format.decoder()
    items: list[Item] = []
    if isinstance(decoder, StreamDecoder):
        items += decoder.feed(data)
        if whole:
            items += decoder.flush()
    elif isinstance(decoder, DocumentDecoder) and whole:
        with suppress(FormatError):
            items += decoder.load(data)
    for item in items:
        if isinstance(item, Points):
            columns = item.metric.tolist(), item.steps.tolist(), item.values.tolist()
            for metric, step, value in zip(*columns, strict=True):
                values[item.names[metric]][step] = value
    return values


def _logs(files: Sequence[GroupedFile]) -> dict[str, list[str]]:
    """Return the paths of the files of each log, the oldest one first, by the path of the log that is written now."""
    logs: dict[str, list[str]] = defaultdict(list)
    for file in sorted(files, key=lambda file: log_name(file.path).age):
        logs[file.joined or file.path].append(file.path)
    return logs


def _are_processes(paths: list[str]) -> bool:
    """Return whether files of one directory are named after the processes of one job."""
    directory = os.path.dirname(paths[0])
    if layout.is_rank(os.path.basename(directory)) or os.path.basename(directory).lower() in _OF_PROCESSES:
        return True
    names = [os.path.basename(path) for path in paths]
    if all(map(_PROCESS.search, names)) and len({_PROCESS.sub("", name) for name in names}) == 1:
        return True
    return bool(task_numbers(directory, paths))


def _key(path: str) -> str:
    """Return the part of a file's name that identifies its training: without roles, processes and kinds of output."""
    stem = _PROCESS.sub("", os.path.splitext(os.path.basename(path))[0])
    words = (word for word in _WORD.split(stem) if not (layout.is_role(word) or _OUTPUT.fullmatch(word)))
    return "-".join(words)


def _training_beside(path: str, names: Mapping[str, str]) -> str | None:
    """Return the training of a file without points: that of the files with the same name or job, if there is one."""
    key, job = _key(path), layout.job_number(os.path.basename(path))
    same_name = {name for other, name in names.items() if key and _key(other) == key}
    same_job = {name for other, name in names.items() if job and layout.job_number(os.path.basename(other)) == job}
    found = same_name or same_job
    return found.pop() if len(found) == 1 else None
