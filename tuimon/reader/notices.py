"""Notices about files and directories that cannot be read: one each, and another when a problem is resolved."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from tuimon.model.events import Notice
from tuimon.reader.assembly import UnassignedFile
from tuimon.reader.follow import Followed
from tuimon.reader.recognition import LeftOut
from tuimon.sources.scan import Problem
from tuimon.text import clean

GRACE = 60.0
"""Time (s) after which a run directory without metrics is reported: a new run needs a moment to write its first."""


class Notices:
    """Creates each notice once."""

    def __init__(self) -> None:
        self._problems: set[Problem] = set()
        self._unread: set[str] = set()
        """Ids of formats and paths of databases that were reported."""
        self._has_texts = False

    def of_problems(self, problems: Iterable[Problem]) -> Iterator[Notice]:
        """Notices for new and resolved problems. problems: all that exist now."""
        now = dict.fromkeys(problems)
        paths = {problem.path for problem in now}
        for problem in self._problems.difference(now):
            if problem.path not in paths:
                path = clean(problem.path)
                yield Notice("info", f"{path}: no longer {problem.reason}", about=path)
        for problem in now:
            if problem not in self._problems:
                path = clean(problem.path)
                yield Notice("warning", f"{path}: {problem.reason}", problem.hint, path)
        self._problems = set(now)

    def of_texts(self, texts: Sequence[LeftOut]) -> Iterator[Notice]:
        """One notice for all texts that are not understood, the first time that there are any."""
        if texts and not self._has_texts:
            self._has_texts = True
            first, *others = texts
            more = f"; and {len(others)} more" if others else ""
            message = f"{clean(first.path)}: {first.reason}{more}"
            yield Notice("warning", message, proposed_patterns=first.proposed_patterns)

    def of_unread(
        self, streams: Iterable[Followed], unassigned: Iterable[UnassignedFile], unreadable: Iterable[tuple[str, str]]
    ) -> Iterator[Notice]:
        """Notices for logs that are recognised but not read: one per format, or per database.

        A file that describes a run is reported after GRACE, as metrics may appear next to it.
        unreadable: (path, reason) of databases."""
        now = time.time()
        unread = [
            (followed.path, followed.format, followed.format.unsupported)
            for followed in streams
            if followed.format.unsupported
        ]
        unread += [
            (item.member.path, item.format, advice)
            for item in unassigned
            if (advice := item.format.advice) and (not item.format.describes_run or now - item.file.modified > GRACE)
        ]
        for path, reason in unreadable:
            if path not in self._unread:
                self._unread.add(path)
                yield Notice("warning", f"{clean(path)}: {reason}")
        for path, log_format, advice in unread:
            if log_format.id not in self._unread:
                self._unread.add(log_format.id)
                why = "not read" if log_format.unsupported else "without metrics"
                yield Notice("warning", f"{clean(path)}: {log_format.title}, {why}", advice)
