"""What a path's file system is, and whether changes made by other machines escape its notifications.

inotify reports what this kernel writes. On a network file system another machine writes, so no event comes.
The mount is found exactly, not by the longest prefix: the kernel names the mount of an open descriptor in
/proc/self/fdinfo (`mnt_id`), and /proc/self/mountinfo gives that mount's type (proc_pid_mountinfo(5)).
"""

from __future__ import annotations

import os

from msgspec import Struct

_REMOTE = (
    *("9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "fuse", "gfs2", "glusterfs", "gpfs", "lustre", "nfs", "ocfs2"),
    *("orangefs", "panfs", "prl_fs", "pvfs2", "smb", "vboxsf", "virtiofs", "vmhgfs", "wekafs"),
)
"""How the types begin: "nfs4", "fuse.sshfs", "smb3"."""
_LOCAL_FUSE = ("fuseblk", "fuse.fuse-overlayfs")
"""FUSE over a local disk: all writers pass through this kernel."""
_O_PATH = getattr(os, "O_PATH", 0)


class FileSystem(Struct, frozen=True):
    """Type as the kernel names it ("ext4", "nfs4", "fuse.sshfs"; "unknown"), and whether others can write unseen."""

    type: str
    remote: bool


UNKNOWN = FileSystem("unknown", False)


def is_remote(fs_type: str) -> bool:
    """Can files of such a file system change without an event on this machine?"""
    return fs_type.startswith(_REMOTE) and fs_type not in _LOCAL_FUSE


def mount_type(mountinfo: str, mount_id: int) -> str | None:
    """The file system type of a mount in the text of /proc/self/mountinfo, None when it is not there."""
    wanted = str(mount_id)
    for line in mountinfo.splitlines():
        fields, separator, rest = line.partition(" - ")
        if separator and fields.split(" ", 1)[0] == wanted:
            return rest.split(" ", 1)[0]
    return None


def kind(path: str) -> FileSystem:
    """The file system that `path`, or its nearest existing parent, lies on. UNKNOWN where it cannot be told."""
    while not os.path.exists(path):
        parent = os.path.dirname(path)
        if parent == path or not parent:
            return UNKNOWN
        path = parent
    try:
        mount_id = _mount_id(path)
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            found = None if mount_id is None else mount_type(file.read(), mount_id)
    except OSError:
        return UNKNOWN
    return UNKNOWN if found is None else FileSystem(found, is_remote(found))


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
    """Which directories lie on a network file system; asked once a device."""

    def __init__(self) -> None:
        self._remote: dict[int, bool] = {}

    def is_remote(self, directory: str) -> bool:
        """Of a directory that exists; where it does not, that of its nearest parent."""
        try:
            device = os.stat(directory).st_dev
        except OSError:
            return kind(directory).remote
        if device not in self._remote:
            self._remote[device] = kind(directory).remote
        return self._remote[device]
