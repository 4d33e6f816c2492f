"""What a person is told of files and directories that cannot be read: once, and once more when that is over."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from tuimon.formats import Format
from tuimon.model.events import Notice
from tuimon.reader.follow import Followed
from tuimon.reader.strays import Stray
from tuimon.sources.scan import Problem
from tuimon.text import clean

GRACE = 60.0
"""Seconds in which a run that has begun may write its first metrics."""


class Notices:
    """Remembers what has been said."""

    def __init__(self) -> None:
        self._problems: set[Problem] = set()
        self._unread: set[str] = set()
        """Ids of formats, and paths of databases."""

    def of_problems(self, problems: Iterable[Problem]) -> Iterator[Notice]:
        """All there are now, of what could not be looked at."""
        now = dict.fromkeys(problems)
        standing = {problem.path for problem in now}
        for problem in self._problems.difference(now):
            if problem.path not in standing:
                path = clean(problem.path)
                yield Notice("info", f"{path}: no longer {problem.reason}", about=path)
        for problem in now:
            if problem not in self._problems:
                path = clean(problem.path)
                yield Notice("warning", f"{path}: {problem.reason}", problem.hint, path)
        self._problems = set(now)

    def of_unread(
        self, streams: Iterable[Followed], strays: Iterable[tuple[str, Stray]], databases: Iterable[tuple[str, str]]
    ) -> Iterator[Notice]:
        """What is recognised but not read, once a format; later where metrics may yet appear beside it.

        strays: with their paths; databases: (path, why)."""
        now = time.time()
        lost: list[tuple[str, Format]] = [(one.path, one.format) for one in streams if one.format.unsupported]
        for path, stray in strays:
            if stray.format.unsupported and (not stray.format.describes_run or now - stray.file.modified > GRACE):
                lost.append((path, stray.format))
        for path, why in databases:
            if path not in self._unread:
                self._unread.add(path)
                yield Notice("warning", f"{clean(path)}: {why}")
        for path, log_format in lost:
            if log_format.id not in self._unread:
                self._unread.add(log_format.id)
                yield Notice("warning", f"{clean(path)}: {log_format.title}, not read", log_format.unsupported)
