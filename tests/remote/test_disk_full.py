"""A real full disk below the mirror: the state of the link says it, what is here stays, and free space ends it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mirrored import Mirrored, log_rows, until

from tuimon.remote import link as links
from tuimon.remote import mirror as mirrors


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of its own, of 4 MiB, with the options of the parameter."""
    path = tmp_path / "disk"
    path.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", request.param, "tmpfs", str(path)]
    try:
        mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system can be mounted by root only")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.parametrize("disk", ["size=4m", "size=4m,nr_inodes=20"], indirect=True, ids=["bytes", "inodes"])
def test_full_disk_is_a_state_until_there_is_space(tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "RETRY_FULL", 0.2)
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "log.jsonl").write_bytes(log_rows(10))
    with Mirrored(logs, disk) as mirrored:
        mirrored.until_complete()
        room = os.statvfs(disk)
        fill_inodes = room.f_files < 100
        if fill_inodes:
            fillers = [disk / f"filler{number}" for number in range(room.f_favail)]
            for filler in fillers:
                filler.touch()
            (logs / "eval.jsonl").write_bytes(log_rows(5))
        else:
            monkeypatch.setattr(mirrors, "KEEP_FREE", 0)  # so that a write fails, and not the check before it
            fillers = [disk / "filler"]
            fillers[0].write_bytes(bytes(room.f_bavail * room.f_frsize - (64 << 10)))
            (logs / "log.jsonl").write_bytes(log_rows(10_000))
        until(lambda: "local disk full" in mirrored.keeper.link.detail, str(mirrored.keeper.link))
        assert mirrored.keeper.link.state in ("failed", "connecting")
        here = (mirrored.here / "log.jsonl").read_bytes()
        assert (logs / "log.jsonl").read_bytes().startswith(here)
        assert here
        for filler in fillers:
            filler.unlink()
        mirrored.until_same("log.jsonl", *(["eval.jsonl"] if fill_inodes else []))
        until(lambda: mirrored.keeper.link.state == "live", str(mirrored.keeper.link))
        assert mirrored.keeper.link.detail == ""


@pytest.mark.parametrize("disk", ["size=4m,nr_inodes=20"], indirect=True)
def test_mirror_that_cannot_begin_is_an_error_of_the_disk(tmp_path: Path, disk: Path) -> None:
    for number in range(os.statvfs(disk).f_favail):
        (disk / f"filler{number}").touch()
    with pytest.raises(OSError, match="No space left"):
        Mirrored(tmp_path, disk)
