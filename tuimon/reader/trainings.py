"""Read what decides which files of one directory and one format are of one training, and which of different ones.

The names alone do not say it: slurm-1001.out and slurm-1002.out are two trainings, or one that was resumed by a second
job. So the points at the beginning of each file are compared, and the last step of a file that another one may continue
(log_chains). Files of different trainings become runs of their own, and with them the other files that have points. A
file without enough points is decided again when it has more. Files that go on where another one stopped are attempts
of one training: together they are one source, in which the later attempt counts from its first step on.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from tuimon.errors import FormatError
from tuimon.formats import DocumentDecoder, Format, StreamDecoder
from tuimon.model.log_names import log_name
from tuimon.model.points import Item, Points
from tuimon.reader.compression import decompressed_head
from tuimon.reader.encoding import utf8
from tuimon.reader.log_beginning import Beginning, Values
from tuimon.reader.log_chains import PROCESS, End, LogChains, training_key
from tuimon.reader.parallel_writers import parallel_writers
from tuimon.reader.rank_paths import task_numbers
from tuimon.reader.recognition import HEAD
from tuimon.registry import FORMATS, Caught
from tuimon.sources import layout
from tuimon.sources.files import head_of, opened
from tuimon.sources.grouped_files import GroupedFile, ParallelWriters, SplitFiles

BEGINNING = 64 << 10
"""Bytes of the beginning of a file that are compared; of a document, its largest size."""
MOST_FILES = 200
"""Maximum number of files of a directory that are compared; more are not separated."""
STEPS = 256
"""Maximum number of steps at the beginning of a file that are compared."""
_LEAST_TIME = 1e8
"""Lowest wall time (s since the epoch) that is a date, not only a time of the day."""
_OF_PROCESSES = frozenset({"rank_metrics", "rank_logs", "per_rank", "ranks", "torchrun_logs"})
"""Names of directories whose files are those of processes."""


class Trainings:
    """Finds the training of each file. Reads the beginnings of the files."""

    def __init__(self) -> None:
        self.formats: dict[str, Format] = {}
        """The format of each file, by path."""
        self.undecided: set[str] = set()
        """Paths of files that had too few points when they were last compared."""
        self._beginnings: dict[str, tuple[int, Beginning | None]] = {}
        """(size, first points) by path."""
        self._ends: dict[str, tuple[int, End | None]] = {}
        """(size, end) of logs by path, of those that another log may continue."""

    def of(self, files: Sequence[GroupedFile]) -> SplitFiles:
        """Return the name of the training of each file, if there are several, and the attempts of each training.

        files: the files of one format in one directory."""
        logs = {live: self.in_order(paths) for live, paths in _logs(files).items()}
        if len(logs) < 2 or len(logs) > MOST_FILES or _are_processes(list(logs)):
            return SplitFiles()
        beginnings = {live: beginning for live in logs if (beginning := self._beginning(logs[live][0])) is not None}
        chains = LogChains(beginnings, lambda live: self._end_of(logs[live][-1]))
        names, attempts = chains.names(), chains.attempts()
        for live, paths in logs.items():
            has_steps = live in beginnings and len(beginnings[live].steps) > 1
            (self.undecided.difference_update if has_steps else self.undecided.update)(paths)
        for live in logs.keys() - beginnings.keys() if names else ():
            if (name := _training_beside(live, names)) is not None:
                names[live] = name
        return SplitFiles(
            {path: names[live] for live, paths in logs.items() if live in names for path in paths},
            {path: attempts[live] for live, paths in logs.items() if live in attempts for path in paths},
        )

    def writers(self, files: Sequence[GroupedFile]) -> ParallelWriters:
        """Return the programs that wrote event files of one directory at the same time."""
        paths = [file.path for file in files if file.path in self.formats]
        if len(paths) < 2 or len(paths) > MOST_FILES:
            return ParallelWriters()
        beginnings = {path: beginning for path in paths if (beginning := self._beginning(path)) is not None}
        self.undecided.difference_update(beginnings)
        self.undecided.update(path for path in paths if path not in beginnings)
        return parallel_writers(beginnings)

    def are_processes(self, files: Sequence[GroupedFile]) -> bool:
        """Return whether files of one directory are named after the processes of one job."""
        return _are_processes(list(_logs(files)))

    def in_order(self, paths: Sequence[str]) -> Sequence[str]:
        """Return the files of a rotated log from the oldest to the newest.

        A higher number is older, unless times, or else steps, rise with the numbers of all files."""
        if len(paths) < 2:
            return paths
        by_age = sorted(paths, key=lambda path: log_name(path).age)
        numbered = [path for path in by_age if log_name(path).age[0]]
        starts = [self._beginning(path) for path in reversed(numbered)]
        known = [start for start in starts if start is not None]
        if len(known) < 2 or len(known) < len(starts):
            return by_age
        times = [min(start.times.values(), default=math.nan) for start in known]
        keys = [start.steps[0] for start in known] if any(map(math.isnan, times)) else times
        if not all(before < after for before, after in pairwise(keys)):
            return by_age
        return [*reversed(numbered), *by_age[len(numbered) :]]

    def has_points(self, path: str) -> bool:
        """Return whether the beginning or the end of a log has a point."""
        return self._beginning(path) is not None or self._end_of(path) is not None

    def _beginning(self, path: str) -> Beginning | None:
        """Return the first points of a file; None if it has none or cannot be read."""
        size, known = self._beginnings.get(path, (-1, None))
        if size < BEGINNING and (now := _size(path)) != size:
            known = _first_points(_items(self.formats[path], *_first_bytes(path, BEGINNING)))
            self._beginnings[path] = now, known
        return known

    def _end_of(self, path: str) -> End | None:
        """Return the last step of a log and its time, from its last bytes; None without points there."""
        size = _size(path)
        known = self._ends.get(path)
        if known is None or known[0] != size:
            known = self._ends[path] = size, _last_point(_last_items(self.formats[path], path, size))
        return known[1]


def _size(path: str) -> int:
    """Return the size of a file in bytes; 0 if it cannot be read."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _first_bytes(path: str, limit: int) -> tuple[bytes, bool]:
    """Return (the first bytes of a file, at most `limit`, in UTF-8; whether that is all). (b"", False) on an error."""
    data = head_of(path, limit)
    if log_name(path).compressed:
        return utf8(decompressed_head(data, limit)), False
    return utf8(data), len(data) < limit


def _items(log_format: Format, data: bytes, whole: bool) -> list[Item]:
    """Decode the beginning of a file, as far as its decoder does not raise; nothing of an unsupported format."""
    items: list[Item] = []
    if log_format.unsupported:
        return items
    with Caught(FORMATS, log_format, _ignored), suppress(FormatError):
        decoder = log_format.decoder()
        if isinstance(decoder, StreamDecoder):
            items += decoder.feed(data)
            if whole:
                items += decoder.flush()
            if decoder.awaits_end:
                items += decoder.end()
        elif isinstance(decoder, DocumentDecoder) and whole:
            items += decoder.load(data)
    return items


def _ignored(reason: str, hint: str) -> None:
    """Say nothing of a failure: it is said when the log itself is read."""


def _values(items: Iterable[Item]) -> Values:
    """Return the values by metric and step."""
    values: Values = defaultdict(dict)
    for item in items:
        if isinstance(item, Points):
            columns = item.metric.tolist(), item.steps.tolist(), item.values.tolist()
            for metric, step, value in zip(*columns, strict=True):
                values[item.names[metric]][step] = value
    return values


def _first_points(items: Sequence[Item]) -> Beginning | None:
    """Return the first points of a file; None without points."""
    values = _values(items)
    steps = sorted({step for series in values.values() for step in series})[:STEPS]
    if not steps:
        return None
    first = {m: {s: v for s, v in series.items() if s <= steps[-1]} for m, series in values.items()}
    times: dict[int, float] = {}
    for item in items:
        if isinstance(item, Points):
            pairs = zip(item.steps.tolist(), item.wall_times.tolist(), strict=True)
            times |= {step: time for step, time in pairs if step <= steps[-1] and time > _LEAST_TIME}
    return Beginning({m: series for m, series in first.items() if series}, steps, times)


def _last_items(log_format: Format, path: str, size: int) -> Sequence[Item]:
    """Return the items in the last bytes of a file, from the beginning of a line on; () if it cannot be read."""
    if size <= BEGINNING or log_name(path).compressed:
        return _items(log_format, *_first_bytes(path, BEGINNING))
    try:
        with opened(path) as (descriptor, status):
            head, data = (
                os.pread(descriptor, HEAD, 0),
                os.pread(descriptor, BEGINNING, max(status.st_size - BEGINNING, 0)),
            )
    except OSError:
        return ()
    head, data = utf8(head), utf8(data)
    if log_format.tail is None:
        return _items(log_format, data[data.find(b"\n") + 1 :], False)
    with Caught(FORMATS, log_format, _ignored):
        return log_format.tail(head, data)
    return ()


def _last_point(items: Iterable[Item]) -> End | None:
    """Return the highest step, and the highest wall time that is a date."""
    points = [item for item in items if isinstance(item, Points) and len(item.steps)]
    times = [time for item in points for time in item.wall_times.tolist() if time > _LEAST_TIME]
    return (max(int(item.steps.max()) for item in points), max(times, default=math.nan)) if points else None


def _logs(files: Sequence[GroupedFile]) -> dict[str, list[str]]:
    """Return the paths of the files of each log by the path of the log that is written now."""
    logs: dict[str, list[str]] = defaultdict(list)
    for file in files:
        logs[file.joined or file.path].append(file.path)
    return logs


def _are_processes(paths: list[str]) -> bool:
    """Return whether files of one directory are named after the processes of one job."""
    directory = os.path.dirname(paths[0])
    if layout.is_rank(os.path.basename(directory)) or os.path.basename(directory).lower() in _OF_PROCESSES:
        return True
    names = [os.path.basename(path) for path in paths]
    if all(map(PROCESS.search, names)) and len({PROCESS.sub("", name) for name in names}) == 1:
        return True
    return bool(task_numbers(directory, paths))


def _training_beside(path: str, names: Mapping[str, str]) -> str | None:
    """Return the training of a file without points: that of the files with the same name or job, if there is one."""
    key, job = training_key(path), layout.job_number(os.path.basename(path))
    same_name = {name for other, name in names.items() if key and training_key(other) == key}
    same_job = {name for other, name in names.items() if job and layout.job_number(os.path.basename(other)) == job}
    found = same_name or same_job
    return found.pop() if len(found) == 1 else None
