"""WriterWatch: find out whether processes hold the logs open, rarely for all logs and often for those that are held."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from tuimon.formats import kind
from tuimon.reader.follow import Followed
from tuimon.sources.copies import is_copy
from tuimon.sources.mirror_notes import note_of
from tuimon.sources.writers import CLOSED, OPEN, Writer, still_holds, writers

EVERY = 30.0
"""Minimum time (s) between two searches for the writer of a log among the processes of the machine."""
_HELD_EVERY = 1.0
"""Minimum time (s) between two checks of the descriptors that are known to be open, and of the notes of mirrors."""
_SCAN_EVERY = 2.0
"""Minimum time (s) between two searches for the writers of any logs."""
_SHARE = 0.02
"""Fraction of the time that the searches may take."""
_OLD = 3 * 86400.0
"""Time (s) without a change after which the writer of a log is searched for only once."""


class _Search(Struct):
    """Searches for the writer of one log so far."""

    count: int = 0
    last: float = -math.inf
    closed_when: float = math.nan
    """Time of change of the file when it was found to be closed."""
    held_since: float = math.nan
    """Time since which the log was seen to be held open; NaN if it is not."""
    was_held: bool = False
    """Whether one descriptor was seen to be open twice: the writer does not open the log for each line."""


class WriterWatch:
    """Searches for the writers of logs while these grow and after they have become silent."""

    def __init__(self, clock: Callable[[], float] = time.time, timer: Callable[[], float] = time.monotonic) -> None:
        """clock: returns seconds since the epoch. timer: returns seconds that are not affected by the clock."""
        self._clock = clock
        self._timer = timer
        self._next_search = self._next_check = -math.inf
        self._searches: dict[int, _Search] = {}
        """By stream."""
        self._held: dict[int, tuple[Followed, Writer]] = {}
        """Logs that are held open, by stream."""

    def changed(self, streams: Sequence[Followed]) -> Iterator[Followed]:
        """Do the checks and searches that are due, set the writers of the logs concerned, and yield these logs."""
        timer, now = self._timer(), self._clock()
        if checks := timer >= self._next_check:
            self._next_check = timer + _HELD_EVERY
            self._check_held(timer)
        if timer < self._next_search:
            return
        due = [f for f in filter(_can_be_found, streams) if self._is_due(f, timer, now, checks)]
        if not due:
            return
        found = {f.file: _mirrored_writer(f) for f in due if f.mirrored}
        found |= writers({f.file for f in due if not f.mirrored})
        self._next_search = timer + max(_SCAN_EVERY, (self._timer() - timer) / _SHARE)
        for followed in due:
            self._note(followed, found.get(followed.file, Writer()), timer, now)
            yield followed

    def _check_held(self, timer: float) -> None:
        """Find the logs whose writers have closed them since the last check."""
        for stream, (followed, writer) in list(self._held.items()):
            search = self._searches[stream]
            if followed.retired:
                del self._held[stream]
            elif followed.mirrored and ((note := note_of(followed.file)).writer == OPEN or not note.is_known):
                search.was_held = search.was_held or note.again
            elif not followed.mirrored and still_holds(writer, followed.file):
                search.was_held = search.was_held or timer - search.held_since >= _HELD_EVERY
            else:
                del self._held[stream]
                search.count = 0  # its writer is searched for next

    def _note(self, followed: Followed, writer: Writer, timer: float, now: float) -> None:
        """Set the writer of a log. Where its writer is known to be gone, processes that are hidden do not matter."""
        stream = followed.found.stream
        search = self._searches.setdefault(stream, _Search())
        search.count, search.last = search.count + 1, timer
        if followed.in_database and writer.state == OPEN:
            writer = Writer()  # who holds a database open, perhaps a server, says nothing about one run
        closed = now if search.was_held and writer.state != OPEN else math.nan
        if math.isfinite(closed):
            known = followed.writer_check.closed
            writer, closed = Writer(CLOSED), known if math.isfinite(known) else closed
        if writer.state == OPEN:
            self._held[stream], search.held_since = (followed, writer), timer
        elif writer.state == CLOSED:
            search.closed_when = followed.modified
        if followed.mirrored:
            note = note_of(followed.file)
            followed.set_writer(writer, note.copied and followed.format.supersedes is None, closed)
        else:
            followed.set_writer(writer, _is_copy(followed), closed)

    def _is_due(self, followed: Followed, timer: float, now: float, checks: bool) -> bool:
        """Return whether the writer of a log is to be searched for. checks: whether notes of mirrors are examined."""
        stream, modified = followed.found.stream, followed.modified
        search = self._searches.get(stream, _Search())
        if stream in self._held or search.closed_when == modified:
            return False
        if followed.mirrored:  # the search was made on the host
            known = followed.writer_check.writer.state
            return search.count == 0 or (checks and _mirrored_writer(followed).state != known)
        return search.count == 0 or (timer - search.last >= EVERY and now - modified < _OLD)


def _can_be_found(followed: Followed) -> bool:
    on_network = followed.remote and not followed.mirrored
    return not (followed.retired or on_network or followed.format.unsupported)


def _mirrored_writer(followed: Followed) -> Writer:
    """Return the writer of a log in a mirror, as it was found on the host."""
    return note_of(followed.file).writer_at(followed.modified)


def _is_copy(followed: Followed) -> bool:
    return is_copy(followed.file, kind(followed.format.id) == "stream", followed.format.supersedes is not None)
