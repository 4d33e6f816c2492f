"""Determine the file system of a path, and whether other machines can change files there without an event here.

inotify reports only what this kernel writes; writes by another machine to a network file system cause no event.
"""

from __future__ import annotations

import os

from msgspec import Struct

from tuimon.platform_support import mirror_directory
from tuimon.sources.mounts import is_remote, type_of


class FileSystem(Struct, frozen=True):
    """Type of a file system."""

    type: str
    """As the kernel names it: "ext4", "nfs4", "fuse.sshfs"; else "unknown"."""
    remote: bool
    """Can files change without an event on this machine?"""


UNKNOWN = FileSystem("unknown", False)


def is_mirrored(path: str) -> bool:
    """Is the path in a mirror of another machine? The writers of its files are processes there."""
    return f"{path}/".startswith(f"{mirror_directory()}/")


def kind(path: str) -> FileSystem:
    """File system of `path` or of its nearest existing parent; UNKNOWN if it cannot be determined."""
    while not os.path.exists(path):
        parent = os.path.dirname(path)
        if parent == path or not parent:
            return UNKNOWN
        path = parent
    try:
        fs_type = type_of(path)
    except OSError:
        return UNKNOWN
    return UNKNOWN if fs_type is None else FileSystem(fs_type, is_remote(fs_type))


class Mounts:
    """Determine which directories are on a network file system; cached by device."""

    def __init__(self) -> None:
        self._remote: dict[int, bool] = {}

    def is_remote(self, directory: str) -> bool:
        """Is the directory, or its nearest existing parent, on a network file system, or in a mirror?"""
        if is_mirrored(directory):
            return True
        try:
            device = os.stat(directory).st_dev
        except OSError:
            return kind(directory).remote
        if device not in self._remote:
            self._remote[device] = kind(directory).remote
        return self._remote[device]
