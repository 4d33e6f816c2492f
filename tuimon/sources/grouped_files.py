"""Files while they are grouped into runs, and the groups."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

Parts = tuple[str, ...]
RunDirectory = tuple[str, Parts]
"""A run directory: (the given path, or the directory of the given file; the path components below it)."""


class GroupedFile(Struct, frozen=True):
    """A log file, with the properties that grouping depends on."""

    path: str
    """Absolute."""
    format: str
    """Format id."""
    directory_is_source: bool = False
    """Are all such files of a directory one source (event files)?"""
    companion: bool = False
    """Does the file have no metrics of its own, so that it joins a run (console text)?"""
    beside: bool = False
    """Is it a companion of the run of its own directory only (a config)?"""
    source: str = ""
    """Absolute path of the source that the file is a part of, or "". Such a file is never a run by itself."""
    metric_names: frozenset[str] = frozenset()
    """Names of its metrics, if the beginning of the file contains them."""
    joined: str = ""
    """Absolute path of the source that the file is together with others (rotated logs), or ""; see Member.joined."""


class Member(Struct, frozen=True):
    """One file of a run."""

    path: str
    source: str
    """Path of the file or of its directory, relative to the given path; "." for that path itself."""
    prefix: str
    """Prefix of its metric names: "" or "<part>/"."""
    joined: str = ""
    """Path, relative like `source`, of the source that this file and others are drawn as; "" if it is `source`."""
    attempt: int = 0
    """Number of the attempt that wrote the file, of those that are drawn as one source."""
    part: int = 0
    """Number of the part of a rotated log, from the oldest to the newest."""
    rule: str = ""
    """Why the file is in its run, for `tuimon doctor`."""


class AttemptFile(Struct, frozen=True):
    """An attempt of a training, one of several in files of their own."""

    first: str
    """Absolute path of the file of the first attempt."""
    number: int
    """0 for the first attempt."""


class SplitFiles(Struct, frozen=True):
    """The trainings of files of one directory and one format."""

    names: Mapping[str, str] = {}
    """Name of the training by path; empty unless there are several. Files without points of an unknown training are
    missing."""
    attempts: Mapping[str, AttemptFile] = {}
    """Attempts by path, of trainings with several attempts."""


class ParallelWriters(Struct, frozen=True):
    """The programs that wrote event files of one directory at the same time."""

    names: Mapping[str, str] = {}
    """Name of the writer by path; empty unless there are several."""
    are_equal: bool = True
    """Whether they wrote equal values, as the ranks of one training do."""


class RunLogs(Struct, frozen=True):
    """The logs of one training job."""

    path: str
    """Absolute path; unique."""
    name: str
    members: tuple[Member, ...]
    """Sorted by source, then by path."""
    has_metrics: bool = False
    """Whether it is a run by itself: a file has metrics of its own, or is a text that is known to be a run."""


class Located(Struct):
    """A file while its run is being determined."""

    file: GroupedFile
    source: str
    directory: RunDirectory
    home: RunDirectory
    prefix: str = ""
    joined: str = ""
    attempt: int = 0
    part: int = 0
    rule: str = "its directory"


def has_metrics(items: list[Located]) -> bool:
    return any(not item.file.companion for item in items)


def natural_order(text: str) -> list[str | int]:
    """A key that sorts version_9 before version_10."""
    parts: list[str | int] = list(re.split(r"([0-9]+)", text))
    parts[1::2] = map(int, parts[1::2])
    return parts
