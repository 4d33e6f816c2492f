"""Determine the file system of a path, and whether other machines can change files there without an event here.

inotify reports only what this kernel writes; writes by another machine to a network file system cause no event.
The mount is determined exactly, not by the longest prefix: /proc/self/fdinfo gives the mount of an open descriptor
(`mnt_id`), and /proc/self/mountinfo gives the type of that mount (proc_pid_mountinfo(5)).
"""

from __future__ import annotations

import os

from msgspec import Struct

from tuimon.platform_support import mirror_directory

_REMOTE = (
    *("9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "fuse", "gfs2", "glusterfs", "gpfs", "lustre", "nfs", "ocfs2"),
    *("orangefs", "panfs", "prl_fs", "pvfs2", "smb", "vboxsf", "virtiofs", "vmhgfs", "wekafs"),
)
"""Prefixes of the type names: "nfs4", "fuse.sshfs", "smb3"."""
_LOCAL_FUSE = ("fuseblk", "fuse.fuse-overlayfs")
"""FUSE types on a local disk: all writes pass through this kernel."""
_O_PATH = getattr(os, "O_PATH", 0)


class FileSystem(Struct, frozen=True):
    """Type of a file system."""

    type: str
    """As the kernel names it: "ext4", "nfs4", "fuse.sshfs"; else "unknown"."""
    remote: bool
    """Can files change without an event on this machine?"""


UNKNOWN = FileSystem("unknown", False)


def is_mirrored(path: str) -> bool:
    """Is the path in a mirror of another machine? Nothing on this machine is known about the writers of its files."""
    return f"{path}/".startswith(f"{mirror_directory()}/")


def is_remote(fs_type: str) -> bool:
    """Can files on a file system of this type change without an event on this machine?"""
    return fs_type.startswith(_REMOTE) and fs_type not in _LOCAL_FUSE


def mount_type(mountinfo: str, mount_id: int) -> str | None:
    """File system type of a mount, from the text of /proc/self/mountinfo; None if the mount is not listed."""
    wanted = str(mount_id)
    for line in mountinfo.splitlines():
        fields, separator, rest = line.partition(" - ")
        if separator and fields.split(" ", 1)[0] == wanted:
            return rest.split(" ", 1)[0]
    return None


def kind(path: str) -> FileSystem:
    """File system of `path` or of its nearest existing parent; UNKNOWN if it cannot be determined."""
    while not os.path.exists(path):
        parent = os.path.dirname(path)
        if parent == path or not parent:
            return UNKNOWN
        path = parent
    try:
        mount_id = _mount_id(path)
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            fs_type = None if mount_id is None else mount_type(file.read(), mount_id)
    except OSError:
        return UNKNOWN
    return UNKNOWN if fs_type is None else FileSystem(fs_type, is_remote(fs_type))


def _mount_id(path: str) -> int | None:
    if not _O_PATH:
        return None
    descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    finally:
        os.close(descriptor)
    return int(lines["mnt_id"]) if "mnt_id" in lines else None


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
