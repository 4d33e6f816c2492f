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


WAIT = "until the time of the last change can be trusted"
AT_ONCE = "within the tick of the change before"
Step = tuple[bytes | str | None, bytes | None, str]
"""What is written before a look, what the look returns, and whether that could be loaded."""
LOOKS: dict[str, list[Step]] = {
    "unchanged": [(b'{"a": 1}', b'{"a": 1}', "loaded"), *[(None, None, "")] * 5],
    "half-written": [
        (b"{}", b"{}", "loaded"), (b'{"history": [1, 2', None, ""),
        (b'{"history": [1, 2]}\n\n', b'{"history": [1, 2]}\n\n', ""),
    ],
    "failed": [
        (b"[1}", b"[1}", "failed"), (None, None, ""), (WAIT, b"[1}", "failed"), (None, None, ""), (WAIT, None, ""),
    ],
    "valid again": [(b"{}", b"{}", "loaded"), (b"[,]", b"[,]", "failed"), (b"{}", b"{}", "")],
    "within a tick": [
        (b"[1]", b"[1]", "loaded"), (AT_ONCE, None, ""), (WAIT, b"[2]", "loaded"), (None, None, ""),
    ],
    "renamed": [(b"[1]", b"[1]", "loaded"), ("[3]", b"[3]", "")],
}  # fmt: skip


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("looks", LOOKS.values(), ids=LOOKS)
def test_looks_at_a_document(path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[Step], remote: bool) -> None:
    monkeypatch.setattr(files, "FRESH", 0.05)
    document = DocumentFile(str(path), remote)
    assert document.poll() is None
    assert document.state == "gone"
    for written, expected, then in looks:
        if written == WAIT:
            time.sleep(0.06)
        elif written == AT_ONCE:
            stamp = path.stat().st_mtime_ns
            path.write_bytes(b"[2]")
            os.utime(path, ns=(stamp, stamp))
        elif isinstance(written, str):
            path.with_name("new").write_text(written)
            path.with_name("new").replace(path)
        elif written is not None:
            path.write_bytes(written)
        assert document.poll() == expected
        if then == "loaded":
            document.loaded()
        elif then == "failed":
            document.failed()
    status = path.stat()
    assert (document.size, document.state, document.modified) == (status.st_size, "current", status.st_mtime)


def test_a_document_that_is_never_closed_is_returned_eventually(path: Path) -> None:
    document = DocumentFile(str(path))
    path.write_bytes(b"{}")
    document.poll()
    document.loaded()
    path.write_bytes(b'{"broken": ')
    assert b'{"broken": ' in [document.poll() for _ in range(12)]


def test_a_document_that_changes_at_every_look_is_returned(path: Path) -> None:
    document = DocumentFile(str(path))
    got = []
    for step in range(20):
        path.write_bytes(b"[%s]" % b",".join(b"%d" % i for i in range(step)))
        if (data := document.poll()) is not None:
            got.append(data)
            document.loaded()
    assert got


def test_a_document_that_is_too_large_is_refused(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)
    document = DocumentFile(str(path))
    assert document.poll() is None
    assert (document.state, document.message) == ("unreadable", "larger than 1024 MiB")
