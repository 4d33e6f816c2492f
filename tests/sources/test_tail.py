"""Tail: files that grow, on a real file system."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuimon.sources import files
from tuimon.sources import tail as tail_module
from tuimon.sources.document import DocumentFile
from tuimon.sources.files import NotRegular, open_regular
from tuimon.sources.tail import Chunk, Tail


def read(tail: Tail, limit: int = 1 << 20) -> list[Chunk]:
    return list(tail.read_new(limit))


def data(tail: Tail) -> bytes:
    return b"".join(chunk.data for chunk in read(tail))


@pytest.fixture(params=[False, True], ids=["local", "remote"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Tail]:
    path = tmp_path / "log.jsonl"
    return path, Tail(str(path), remote=request.param)


def age(path: Path, seconds: float = 60) -> None:
    """Make the last change old, so that the signature is trusted."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - int(seconds * 1e9)))


def test_growth_truncation_and_rotation(log: tuple[Path, Tail]) -> None:
    path, tail = log
    assert read(tail) == []
    assert (tail.state, tail.message) == ("gone", "no such file")
    path.touch()
    assert read(tail) == []
    assert (tail.state, tail.size, tail.offset, tail.message) == ("current", 0, 0, "")
    for index in range(300):
        with path.open("ab") as file:
            file.write(bytes([index % 256]))
        assert read(tail) == [Chunk(bytes([index % 256]), False)]
    assert (tail.size, tail.offset, tail.modified) == (300, 300, path.stat().st_mtime)
    os.truncate(path, 0)
    assert read(tail) == [Chunk(b"", True)]
    assert tail.offset == 0
    assert read(tail) == []
    path.write_bytes(b"second\n")
    assert read(tail) == [Chunk(b"second\n", False)]
    path.write_bytes(b"3\n")
    assert read(tail) == [Chunk(b"3\n", True)]
    path.rename(path.with_name("log.jsonl.1"))
    assert read(tail) == []
    assert tail.state == "gone"
    path.write_bytes(b"new\n")
    assert read(tail) == [Chunk(b"new\n", True)]
    assert tail.state == "current"


def test_a_settled_file_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 1000)
    age(path)
    tail = Tail(str(path))
    assert data(tail) == b"x" * 1000
    opened: list[str] = []

    def noted(name: str) -> tuple[int, os.stat_result]:
        opened.append(name)
        return open_regular(name)

    monkeypatch.setattr(files, "open_regular", noted)
    assert not tail.pending()
    assert read(tail) == []
    assert opened == []
    path.write_bytes(b"x" * 1001)
    assert data(tail) == b"x"
    assert opened == [str(path)]


ROWS = b"".join(b"%d,0.25\n" % step for step in range(200))
HEADER = b"step,loss\n" * 40


@pytest.mark.parametrize(
    ("before", "after", "restarts"),
    [
        (HEADER + b"1,0.5\n" * 100, HEADER + b"1,0.4\n" * 200, True),  # equal at its beginning, not before the offset
        (b"abc" * 500, b"abd" * 500, True),
        (b"step,loss\n" + ROWS, b"step,loss,reward\n" + ROWS, True),
        (b"old" * 100, b"new" * 200, True),
        (bytes(range(256)) * 8, bytes(range(256)) * 8 + b"more", False),
    ],
)
@pytest.mark.parametrize("how", ["in place", "replaced", "deleted"])
def test_other_content_restarts_and_more_content_continues(
    log: tuple[Path, Tail], how: str, before: bytes, after: bytes, restarts: bool
) -> None:
    path, tail = log
    path.write_bytes(before)
    data(tail)
    if how == "deleted":
        path.unlink()
        assert read(tail) == []
    target = path.with_name("other") if how == "replaced" else path
    target.write_bytes(after)
    target.replace(path)
    assert read(tail) == [Chunk(after if restarts else after.removeprefix(before), restarts)]


def test_rewritten_between_two_chunks_of_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "BLOCK", 1000)
    path = tmp_path / "log"
    head = b"h" * 256
    path.write_bytes(head + b"a" * 2000)
    tail = Tail(str(path))
    chunks = tail.read_new()
    assert next(chunks).data == head + b"a" * 744
    path.write_bytes(head + b"b" * 2000)
    rest = list(chunks)
    assert rest[0].restarted
    assert b"".join(chunk.data for chunk in rest) == path.read_bytes()


def test_limits_stopping_early_and_skips_between_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "BLOCK", 100)
    path = tmp_path / "log"
    content = os.urandom(2000)
    path.write_bytes(content)
    tail = Tail(str(path))
    assert next(iter(tail.read_new())).data == content[:100]
    limited = read(tail, 250)
    assert [len(chunk.data) for chunk in limited] == [100, 100, 50]
    assert tail.pending()
    got = []
    for chunk in tail.read_new():
        got.append(chunk.data)
        tail.skip(50)
    assert b"".join(got) == b"".join(content[i : i + 100] for i in range(350, 2000, 150))


def test_skip_never_goes_past_the_end(log: tuple[Path, Tail]) -> None:
    path, tail = log
    content = os.urandom(5000)
    path.write_bytes(content)
    chunks = tail.read_new(10)
    assert next(chunks).data == content[:10]
    assert tail.skip(3990) == 3990
    assert not list(chunks)
    assert data(tail) == content[4000:]
    path.write_bytes(content[:4500] + os.urandom(1000))
    chunks = tail.read_new(100)
    assert next(chunks).restarted
    assert (tail.skip(9000), tail.skip(1)) == (5400, 0)
    assert not list(chunks)
    with path.open("ab") as file:
        file.write(b"b")
    assert read(tail) == [Chunk(b"b", False)]


@pytest.mark.parametrize("kept", [0, 1000, 3990])
def test_truncated_into_a_skipped_range(log: tuple[Path, Tail], kept: int) -> None:
    """The removed bytes were skipped, not read, so reading starts again."""
    path, tail = log
    path.write_bytes(b"a" * 5000)
    chunks = tail.read_new(4000)
    next(chunks)
    tail.skip(500)
    os.truncate(path, kept)
    assert [chunk.restarted for chunk in (*chunks, *tail.read_new())][:1] == [True]
    assert tail.offset == kept


def test_a_fifo_or_a_device_is_never_opened(tmp_path: Path) -> None:
    fifo, zero, folder = tmp_path / "training_log.json", tmp_path / "metrics.jsonl", tmp_path / "dir.jsonl"
    os.mkfifo(fifo)
    zero.symlink_to("/dev/zero")
    folder.mkdir()
    for path, what in ((fifo, "a FIFO"), (zero, "a device"), (folder, "a directory")):
        tail = Tail(str(path))
        assert read(tail) == []
        assert (tail.state, tail.message) == ("unreadable", f"{what}, not a file")
        assert DocumentFile(str(path)).poll() is None
        with pytest.raises(NotRegular):
            open_regular(str(path))


def test_temporarily_unreadable(tmp_path: Path) -> None:
    path, target = tmp_path / "log", tmp_path / "target"
    path.symlink_to(path)  # a link to itself: the open fails, and not for want of a file
    tail = Tail(str(path))
    assert read(tail) == []
    assert tail.state == "unreadable"
    assert tail.message
    path.unlink()
    target.write_bytes(b"there")
    path.symlink_to(target)
    assert data(tail) == b"there"
    assert tail.state == "current"


operations = st.lists(
    st.tuples(
        st.sampled_from(["append", "truncate", "replace", "rewrite", "copy", "delete", "read"]), st.integers(0, 900)
    ),
    max_size=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations, st.booleans(), st.integers(1, 1000))
def test_chunks_since_the_last_restart_equal_the_file(
    tmp_path: Path, steps: list[tuple[str, int]], remote: bool, limit: int
) -> None:
    path, other = tmp_path / "log", tmp_path / "other"
    path.unlink(missing_ok=True)
    numbers = count()

    def fresh_bytes(size: int) -> bytes:  # never the same twice
        return b"".join(b"%07d|" % next(numbers) for _ in range(size // 8 + 1))[:size]

    tail, given_bytes = Tail(str(path), remote), b""
    for operation, size in [*steps, ("read", 0)]:
        match operation:
            case "append":
                with path.open("ab") as file:
                    file.write(fresh_bytes(size))
            case "truncate" if path.exists():
                os.truncate(path, min(size, path.stat().st_size))
            case "replace":
                other.write_bytes(fresh_bytes(size))
                other.replace(path)
            case "rewrite":
                path.write_bytes(fresh_bytes(size))
            case "copy" if path.exists():
                other.write_bytes(path.read_bytes() + fresh_bytes(size))
                other.replace(path)
            case "delete":
                path.unlink(missing_ok=True)
            case "read":
                for chunk in tail.read_new(limit):
                    given_bytes = chunk.data if chunk.restarted else given_bytes + chunk.data
                if path.exists() and tail.offset == path.stat().st_size:
                    assert given_bytes == path.read_bytes()
    if path.exists():
        while tail.pending() and tail.offset < path.stat().st_size:
            for chunk in tail.read_new(limit):
                given_bytes = chunk.data if chunk.restarted else given_bytes + chunk.data
        assert given_bytes == path.read_bytes()


def test_another_file_with_the_same_beginning_by_inode(tmp_path: Path) -> None:
    """rsync and write-then-rename look the same; only the format knows whether the earlier points are still valid."""
    path, tail = tmp_path / "log", Tail(str(tmp_path / "log"), by_inode=True)
    path.write_bytes(b"a" * 500)
    assert data(tail) == b"a" * 500
    other = tmp_path / "other"
    other.write_bytes(b"a" * 500 + b"more")
    other.replace(path)
    assert read(tail) == [Chunk(b"a" * 500 + b"more", True)]
    with path.open("ab") as file:
        file.write(b"end")
    assert read(tail) == [Chunk(b"end", False)]
