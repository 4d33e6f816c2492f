"""Listing one directory: the files that may be logs, the directories to go on to, and what is wrong with the rest.

One scandir() a directory, one stat() a file that is wanted or a link, none for all others: the type comes with the
entry. No file is opened.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

from tuimon.sources.files import explain, fresh, kind_name
from tuimon.sources.pruning import JSON, KEPT_IN_CHECKPOINT, OF_A_MODEL, SAVED, WEIGHTS, Place, place

Wants = Callable[[str], bool]
"""(path) -> is this file worth listing?"""
Child: TypeAlias = tuple[str, Place, int, bool]
"""A directory in another: (path, place, inode of the entry, is it a link)."""
REVISIT = 60.0
"""Seconds after which a directory is listed again whatever its times say."""
REVISIT_UNRESOLVED = 5.0
CHECKPOINT_SETTLED = 600.0
"""Seconds without a change after which a checkpoint directory is not looked at again."""


class FoundFile(Struct, frozen=True):
    """A regular file that may be a log."""

    path: str
    """Absolute, as named: symbolic links in it are not resolved. Bytes that are not UTF-8 are surrogate escapes."""
    root: str
    """The path asked for below which it was found, absolute; equal to `path` when that is a file."""
    size: int
    """Bytes, when its directory was listed."""
    modified: float
    """Time of the last change, seconds since the epoch, when its directory was listed."""
    inode: tuple[int, int]
    """(device, inode)."""

    @classmethod
    def of(cls, path: str, root: str, status: os.stat_result) -> FoundFile:
        return cls(path, root, status.st_size, status.st_mtime, (status.st_dev, status.st_ino))


class Problem(Struct, frozen=True):
    """Something below the paths asked for that could not be looked at."""

    path: str
    reason: str
    """Short, lower case: "permission denied", "missing", "a FIFO, not a file"."""
    hint: str = ""


class Listing(Struct):
    """What a directory held when it was listed."""

    stamp: tuple[int, ...]
    """Device, inode, and both times of change."""
    modified: float
    listed: float
    """On the monotonic clock."""
    good_for: float
    """Seconds until it is to be listed again."""
    settled: bool = False
    entries: int = 0
    files: list[tuple[FoundFile, bool]] = field(default_factory=list)
    """(file, is it a link)."""
    directories: list[Child] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    """Paths of files that may be a checkpoint each, told by their names alone."""
    problems: list[Problem] = field(default_factory=list)

    def expired(self, now: float) -> bool:
        return not self.settled and now - self.listed >= self.good_for


def list_directory(path: str, root: str, where: Place, status: os.stat_result, wants: Wants, limit: int) -> Listing:
    """What the directory holds; `limit`: entries after which it is left."""
    listing = Listing(stamp_of(status), status.st_mtime, time.monotonic(), 0.0 if fresh(status) else REVISIT)
    listing.settled = where is Place.CHECKPOINT and time.time() - status.st_mtime > CHECKPOINT_SETTLED
    prefix = path if path.endswith("/") else path + "/"
    holds_weights = False
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                listing.entries += 1
                if listing.entries > limit:
                    break
                name = entry.name
                if where is Place.CHECKPOINT:
                    if name.endswith(JSON):
                        if name not in OF_A_MODEL and wants(prefix + name):
                            _take(entry, root, listing, entry.is_symlink())
                    elif name in KEPT_IN_CHECKPOINT and entry.is_dir(follow_symlinks=False):
                        listing.directories.append((prefix + name, where, entry.inode(), False))
                elif name.endswith(WEIGHTS):
                    holds_weights = True
                    if name.endswith(SAVED):
                        listing.saved.append(prefix + name)
                elif entry.is_dir(follow_symlinks=False):
                    _branch(prefix + name, where, entry.inode(), listing, False)
                elif entry.is_symlink():
                    _follow(entry, root, where, listing, wants)
                elif wants(prefix + name):
                    _take(entry, root, listing, False)
    except OSError as error:
        listing.problems.append(Problem(path, explain(error), "check its owner and mode"))
    if where is Place.IN_STORE and holds_weights:
        listing.directories.clear()
    listing.directories.sort()
    listing.saved.sort()
    return listing


def _branch(path: str, parent: Place, inode: int, listing: Listing, is_link: bool) -> None:
    where = place(path, parent)
    if where is not Place.CLOSED:
        listing.directories.append((path, where, inode, is_link))


def _follow(entry: os.DirEntry[str], root: str, where: Place, listing: Listing, wants: Wants) -> None:
    """A symbolic link: to a directory, to a file, or to nothing yet."""
    status, _ = try_stat(entry.path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        _branch(entry.path, where, status.st_ino, listing, True)
    elif wants(entry.path):
        _take(entry, root, listing, True)
    elif status is None:
        listing.good_for = min(listing.good_for, REVISIT_UNRESOLVED)


def _take(entry: os.DirEntry[str], root: str, listing: Listing, is_link: bool) -> None:
    """A file of a wanted name: a log, or a reason why not."""
    status, reason = try_stat(entry.path)
    if status is None:
        listing.good_for = min(listing.good_for, REVISIT_UNRESOLVED)
        if reason != "missing":  # else deleted since it was listed
            listing.problems.append(Problem(entry.path, reason))
    elif stat.S_ISREG(status.st_mode):
        listing.files.append((FoundFile.of(entry.path, root, status), is_link))
    elif not stat.S_ISDIR(status.st_mode):
        listing.problems.append(special(entry.path, status))


def try_stat(path: str) -> tuple[os.stat_result | None, str]:
    """The status of what the path leads to, or None and the reason in a few words."""
    try:
        return os.stat(path), ""
    except FileNotFoundError:
        return None, "a link to nothing" if os.path.islink(path) else "missing"
    except OSError as error:
        return None, explain(error)


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """What tells whether a directory must be listed again."""
    # the second time changes with mode and owner as well, and no one can set it back
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def special(path: str, status: os.stat_result) -> Problem:
    """A FIFO, a device or a socket in the place of a log."""
    return Problem(path, f"{kind_name(status.st_mode)}, not a file", "it is not opened")
