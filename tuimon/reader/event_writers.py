"""Find event files of one directory that several processes wrote at the same time, such as trainings on two hosts.

The name of an event file holds the host that writes it and, unless tensorboardX writes it, the process. Two files are
of parallel writers if they have values of one metric at the same steps, and each logged these steps before the other
one ended. A resumed job repeats steps after the end of the file that it continues, so that it is not parallel to it.

Parallel writers are of one training if they have equal values, or like values at the same times: the processes of a
training wait for one another at each step, while two trainings drift apart.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations

import numpy as np
from msgspec import Struct

from tuimon.formats import Format
from tuimon.model.points import Points
from tuimon.reader.training_values import Beginning, compared
from tuimon.sources.files import open_regular
from tuimon.sources.grouped_files import ParallelWriters, natural_order

_NAME = re.compile(r".*tfevents\.(?P<time>\d+)\.(?P<host>.+?)(?:\.(?P<process>\d+)\.\d+(?:\.v2)?)?")
"""TensorBoard's name of an event file; tensorboardX writes no process."""
_LEAST_STEPS = 5
"""Number of common steps from which on two files are compared."""
_SURE_STEPS = 128
"""Number of common steps up to which two trainings can log at the same times by chance."""
_DRIFT = 0.02
"""Median deviation of the delay between two processes of one training, as a part of the time between their steps."""
_TAIL = 64 << 10
"""Bytes of the end of a file in which its last wall time is searched for."""
_MOST_FILES = 64
"""Maximum number of files of a directory that are compared: each pair takes up to 0.2 ms."""
_FIRST_FLUSH = 600.0
"""Time (s) within which a process that has created its file writes the first points to it."""


class _File(Struct, frozen=True):
    path: str
    host: str
    process: str
    started: float
    """Time in its name (s since the epoch)."""
    modified: float
    """Time of its last change (s since the epoch)."""
    size: int

    @property
    def latest_end(self) -> float:
        """Time (s since the epoch) until which its process may have written, as far as its status shows."""
        return self.modified + (_FIRST_FLUSH if self.size < _TAIL else 0)


class _Comparison(Struct, frozen=True):
    """Result of the comparison of two files."""

    are_parallel: bool = False
    """Whether two processes wrote them at the same time."""
    are_alike: bool = False
    """Whether they are of one training."""
    is_sure: bool = True
    """Whether more points do not change the result."""


class EventWriters:
    """Compares the event files of a directory, to find those that processes wrote at the same time."""

    def __init__(self, beginning: Callable[[str], Beginning | None], is_long: Callable[[str], bool]) -> None:
        """beginning: returns the first points of a file. is_long: returns whether these do not change any more."""
        self._beginning = beginning
        self._is_long = is_long
        self._ends: dict[str, tuple[float, float]] = {}
        """(time of the last change, end of the writing) by path."""

    def of(self, paths: Sequence[str], log_format: Format) -> tuple[ParallelWriters, set[str]]:
        """Return the parallel writers of some files, and the paths of those with too few points to know it."""
        files = sorted(filter(None, map(_file_of, paths)), key=lambda file: (file.started, natural_order(file.path)))
        undecided: set[str] = set()
        alike: dict[tuple[str, str], bool] = {}
        beginning = cache(self._beginning)  # which reads the file each time, and a file is part of many pairs
        for first, second in combinations(files if len(files) <= _MOST_FILES else (), 2):
            # The times are compared first, because a training that was resumed many times has many files.
            if second.started > first.latest_end + 1 or second.started > self._end(first, log_format) + 1:
                continue
            ends = self._end(first, log_format), self._end(second, log_format)
            result = _compared(beginning(first.path), beginning(second.path), ends)
            if not result.is_sure:
                undecided |= {file.path for file in (first, second) if not self._is_long(file.path)}
            if result.are_parallel:
                alike[first.path, second.path] = result.are_alike
        writers: list[list[_File]] = []
        for file in files if alike else ():
            free = [own for own in writers if not any((other.path, file.path) in alike for other in own)]
            if free:
                max(free, key=lambda own: _likeness(own[-1], file)).append(file)
            else:
                writers.append([file])
        names = {file.path: _name(own[0], writers) for own in writers for file in own}
        return ParallelWriters(names, all(alike.values())), undecided

    def _end(self, file: _File, log_format: Format) -> float:
        """Return the last wall time at the end of a file, or the time until which its first points are expected."""
        known = self._ends.get(file.path)
        if known is None or known[0] != file.modified:
            items = log_format.tail(b"", _last_bytes(file.path)) if log_format.tail is not None else ()
            times = [time for item in items if isinstance(item, Points) for time in item.wall_times.tolist()]
            end = max(filter(math.isfinite, times), default=file.latest_end)
            known = self._ends[file.path] = file.modified, end
        return known[1]


def _compared(here: Beginning | None, there: Beginning | None, ends: tuple[float, float]) -> _Comparison:
    """Compare the values and times at the common steps. ends: the last wall times of the files."""
    if here is None or there is None:
        return _Comparison(is_sure=False)
    if here.values.keys().isdisjoint(there.values.keys()):
        return _Comparison()
    common = [step for step in here.steps if step in here.times and step in there.times]
    if len(common) < _LEAST_STEPS or (result := compared(here.values, there.values)).steps < _LEAST_STEPS:
        return _Comparison(is_sure=False)
    pairs = [(here.times[step], there.times[step]) for step in common]
    together = sum(ours < ends[1] and theirs < ends[0] for ours, theirs in pairs)
    if 2 * together <= len(pairs):
        return _Comparison()
    if not result.different:
        return _Comparison(are_parallel=True, are_alike=True)
    alike = 2 * result.alike >= result.metrics and _log_at_the_same_times(pairs)
    return _Comparison(are_parallel=True, are_alike=alike, is_sure=not alike or len(common) >= _SURE_STEPS)


def _log_at_the_same_times(pairs: Sequence[tuple[float, float]]) -> bool:
    """Return whether two processes log each step with the same delay. pairs: their wall times of each step."""
    times = np.array(pairs)
    delays = times[:, 1] - times[:, 0]
    deviation = np.median(np.abs(delays - np.median(delays)))
    return bool(deviation <= _DRIFT * np.median(np.diff(times[:, 0])))


def _file_of(path: str) -> _File | None:
    match = _NAME.fullmatch(os.path.basename(path))
    if match is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _File(path, match["host"], match["process"] or "", float(match["time"]), status.st_mtime, status.st_size)


def _likeness(last: _File, file: _File) -> tuple[bool, bool]:
    """Sort key of writers by the likelihood that a file is theirs. last: the last file of the writer."""
    same_host = last.host == file.host
    return same_host and last.process == file.process, same_host


def _name(first: _File, writers: Sequence[Sequence[_File]]) -> str:
    """Return the host of a writer, with its process if others have this host, or the end of the file's name if others
    have both."""
    others = [own[0] for own in writers if own[0] is not first and own[0].host == first.host]
    if not others:
        return first.host
    if first.process and all(other.process != first.process for other in others):
        return f"{first.host}.{first.process}"
    return os.path.basename(first.path).partition("tfevents.")[2]


def _last_bytes(path: str) -> bytes:
    try:
        descriptor, status = open_regular(path)
        try:
            return os.pread(descriptor, _TAIL, max(0, status.st_size - _TAIL))
        finally:
            os.close(descriptor)
    except OSError:
        return b""
