"""Facts about the files of a mirror that their content does not show, stored in a file beside the mirror's tree.

$XDG_CACHE_HOME/tuimon/mirror/<host>-<hash>/notes.json                 of the mirror of one target
$XDG_CACHE_HOME/tuimon/mirror/<hosts>-<hash>/hosts/<host>/notes.json   of that of one host of a job
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tuimon import lazy_re as re
from tuimon.platform_support import mirror_directory
from tuimon.sources.job_hosts import MARKER
from tuimon.sources.writers import OPEN, UNKNOWN, Writer

NAME = "notes.json"
_SAME_TIME = 1e-3
"""Difference (s) of two times of change of one file, which are not stored exactly."""
_HOST = re.compile(rf"tree/{re.escape(MARKER)}/[^/]+/[^/]+/([^/]+)/")


class FileNote(msgspec.Struct, omit_defaults=True):
    """Facts about one file of a mirror."""

    writer: str = UNKNOWN
    """State of the writer on the host: open | closed | unknown."""
    process: str = ""
    """Name and id of the process that holds the file open there."""
    modified: float = 0.0
    """Time of change of the file when it was found not to be held open."""
    copied: bool = False
    """Whether it was written at once there, as by a copy."""
    again: bool = False
    """Whether one descriptor was seen to be open twice: the writer does not open the file for each line."""
    renewed: bool = False
    """Whether the content before the last replacement was that of an earlier start, which no reader needs to keep."""

    @property
    def is_known(self) -> bool:
        """Whether the state of the writer is known: open, or what the host reported for a time of change."""
        return self.writer == OPEN or self.modified > 0

    def without_process(self) -> FileNote:
        """Return the note for a later start, at which the file may not be held open any more."""
        if self.writer != OPEN:
            return self
        return msgspec.structs.replace(self, writer=UNKNOWN, process="", again=False)

    def writer_at(self, modified: float) -> Writer:
        """Return the writer of the file if that is known for this time of change (s since the epoch)."""
        if self.writer == OPEN:
            return Writer(OPEN, self.process)
        return Writer(self.writer if abs(self.modified - modified) < _SAME_TIME else UNKNOWN)


def load(base: str) -> dict[str, FileNote]:
    """Return the notes below the directory `base` of a mirror by the keys of the files; {} if there are none."""
    return dict(_notes(os.path.join(base, NAME)))


def key(path: str) -> str:
    """Return the path of a file as a key: JSON has no other way for names that are not UTF-8."""
    return os.fsencode(path).decode("latin-1")


def path_of(name: str) -> str:
    """Return the path of the file with this key."""
    return os.fsdecode(name.encode("latin-1"))


def note_of(path: str) -> FileNote:
    """Return the facts about a file of a mirror; the defaults if none are stored. path: below `mirror_directory()`."""
    where = mirror_directory()
    base, _, below = path[len(where) + 1 :].partition("/")
    host = _HOST.match(below)
    directory = os.path.join(where, base, "hosts", host[1]) if host else os.path.join(where, base)
    return _notes(os.path.join(directory, NAME)).get(key(path), FileNote())


def _notes(file: str) -> Mapping[str, FileNote]:
    try:
        status = os.stat(file)
    except OSError:
        return {}
    return _load(file, (status.st_mtime_ns, status.st_ino, status.st_size))


@lru_cache(maxsize=64)
def _load(file: str, version: tuple[int, int, int]) -> Mapping[str, FileNote]:
    """Return the notes in a file; version: changes with its content."""
    try:
        with open(file, "rb") as source:
            return msgspec.json.decode(source.read(), type=dict[str, FileNote])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
