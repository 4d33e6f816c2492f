"""Find event files of one directory that several programs wrote at the same time, such as two trainings on two hosts.

Example: events.out.tfevents.1772359200.hostA.11.0 and events.out.tfevents.1772359203.hostB.22.0, whose first points
have other values at the same steps and were logged during the same minutes. Each is a run of its own: "hostA", "hostB".

- A file that begins after the other one has ended is of the next attempt of the same training.
- Files with equal values are of the ranks of one training: a source of its run each, of which one is drawn.
- Files of other metrics are of one training.
- A resumed program has several files: each joins the writer of its host that it does not overlap.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from tuimon import lazy_re as re
from tuimon.reader.log_beginning import Beginning, compared
from tuimon.sources.grouped_files import ParallelWriters

_NAME = re.compile(r"\d+\.(?P<host>.+?)(?P<process>\.\d+)?(?:\.\d+)?(?:\.v2)?")
"""End of TensorBoard's name of an event file, with the time of its start; tensorboardX writes no process."""


def parallel_writers(beginnings: Mapping[str, Beginning]) -> ParallelWriters:
    """Find the programs that wrote event files of one directory at the same time.

    beginnings: the first points of each file, by path. A writer has the shortest unique name of host, host and process,
    and the name of its first file.
    """
    writers: list[list[str]] = []
    are_equal = True
    for path in sorted(beginnings, key=lambda path: (min(beginnings[path].times.values(), default=0.0), path)):
        beginning = beginnings[path]
        together = [[file for file in files if _overlap(beginnings[file], beginning)] for files in writers]
        are_equal &= not any(
            compared(beginnings[file].values, beginning.values).different for files in together for file in files
        )
        free = [files for files, others in zip(writers, together, strict=True) if not others]
        if free:
            min(free, key=lambda files: _names(files[-1])[0] != _names(path)[0]).append(path)
        else:
            writers.append([path])
    if len(writers) < 2:
        return ParallelWriters()
    names = list(zip(*(_names(files[0]) for files in writers), strict=True))
    unique = next(column for column in names if len(set(column)) == len(column))
    return ParallelWriters(
        {path: name for files, name in zip(writers, unique, strict=True) for path in files}, are_equal
    )


def _overlap(first: Beginning, second: Beginning) -> bool:
    """Return whether two files have values at the same steps and were written at the same time."""
    if not (first.times and second.times and compared(first.values, second.values).steps):
        return False
    return max(min(first.times.values()), min(second.times.values())) < min(
        max(first.times.values()), max(second.times.values())
    )


def _names(path: str) -> tuple[str, str, str]:
    """Return the names of the writer of a file, from the shortest to one that no other file has."""
    name = os.path.basename(path)
    match = _NAME.fullmatch(name.partition("tfevents.")[2])
    return (match["host"], f"{match['host']}{match['process'] or ''}", name) if match else (name, name, name)
