"""A host that lies: nothing is written outside its mirror, and memory and disk stay within limits."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.mirrored import Mirrored, until

from tuimon.remote import posix, tree
from tuimon.remote.host import LinkError
from tuimon.remote.mirror import Mirror
from tuimon.remote.posix import Shell, quoted
from tuimon.remote.ssh import Transport
from tuimon.remote.writers import holders_in, networks_in

_HOST = """
import gzip, os, re, sys, time
def write(data):
    while data: data = data[os.write(1, data):]
def end(data=b""): write(data + b"\\n" + mark + b"\\n")
def entry(path, mode="81a4", size=50, seconds=1700000000, inode=7):
    return f"{mode} 1:{inode} {size} 0 {seconds} {seconds} 2023-11-14 22:13:20.5 +0000|{path}\\n"
row = b'{"step": 1, "loss": 2.5}\\n'
names = ["a.jsonl"]
mode, size, seconds = "81a4", 50, 1700000000
def roots(): return (entry("/logs", "41ed") + "/logs\\n").encode()
def listed():
    files = "".join(entry(f"/logs/./{n}", mode, size, seconds, i) for i, n in enumerate(names))
    return (entry("/logs/.", "41ed") + files).encode()
def read(): return row * 2
def packed(parts): return gzip.compress(b"".join(p + b"\\n" + mark + b"-\\n" for p in parts))
def stats():
    files = "".join(entry(f"/logs/{n}", mode, size, seconds, i) for i, n in enumerate(names))
    return (entry("/logs", "41ed") + files).encode()
def others(): return b""
def answer(command):
    kind = next(k for k in ("find /proc", "find", "dd", "mountinfo", "") if k in command)
    return {"find": listed, "dd": read}.get(kind, others)()
def lie(): pass
exec(sys.argv[1])
for line in sys.stdin:
    if match := re.match("m=([0-9a-f]{32});", line):
        mark = match[1].encode()
    elif line.startswith("echo"):
        end(b"Welcome"); end(b"works %d gzip -1" % time.time())
    elif line.startswith("{ "):
        lie(); end(packed([answer(command) for command in line.split(";e -;")[:-1]]))
    elif line.endswith(";e\\n"):
        end(roots() if line.startswith("p=") else stats() if line.startswith(("g", "q")) else b"")
"""
LIES = {
    "none": "",
    "path": 'names = ["../../../evil.jsonl", "..", "/evil.jsonl", "", "a/../../b.jsonl", "x\\0y.jsonl"]',
    "root": 'roots = lambda: (entry("/../../evil", "41ed") + "/\\n").encode()',
    "folder": 'names, mode = ["../../x", "..", "checkpoint-5"], "41ed"',
    "link": 'names, mode = ["a.jsonl"], "a1ff"',
    "flood": "read = lambda: row * 100000",
    "size": "size = 1 << 39",
    "time": "seconds = 99999999999",
    "garbage": "listed = lambda: os.urandom(1 << 16)",
    "many": 'names = ["%d.jsonl" % n for n in range(3000)]',
    "bomb": "packed = lambda parts: gzip.compress(bytes(200 << 20))",
    "raw": "packed = lambda parts: os.urandom(1000)",
    "short": "packed = lambda parts: gzip.compress(b'')",
    "twice": "lie = lambda: [end(), end(), end(), end(), end(), end(), end()]",
    "endless": "lie = lambda: [write(bytes(1 << 20)) for _ in range(200)]",
    "hello": "write(b'x' * (5 << 20)); time.sleep(60)",
    "nothing": "sys.exit(3)",
    "proc": "others = lambda: b'0\\n5 0\\n81a4 1:0 /proc/9999999999999999999/fd/1\\n'",
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_end_the_connection_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    monkeypatch.setattr(tree, "MAX_FILES", 2000)
    script = tmp_path / "host.py"
    script.write_text(_HOST, "utf-8")
    words = (sys.executable, str(script), LIES[lie])
    cache = tmp_path / "cache"
    outside = sorted(tmp_path.rglob("*"))
    with Mirrored("/logs", cache, Transport(words), max_bytes=64 << 20) as mirrored:
        link = mirrored.keeper.link
        until(lambda: link.state in ("lost", "failed", "missing", "live"), f"{lie}: {link}")
        if lie == "none":
            mirrored.until_complete()
            assert (mirrored.here / "a.jsonl").read_bytes() == b'{"step": 1, "loss": 2.5}\n' * 2
        assert (link.detail == "more than 2000 files may be logs") == (lie == "many")
        assert link.detail.isprintable()
        base = Path(mirrored.keeper.mirror.base)
    assert sorted(path for path in tmp_path.rglob("*") if cache not in (path, *path.parents)) == outside
    assert [path for path in cache.iterdir() if path != base] == []
    assert all(Path(mirrored.keeper.mirror.top) in path.parents for path in base.rglob("*.jsonl"))
    assert not any(path.is_symlink() for path in base.rglob("*"))
    assert sum(path.stat().st_blocks * 512 for path in base.rglob("*")) < 80 << 20


def _peak() -> int:
    """Return the greatest memory that this process has had, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


def test_bomb_is_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posix, "MAX_ANSWER", 8 << 20)
    deflate = zlib.compressobj(9, wbits=31)
    bomb = deflate.compress(bytes(200 << 20)) + deflate.flush()
    before = _peak()
    with pytest.raises(LinkError):
        posix._unpacked(bomb)
    assert _peak() - before < 100


_LINES = st.tuples(
    st.sampled_from(["41ed", "81a4", "a1ff", "zz", "-1", "9" * 30]),
    st.sampled_from(["1:2", "", "1:" + "9" * 50]),
    st.sampled_from(["0", "5", "9" * 30, "-1", "x"]),
    st.sampled_from(["0", "7", "9" * 30]),
    st.sampled_from(["W", "-", "1700000000", "9" * 30, "\u0665"]),
    st.sampled_from(["0", "1700000000", "-5", "9" * 30]),
    st.sampled_from(
        ["", "2026-01-01 00:00:00.123456789 +0000|", "2026.x|logs", "|logs/./a", "|logs/../../etc", "|logs/."]
    ),
).map(" ".join)


@given(st.lists(_LINES, max_size=6).map("\n".join) | st.binary(max_size=200).map(os.fsdecode))
def test_any_answer_is_entries_below_what_was_asked(text: str) -> None:
    process = subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    async def ask() -> dict[str, dict[str, object]]:
        shell = Shell(process, "logs")

        async def answer(command: str, cost: int = 0) -> bytes:
            return os.fsencode(text)

        shell._ask = shell._ask_much = answer  # type: ignore[method-assign, assignment]
        holders_in(os.fsencode(text))
        networks_in(os.fsencode(text))
        for root in await shell.roots():
            assert root.parts == ()
        return dict(await shell.list(["logs"]))

    found = asyncio.run(ask())
    shell_ends = process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    assert shell_ends == 0
    assert set(found) <= {"logs"}
    assert not any("/" in name for names in found.values() for name in names)


_BYTES = st.binary(min_size=1, max_size=60).filter(lambda name: b"\0" not in name)


@given(st.lists(_BYTES, min_size=1, max_size=20))
@example([b"'", b"$(id)", b"`id`", b"\\", b"\n", b"-n", b"~", b"*", b"\x81\x88", b'"', b"a b", b"!x"])
def test_any_path_is_one_word_of_a_command(paths: list[bytes]) -> None:
    names = [os.fsdecode(path) for path in paths]
    script = "".join(f"printf '%s\\0' {quoted(name)}\n" for name in names)
    done = subprocess.run(["/bin/sh"], input=os.fsencode(script), capture_output=True, check=True)
    expected = [f"./{name}" if name.startswith("-") else name for name in names]
    assert done.stdout == b"".join(os.fsencode(name) + b"\0" for name in expected)


def test_mirror_is_the_only_argument_of_paths(tmp_path: Path) -> None:
    """The names of the host and of the user cannot lead out of the directory of mirrors either."""
    from tuimon.remote.targets import Target

    for host in ("..", "a/../../b", "-x", "a\nb", "." * 300):
        for path in ("/", "../../..", "~", "/../../etc", "a" * 200):
            try:
                mirror = Mirror(Target("ssh", host, path, "x"), str(tmp_path))
            except Exception as error:  # noqa: BLE001  a name that cannot be one
                assert "cannot be mirrored" in str(error)  # noqa: PT017
                continue
            assert Path(mirror.root).resolve().is_relative_to(tmp_path / mirror.base / "tree")


@pytest.mark.parametrize("turns", range(5))
def test_a_connection_that_is_cancelled_early_closes_its_pipes(turns: int) -> None:
    process = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    class Started(Transport):
        def start(self, batch: bool) -> subprocess.Popen[bytes]:
            return process

    async def cancel() -> None:
        connecting = asyncio.create_task(Shell.connect(Started([]), "logs", batch=True))
        for _ in range(turns + 1):
            await asyncio.sleep(0)
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)

    asyncio.run(cancel())
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    assert [stream.closed for stream in (process.stdin, process.stdout, process.stderr)] == [True] * 3
    assert process.returncode is not None
