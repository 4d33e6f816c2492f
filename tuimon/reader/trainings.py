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
  mae), or if they name most metrics differently and their losses or rewards show it (training_concepts);
- undecided otherwise.

A file does not go on where another one has been if this one was still written when it began. If it could continue
several ones, the numbers of jobs and of the tasks of an array in their names decide.

Files of different trainings become runs of their own, and with them the other files that have points. A file without
enough points is decided again when it has more. Console texts beside metric files stay with them.

Files that go on where another one has been are attempts of one training: together they are one source, in which the
values of the later attempt supersede those that the earlier one has from this step on.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from tuimon.errors import FormatError
from tuimon.formats import DocumentDecoder, Format, StreamDecoder
from tuimon.model.log_names import log_name
from tuimon.model.points import Fact, Item, Points, Topic
from tuimon.reader.compression import decompressed_head
from tuimon.reader.encoding import utf8
from tuimon.reader.neighbours import other_logs
from tuimon.reader.parallel_writers import parallel_writers
from tuimon.reader.rank_paths import task_numbers
from tuimon.reader.recognition import COMPANION
from tuimon.reader.training_relations import PROCESS, STEPS, Comparison, training_key
from tuimon.reader.training_values import Beginning, Values
from tuimon.sources import layout
from tuimon.sources.files import open_regular
from tuimon.sources.grouped_files import GroupedFile, ParallelWriters, SplitFiles

BEGINNING = 64 << 10
"""Bytes of the beginning of a file that are compared; of a document, its largest size."""
MOST_FILES = 200
"""Maximum number of files of a directory that are compared; more are not separated."""
_SEARCHED = 8 << 20
"""Largest size (bytes) of a file that is searched for the steps at which another one goes on."""
_LEAST_TIME = 1e8
"""Lowest wall time (s since the epoch) that is a date, not only a time of the day."""
_EPOCH = re.compile(
    r"[^a-z]*(?:info\b)?[^a-z]*epoch\W{0,3}\d+(?!.*\b(?:step|iter|iteration|it|batch)\b)", re.IGNORECASE
)
"""Begin of a line of console text whose step is the number of an epoch."""
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
        """(bytes read, first points) by path."""
        self._beside_others: dict[str, bool] = {}
        """By path; kept, so that a run keeps its name when other logs appear."""
        self._searched: dict[str, tuple[int, frozenset[int], Values]] = {}
        """(size, steps, values at these steps) of files that were searched, by path: a search can take 0.2 s."""

    def of(self, files: Sequence[GroupedFile]) -> SplitFiles:
        """Return the name of the training of each file, if there are several, and the attempts of each training.

        files: the files of one format in one directory."""
        logs = _logs(files)
        if len(logs) < 2 or len(logs) > MOST_FILES or _are_processes(list(logs)):
            return SplitFiles()
        beginnings = {live: beginning for live in logs if (beginning := self._beginning(logs[live][0])) is not None}
        comparison = Comparison(beginnings, self._values_at)
        names = comparison.names()
        sure = {live for live in logs if live in comparison.decided or self._is_long(logs[live][0])}
        for live, paths in logs.items():
            (self.undecided.difference_update if live in sure else self.undecided.update)(paths)
        for live in logs.keys() - beginnings.keys() if names else ():
            if (name := _training_beside(live, names)) is not None:
                names[live] = name
        attempts = comparison.attempts()
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

    def each(self, files: Sequence[GroupedFile]) -> dict[str, str]:
        """Return a name for each file, so that it is a run of its own; the same one for the parts of a rotated log.

        {} for the files of the processes of one job."""
        logs = _logs(files)
        if len(logs) > 1 and _are_processes(list(logs)):
            return {}
        return {path: os.path.basename(live) for live, paths in logs.items() for path in paths}

    def is_beside_others(self, path: str) -> bool:
        """Return whether the directory of a file also held logs of other trainings when it was first asked for."""
        if path not in self._beside_others:
            own = self._beginning(path)
            self._beside_others[path] = any(self._are_alike(own, *other) for other in other_logs(path))
        return self._beside_others[path]

    def _are_alike(self, own: Beginning | None, path: str, log_format: Format) -> bool:
        """Return whether another file has points as well, and of the same metrics unless it is a text: the tables of
        one run have other metrics each."""
        self.formats.setdefault(path, log_format)
        if (other := self._beginning(path)) is None:
            return False
        is_text = log_format.rank <= COMPANION
        return is_text or (own is not None and not own.values.keys().isdisjoint(other.values.keys()))

    def _is_long(self, path: str) -> bool:
        return self._beginnings.get(path, (0, None))[0] >= BEGINNING

    def _beginning(self, path: str) -> Beginning | None:
        """Return the first points of a file; None if it has none or cannot be read."""
        size, known = self._beginnings.get(path, (-1, None))
        if size >= BEGINNING:
            return known
        data, whole = _first_bytes(path, BEGINNING)
        if len(data) != size:
            known = _first_points(_items(self.formats[path], data, whole), whole)
            self._beginnings[path] = len(data), known
        return known

    def _values_at(self, live: str, steps: Iterable[int]) -> Values | None:
        """Return the values of a file at some steps; None if it is too long to be searched."""
        wanted, size = frozenset(steps), _size(live)
        known = self._searched.get(live)
        if known is None or known[:2] != (size, wanted):
            data, whole = _first_bytes(live, _SEARCHED) if size <= _SEARCHED else (b"", False)
            if not whole or live not in self.formats:
                return None
            values = _values(_items(self.formats[live], data, whole))
            at_steps = {m: {s: v for s, v in series.items() if s in wanted} for m, series in values.items()}
            known = self._searched[live] = size, wanted, at_steps
        return known[2]


def _size(path: str) -> int:
    """Return the size of a file in bytes; 0 if it cannot be read."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


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


def _items(log_format: Format, data: bytes, whole: bool) -> list[Item]:
    """Decode the beginning of a file; return nothing for an unsupported format."""
    if log_format.unsupported:
        return []
    decoder = log_format.decoder()
    items: list[Item] = []
    if isinstance(decoder, StreamDecoder):
        items += decoder.feed(data)
        if whole:
            items += decoder.flush()
    elif isinstance(decoder, DocumentDecoder) and whole:
        with suppress(FormatError):
            items += decoder.load(data)
    return items


def _values(items: Iterable[Item]) -> Values:
    """Return the values by metric and step."""
    values: Values = defaultdict(dict)
    for item in items:
        if isinstance(item, Points):
            columns = item.metric.tolist(), item.steps.tolist(), item.values.tolist()
            for metric, step, value in zip(*columns, strict=True):
                values[item.names[metric]][step] = value
    return values


def _first_points(items: Sequence[Item], whole: bool) -> Beginning | None:
    """Return the first points of a file, and what else it says about its training; None without points."""
    values = _values(items)
    steps = sorted({step for series in values.values() for step in series})
    if not steps:
        return None
    whole = whole and len(steps) <= STEPS
    last = steps[: STEPS + 1][-1]
    first = {m: {s: v for s, v in series.items() if s <= last} for m, series in values.items()}
    times: dict[int, float] = {}
    total, unit, outcome = None, "step", None
    for item in items:
        if isinstance(item, Points):
            pairs = zip(item.steps.tolist(), item.wall_times.tolist(), strict=True)
            times |= {step: time for step, time in pairs if step <= last and time > _LEAST_TIME}
        elif isinstance(item, Fact) and item.topic == Topic.PROGRESS:
            total, unit = item.value.get("total", total), item.value.get("unit", unit)
        elif isinstance(item, Fact) and item.topic == Topic.CONSOLE and unit == "step":
            lines = [line for line in item.value["lines"] if line.strip()]
            unit = "epoch" if 2 * sum(map(bool, map(_EPOCH.match, lines))) > len(lines) else unit
        elif isinstance(item, Fact) and item.topic == Topic.STATE and whole:
            state = item.value["state"]
            outcome = None if state == "running" else (state, item.value.get("cause", ""))
    values = {m: series for m, series in first.items() if series}
    return Beginning(values, steps[:STEPS], whole, times, total, unit, outcome)


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
