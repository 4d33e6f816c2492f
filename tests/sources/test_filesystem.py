"""File system of a path."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tuimon.sources import mounts
from tuimon.sources.filesystem import FileSystem, kind
from tuimon.sources.mounts import is_remote, mount_type

MOUNTINFO = """\
22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:14 - proc proc rw
36 27 0:33 / /data rw,relatime shared:20 - nfs4 server:/export rw,vers=4.2
37 27 0:34 / /data/with\\040space rw,relatime shared:21 master:3 propagate_from:2 - fuse.sshfs user@host: rw
38 27 8:1 /sub /home rw,noatime - ext4 /dev/sda1 rw
"""


def test_the_type_of_a_mount() -> None:
    assert mount_type(MOUNTINFO, 36) == "nfs4"
    assert mount_type(MOUNTINFO, 37) == "fuse.sshfs"
    assert mount_type(MOUNTINFO, 38) == "ext4"
    assert mount_type(MOUNTINFO, 3) is None
    assert mount_type("no such - format\n\n", 1) is None


NETWORK = "nfs nfs4 cifs smb3 lustre ceph fuse.sshfs fuse.gcsfuse fuse beegfs 9p virtiofs wekafs drvfs gpfs"
LOCAL = "ext4 xfs btrfs overlay tmpfs zfs fuseblk fuse.fuse-overlayfs unknown"


def test_types_that_other_machines_can_change() -> None:
    assert [name for name in f"{NETWORK} {LOCAL}".split() if is_remote(name)] == NETWORK.split()


def test_types_on_this_machine_equal_those_of_stat(tmp_path: Path) -> None:
    names = {"ext2/ext3": "ext4", "overlayfs": "overlay"}
    for path in (str(tmp_path), "/proc"):
        fs_type = subprocess.run(
            ["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True
        ).stdout.strip()
        assert kind(path) == FileSystem(names.get(fs_type, fs_type), False)


def test_a_missing_path_has_the_file_system_of_its_parent(tmp_path: Path) -> None:
    assert kind(str(tmp_path / "not" / "yet")) == kind(str(tmp_path))


def test_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "_O_PATH", 0)
    assert kind(str(tmp_path)) == FileSystem("unknown", False)
