"""Determine the type of the file system of a path, and whether other machines can change files on such a file system.

The mount is determined exactly, not by the longest prefix: /proc/self/fdinfo gives the mount of an open descriptor
(`mnt_id`), and /proc/self/mountinfo gives the type of that mount (proc_pid_mountinfo(5)).
"""

import os

_REMOTE_TYPES = (
    *("9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "fuse", "gfs2", "glusterfs", "gpfs", "lustre", "nfs", "ocfs2"),
    *("orangefs", "panfs", "prl_fs", "pvfs2", "smb", "vboxsf", "virtiofs", "vmhgfs", "wekafs"),
)  # prefixes of the type names: "nfs4", "fuse.sshfs", "smb3"
_LOCAL_FUSE = ("fuseblk", "fuse.fuse-overlayfs")  # FUSE types on a local disk: all writes pass through this kernel
_O_PATH = getattr(os, "O_PATH", 0)


def is_remote(fs_type: str) -> bool:
    """Can files on a file system of this type change without an event on this machine?"""
    return fs_type.startswith(_REMOTE_TYPES) and fs_type not in _LOCAL_FUSE


def mount_type(mountinfo: str, mount_id: int) -> str | None:
    """File system type of a mount, from the text of /proc/self/mountinfo; None if the mount is not listed."""
    wanted = str(mount_id)
    for line in mountinfo.splitlines():
        fields, separator, rest = line.partition(" - ")
        if separator and fields.split(" ", 1)[0] == wanted:
            return rest.split(" ", 1)[0]
    return None


def type_of(path: str) -> str | None:
    """File system type of an existing path; None if it cannot be determined. Raise OSError."""
    mount_id = _mount_id(path)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return None if mount_id is None else mount_type(file.read(), mount_id)


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
