"""DocumentFile: documents that are rewritten as a whole, on a real file system."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tuimon.sources import files
from tuimon.sources.document import DocumentFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "training_log.json"


def read(path: Path, content: bytes) -> DocumentFile:
    """Write a document and read it once."""
    path.write_bytes(content)
    document = DocumentFile(str(path))
    document.poll()
    document.loaded()
    return document


@pytest.mark.parametrize("remote", [False, True])
def test_returned_at_the_first_look_and_then_only_when_changed(path: Path, remote: bool) -> None:
    document = DocumentFile(str(path), remote)
    assert document.poll() is None
    assert document.state == "gone"
    path.write_bytes(b'{"a": 1}')
    assert document.poll() == b'{"a": 1}'
    document.loaded()
    assert [document.poll() for _ in range(5)] == [None] * 5
    assert (document.size, document.state, document.modified) == (8, "current", path.stat().st_mtime)


def test_a_half_written_document_is_returned_once_complete(path: Path) -> None:
    document = read(path, b"{}")
    path.write_bytes(b'{"history": [1, 2')
    assert document.poll() is None
    with path.open("ab") as file:
        file.write(b"]}\n\n")
    assert document.poll() == b'{"history": [1, 2]}\n\n'


def test_a_document_that_is_never_closed_is_returned_eventually(path: Path) -> None:
    document = read(path, b"{}")
    path.write_bytes(b'{"broken": ')
    assert b'{"broken": ' in [document.poll() for _ in range(12)]


def test_a_document_that_changes_at_every_look_is_returned(path: Path) -> None:
    document = read(path, b"{}")
    got = []
    for step in range(20):
        path.write_bytes(b"[%s]" % b",".join(b"%d" % i for i in range(step)))
        if (data := document.poll()) is not None:
            got.append(data)
            document.loaded()
    assert got


def test_failed_content_is_returned_again_once_its_time_can_be_trusted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FRESH", 0.05)
    path.write_bytes(b"[1}")
    document = DocumentFile(str(path))
    for _ in range(2):
        assert document.poll() == b"[1}"
        document.failed()
        assert document.poll() is None
        time.sleep(0.06)
    assert document.poll() is None


def test_valid_again_after_a_failure(path: Path) -> None:
    document = read(path, b"{}")
    path.write_bytes(b"[,]")
    assert document.poll() == b"[,]"
    document.failed()
    path.write_bytes(b"{}")
    assert document.poll() == b"{}"  # what is known is there again: no longer bad


def test_a_change_of_the_same_size_within_a_clock_tick(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FRESH", 0.05)
    path.write_bytes(b"[1]")
    stamp = path.stat().st_mtime_ns
    document = DocumentFile(str(path))
    assert document.poll() == b"[1]"
    document.loaded()
    path.write_bytes(b"[2]")
    os.utime(path, ns=(stamp, stamp))
    assert document.poll() is None  # not distinguishable yet
    time.sleep(0.06)
    assert document.poll() == b"[2]"
    document.loaded()
    assert document.poll() is None


def test_replaced_by_rename(path: Path, tmp_path: Path) -> None:
    document = read(path, b"[1]")
    other = tmp_path / "tmp"
    other.write_bytes(b"[2]")
    other.replace(path)
    assert document.poll() == b"[2]"


def test_a_document_that_is_too_large_is_refused(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)
    document = DocumentFile(str(path))
    assert document.poll() is None
    assert (document.state, document.message) == ("unreadable", "larger than 1024 MiB")
