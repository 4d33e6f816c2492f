"""WriterWatch: find out rarely whether the writers of silent logs still hold them open."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from tuimon.formats import kind
from tuimon.reader.follow import Followed
from tuimon.sources.copies import is_copy
from tuimon.sources.writers import CLOSED, Writer, writers

EVERY = 60.0
"""Least time (s) between two checks of the processes of the machine."""
_SILENT = 30.0
"""Time (s) without a change after which the writer of a log is looked for."""
_OLD = 3 * 86400.0
"""Time (s) without a change after which the writer of a log is no longer looked for."""


class WriterWatch:
    """Looks for the writers of logs that have fallen silent. A log whose writer is gone is not checked again."""

    def __init__(self) -> None:
        self._looked_at = float("-inf")
        self._seen: dict[int, float] = {}
        """Time of change of a file that was found to be closed, by stream."""

    def changed(self, streams: Sequence[Followed]) -> Iterator[Followed]:
        """Set the writers of silent logs and yield the logs; yield nothing if that was done less than EVERY ago."""
        if time.monotonic() - self._looked_at < EVERY:
            return
        now = time.time()
        silent = [followed for followed in streams if self._is_due(followed, now)]
        if not silent:
            return
        found = writers({followed.file for followed in silent})
        self._looked_at = time.monotonic()
        for followed in silent:
            writer = found.get(followed.file, Writer())
            appended = kind(followed.format.id) == "stream"
            followed.set_writer(writer, is_copy(followed.file, appended))
            if writer.state == CLOSED:
                self._seen[followed.found.stream] = followed.modified
            yield followed

    def _is_due(self, followed: Followed, now: float) -> bool:
        if followed.retired or followed.remote or followed.in_database or followed.format.unsupported:
            return False
        modified = followed.modified
        if self._seen.get(followed.found.stream) == modified or not now - modified < _OLD:
            return False
        return now - modified >= _SILENT or is_copy(followed.file, kind(followed.format.id) == "stream")
