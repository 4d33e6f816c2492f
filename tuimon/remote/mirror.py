"""The private copy of the logs of one target, which the reader follows like any directory.

$XDG_CACHE_HOME/tuimon/mirror/<host>-<hash of the target>/      directories 0700, files 0600
    tree/<host>/<path>    the files, under the names that they have on the host
    tmp/                  documents that are being received; they are moved into the tree when they are whole
    notes.json            which files are held open on the host, see tuimon/sources/mirror_notes.py
    link.json             when the host was last heard, and what the filler wants to remember (ETags)
    lock                  held (flock) by the program that fills the mirror; a second one only reads

A log that grows is appended to, so after any interruption a file is a prefix or the whole of a version that existed.
A file that was replaced on the host gets a new inode, one that was truncated keeps its inode, and a document is
swapped by rename. Names come from the host and are not trusted: see `component`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import msgspec

from tuimon.errors import TuimonError
from tuimon.platform_support import mirror_directory
from tuimon.remote.places import Place, place_of
from tuimon.remote.targets import Target
from tuimon.sources import mirror_notes
from tuimon.sources.job_hosts import UNREACHABLE
from tuimon.sources.mirror_notes import FileNote
from tuimon.text import clean

KEEP_FREE = 1 << 30
"""Bytes of the local disk that are left free, or a tenth of a small disk."""
SAMPLE = 4096
"""Bytes at the beginning and at the end of a file whose checksums show whether it is still the same file."""
_FREE_CHECK = 16 << 20
"""Bytes that are written between two checks of the free space."""
_LATEST = 2**63 // 10**9 - 1
"""Latest time of change (s since the epoch) that file systems store."""
MAX_NAME = 240
"""Maximum bytes of a name."""


class MirrorError(TuimonError):
    """A host sent something that cannot be stored: a bad name, a gap, a file over a limit."""


class Stored(msgspec.Struct):
    """Content of link.json."""

    heard: float = 0.0
    """Time (s since the epoch) at which the host was last heard; 0.0: never."""
    complete: bool = False
    """Whether everything has been received at least once."""
    files: dict[str, tuple[str, str]] = {}
    """(version, how it is followed) of each file, by the key of its path: what is known at the next start."""


class Mirror:
    """The mirror of one target. Only the program that holds the lock may write."""

    def __init__(self, target: Target, where: str | None = None, place: Place | None = None) -> None:
        """where: the directory of all mirrors; `mirror_directory()` if None. place: where this one lies, if it is part
        of a job's. Creates the directories."""
        self.where = where or mirror_directory()
        host = (target.host or target.scheme).replace("/", ".")
        self.place = place or place_of(target, self.where, component(host))
        self.base, self.top = self.place.base, self.place.top
        self.root = self.place.root
        """The path to read: of a directory, of a file, or of what will be one."""
        self.single = self.place.single or os.path.join(
            self.root, component(target.parts[-1] if target.parts else host)
        )
        """The path of the file if there is a file on the host rather than a directory."""
        self._lock: int | None = None
        """Descriptor of the file that this program has locked."""
        self._unchecked = _FREE_CHECK
        for directory in (self.where, self.base, os.path.join(self.base, "tmp"), os.path.dirname(self.root)):
            _make_directories(directory)
        os.chmod(self.base, 0o700)
        self.stored = self._load()
        self.is_current = False
        """Whether this program has received everything: what it replaces later was the content on the host until then,
        and not a copy of an earlier start."""
        self.changed: set[str] = set()
        """Paths that have changed; the caller clears it."""
        self.names_changed = False
        """Whether some of them are new, replaced or gone; the caller resets it."""
        self._notes: dict[str, FileNote] = {}
        self._notes_changed = False

    # ------------------------------------------------------------------ who fills it

    def lock(self) -> bool:
        """Try to become the program that fills the mirror; return whether this is it."""
        if self._lock is None:
            descriptor = os.open(os.path.join(self.base, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return False
            self._lock = descriptor
            with contextlib.suppress(OSError):
                os.utime(self.place.whole)  # it was used: see expiry.py
                shutil.rmtree(os.path.join(self.base, "tmp"))
                os.mkdir(os.path.join(self.base, "tmp"), 0o700)
            self._renew_notes()
        return True

    def close(self) -> None:
        """Give up the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def note_unreachable(self, why: str) -> None:
        """Note for readers that the host of a job cannot be reached, and why; "": it can. A full disk is no error."""
        path = os.path.join(self.base, UNREACHABLE)
        if self._lock is not None and self.place.root == self.place.top:
            with contextlib.suppress(OSError):
                if why:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(why)
                else:
                    os.unlink(path)

    # ------------------------------------------------------------------ what it remembers

    def _load(self) -> Stored:
        try:
            with open(os.path.join(self.base, "link.json"), "rb") as file:
                return msgspec.json.decode(file.read(64 << 20), type=Stored)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return Stored()

    def note(self, path: str, **facts: Any) -> None:
        """Note facts about a file, fields of FileNote, for the reader; `save_notes` stores them."""
        name = mirror_notes.key(path)
        before = self._notes.get(name, FileNote())
        after = msgspec.structs.replace(before, **facts)
        if after != before:
            self._notes[name], self._notes_changed = after, True

    def _renew_notes(self) -> None:
        """Load the notes of the program that filled the mirror before, without those of deleted files and without the
        processes that held files open then."""
        stored = mirror_notes.load(self.base)
        kept = {name: note for name, note in stored.items() if os.path.lexists(mirror_notes.path_of(name))}
        self._notes = {name: note.without_process() for name, note in kept.items()}
        self._notes_changed = self._notes != stored
        self.save_notes()

    def save_notes(self) -> None:
        """Store the notes if they have changed."""
        if self._notes_changed:
            self._notes_changed = False
            self._store(mirror_notes.NAME, msgspec.json.encode(self._notes))

    def reload(self) -> Stored:
        """Read again what the program that fills the mirror has stored."""
        self.stored = self._load()
        return self.stored

    def save(self) -> None:
        """Store `stored`. A full disk is no error: it costs bytes at the next start."""
        self._store("link.json", msgspec.json.encode(self.stored))

    def _store(self, name: str, content: bytes) -> None:
        """Replace a file beside the tree, unless the disk is full."""
        temporary = os.path.join(self.base, "tmp", "link")
        with contextlib.suppress(OSError):
            with open(temporary, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(content)
            os.replace(temporary, os.path.join(self.base, name))

    # ------------------------------------------------------------------ files

    def path(self, parts: Sequence[str]) -> str:
        """Return the local path of a file or directory below the path on the host, or of the file at that path.

        Raise MirrorError for an unusable name.
        """
        return os.path.join(self.root, *map(component, parts)) if parts else self.single

    def size(self, path: str) -> int | None:
        """Return the bytes of a mirrored file, or None if there is none."""
        return os.stat(path).st_size if os.path.isfile(path) else None

    def set_modified(self, path: str, modified: float) -> None:
        """Set the time of change (s since the epoch) of a file whose content is still the same."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if os.stat(path).st_mtime != modified:
                _stamp(path, modified)

    def read(self, path: str, count: int, start: int = 0) -> bytes:
        """Return bytes of a mirrored file; b"" if there is none."""
        with contextlib.suppress(OSError), open(path, "rb", opener=_private) as file:
            return os.pread(file.fileno(), count, start)
        return b""

    def append(
        self, path: str, at: int, data: bytes, modified: float, truncate: bool = False, new: bool = False
    ) -> None:
        """Write the bytes of a log that follow those here; at: their offset, which must be the size of the file here.

        truncate: the log on the host was cut or rewritten, and begins again with these bytes (at == 0).
        new: another file has taken its place. modified: time of the last change (s since the epoch).
        """
        self.reserve(len(data))
        size = self.size(path)
        if truncate and size:
            self.note(path, renewed=not self.is_current)
            self.save_notes()  # before a reader can see the new bytes
        if new and truncate:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        with self._opened(path) as file:
            if truncate:
                file.truncate(0)
            here = file.seek(0, os.SEEK_END)
            if here != at:
                raise MirrorError(f"a gap: {here} bytes are here, the next ones are at {at}")
            file.write(data)
            file.flush()
            _stamp(file.fileno(), modified)
        self.note_change(path, size is None or new)

    def draft(self, path: str) -> Draft:
        """Begin to write a document anew."""
        self._make_way(path)
        name = os.fsencode(path)
        return Draft(self, path, os.path.join(self.base, "tmp", f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}"))

    def remove(self, path: str) -> None:
        """Delete a file that was deleted on the host."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            os.unlink(path)
            self.note_change(path, True)

    def remove_directory(self, path: str) -> None:
        """Delete a directory that was deleted on the host, and all below it."""
        shutil.rmtree(path, ignore_errors=True)
        self.note_change(path, True)

    def remove_others(self, paths: set[str]) -> None:
        """Delete all files but these, and the empty directories that hold none of them."""
        kept = {os.path.dirname(path) for path in paths} | paths
        for folder, folders, names in os.walk(self.root, topdown=False):
            for path in (os.path.join(folder, name) for name in names):
                if without_part(path) not in paths:
                    self.remove(path)
            for path in (os.path.join(folder, name) for name in folders):
                if path not in kept and not os.listdir(path):
                    self.remove_directory(path)

    def empty(self, path: str) -> None:
        """Delete the content of a file, but not its name."""
        with contextlib.suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
            os.truncate(path, 0)

    def placeholder(self, path: str, directory: bool = False) -> None:
        """Create an empty directory, or an empty file for weights: their names show which checkpoints there are."""
        if directory and not os.path.isdir(path):
            self._make_way(os.path.join(path, "x"))
        elif not directory and not os.path.lexists(path):
            self._opened(path).close()
        else:
            return
        self.note_change(path, True)

    def note_change(self, path: str, has_new_name: bool) -> None:
        """Note that a path has changed, for the reader."""
        self.changed.add(path)
        self.names_changed |= has_new_name

    # ------------------------------------------------------------------ space

    def reserve(self, count: int) -> None:
        """Raise OSError (ENOSPC) if the local disk has too little space for more."""
        self._unchecked += count
        if self._unchecked < _FREE_CHECK:
            return
        status = os.statvfs(self.base)
        if status.f_bavail * status.f_frsize - count < min(KEEP_FREE, status.f_blocks * status.f_frsize // 10):
            raise OSError(errno.ENOSPC, f"less than {KEEP_FREE >> 30} GiB is free (TUIMON_MIRROR)", self.where)
        self._unchecked = 0

    def _opened(self, path: str) -> BinaryIO:
        """Open a mirrored file for appending; create it, and its directory."""
        try:
            return open(path, "ab", opener=_private)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            self._make_way(path)
        return open(path, "ab", opener=_private)

    def _make_way(self, path: str) -> None:
        """Create the directory of a file. What is in the way was replaced on the host: a directory by this file, or a
        file by a directory above it."""
        if os.path.isdir(path):
            shutil.rmtree(path)
        above = os.path.dirname(path)
        while above.startswith(self.top + os.sep) and not os.path.isdir(above):
            if os.path.lexists(above):
                os.unlink(above)
            above = os.path.dirname(above)
        _make_directories(os.path.dirname(path))


def component(name: str) -> str:
    """Return the name of a file on the host, which is its name in the mirror, too.

    Raise MirrorError for a name that cannot be one: of several components or lines, or too long.
    """
    if name in ("", ".", "..") or {*"/\0\n"} & {*name} or len(os.fsencode(name)) > MAX_NAME:
        raise MirrorError(f"a name that cannot be mirrored: {clean(name, 60)!r}")
    return name


def without_part(name: str) -> str:
    """Return the name of the database whose -wal or -journal this is: its copies come and go with those of it."""
    return name.removesuffix("-wal").removesuffix("-journal")


class Draft:
    """Context manager: a document that is being received. `commit` puts it in the place of the one in the mirror."""

    def __init__(self, mirror: Mirror, path: str, temporary: str) -> None:
        self._mirror = mirror
        self._path = path
        self._temporary = temporary
        self._file = open(temporary, "w+b", buffering=0, opener=_private)  # noqa: SIM115
        self.size = 0
        """Bytes so far."""

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, *_: object) -> None:
        """Delete what was written, unless it is in the mirror now."""
        self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._mirror.reserve(len(data))
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self.size += len(data)

    def read(self) -> bytes:
        """Return what was written."""
        return os.pread(self._file.fileno(), self.size, 0)

    def truncate(self, size: int) -> None:
        """Drop the bytes from `size` on."""
        self._file.truncate(size)
        self.size = size

    def commit(self, modified: float) -> None:
        """Replace the document in the mirror. modified: time of its last change (s since the epoch)."""
        _stamp(self._file.fileno(), modified)
        os.replace(self._temporary, self._path)
        self._mirror.note_change(self._path, True)


def _make_directories(path: str) -> None:
    """Create a directory and those above it, all private; os.makedirs applies the mode to the last one only."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    except FileNotFoundError:
        _make_directories(os.path.dirname(path))
        _make_directories(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _stamp(file: int | str, modified: float) -> None:
    when = modified if 0 <= modified <= _LATEST else time.time()
    os.utime(file, (when, when))
