"""Replacing the content of a file: all or nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tuimon.replacing import make_private, replace_content


def test_content_and_permissions_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"old")
    replace_content(file, b"new", 0o600)
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_failure_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    (file / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match=r"config\.toml"):
        replace_content(file, b"new")
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a write does: without a name

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="No space left on device") as error:
        replace_content(tmp_path / "notes.json", b"new")
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(tmp_path / "notes.json"))


def test_a_private_directory_is_closed_to_others_also_if_it_exists(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "tuimon"
    directory.mkdir(parents=True)
    directory.chmod(0o755)
    make_private(directory)
    assert directory.stat().st_mode & 0o777 == 0o700
