"""Notices about files and directories that cannot be read: one each, and another when a problem is resolved."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from tuimon.model.events import Notice
from tuimon.reader.assembly import UnassignedFile
from tuimon.reader.follow import Followed
from tuimon.sources.listing import CHECK_ACCESS
from tuimon.sources.scan import Problem
from tuimon.text import clean, local_time

GRACE = 60.0
"""Time (s) after which a run directory without metrics is reported: a new run needs a moment to write its first."""
_HINT = "the others are in no chart and no longer in the file; give a run that starts again a directory of its own"


class Notices:
    """Creates each notice once."""

    def __init__(self) -> None:
        self._problems: set[Problem] = set()
        self._unread: set[str] = set()
        """Ids of formats and paths of databases that were reported."""
        self._refused: dict[str, str] = {}
        """Reason for each file that cannot be opened."""
        self._deleted: dict[str, float] = {}
        """Time (s since the epoch) at which each file that does not exist was found to be deleted."""

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

    def of_access(self, path: str, reason: str) -> Iterator[Notice]:
        """Notice for a file that cannot be opened any more, or that can be again. reason: "" if it can be opened."""
        path = clean(path)
        before = self._refused.get(path, "")
        if reason and reason != before:
            hint = CHECK_ACCESS if reason == "permission denied" else ""
            self._refused[path] = reason
            yield Notice("warning", f"{path}: {reason}", hint, path)
        elif before and not reason:
            del self._refused[path]
            yield Notice("info", f"{path}: no longer {before}", about=path)

    def of_deletion(self, path: str, source: str, is_gone: bool, now: float, kept: int) -> Iterator[Notice]:
        """Notice for a file that was deleted and exists again. kept: number of points that were read before."""
        if is_gone:
            self._deleted.setdefault(path, now)
        elif (deleted := self._deleted.pop(path, None)) is not None and kept:
            times = f"deleted at {local_time(deleted)} and created again at {local_time(now)}"
            yield Notice("warning", f"{clean(source)} was {times}; {_kept(kept)}", _HINT, clean(path))

    def of_unread(
        self, streams: Iterable[Followed], unassigned: Iterable[UnassignedFile], databases: Iterable[tuple[str, str]]
    ) -> Iterator[Notice]:
        """Notices for logs that are recognised but not read: one per format, or per database.

        A file that describes a run is reported after GRACE, as metrics may appear next to it.
        databases: (path, reason) of those that cannot be read."""
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
        for path, reason in databases:
            if path not in self._unread:
                self._unread.add(path)
                yield Notice("warning", f"{clean(path)}: {reason}")
        for path, log_format, advice in unread:
            if log_format.id not in self._unread:
                self._unread.add(log_format.id)
                why = "not read" if log_format.unsupported else "without metrics"
                yield Notice("warning", f"{clean(path)}: {log_format.title}, {why}", advice)


def of_truncation(path: str, source: str, truncated_at: float, kept: int) -> Notice:
    """Return the notice about a log that was truncated. kept: number of points that were read before."""
    when = local_time(truncated_at) or "an invalid time"
    return Notice("warning", f"{clean(source)} was truncated at {when}; {_kept(kept)}", _HINT, clean(path))


def _kept(count: int) -> str:
    """Return which points that were read before remain in the charts: new ones supersede those of later steps."""
    points = "only point is" if count == 1 else f"{count} points are"
    return f"its {points} kept up to the first new step"
