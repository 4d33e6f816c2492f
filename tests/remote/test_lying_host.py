"""A host that lies: nothing is written outside its mirror, and memory and disk stay within limits."""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mirrored import Mirrored, until

from tuimon.remote import boot
from tuimon.remote.mirror import Mirror
from tuimon.remote.protocol import Decoder, LinkError, name_of, name_to
from tuimon.remote.ssh import Transport

_HOST = """
import json, os, struct, sys, time, zlib
sys.stdin.buffer.read(int(sys.argv[1])); first = json.loads(sys.stdin.buffer.readline())
os.write(1, b"\\0tuimon-agent " + first["nonce"].encode() + b"\\n")
deflate = zlib.compressobj(1)
def write(data):
    while data: data = data[os.write(1, data):]
def send(payload=b"", raw=None, **header):
    text = json.dumps(header).encode() if raw is None else raw
    write(deflate.compress(struct.pack("<II", len(text), len(payload)) + text + payload) + deflate.flush(2))
def names(*names, parts=(), saved=()):
    send(t="dir", root=0, parts=list(parts), names=list(enumerate(names)), dated=[], saved=list(saved), single=False)
def data(payload, at=0, id=0, size=1 << 40, mtime=0.0, again=False, new=False):
    send(payload, t="data", id=id, at=at, size=size, mtime=mtime, again=again, new=new)
def blocks(number=0, size=1, part=""):
    names("a.json"); data(b'[{"step": 1, "loss": 2}]')
    send(b"x", t="blocks", id=0, part=part, numbers=[number], size=size, last=True)
def gone(*names, parts=()): send(t="gone", root=0, parts=list(parts), names=list(names))
def zeros():
    while 1: write(deflate.compress(bytes(1 << 20)))
def lengths(header, payload): write(deflate.compress(struct.pack("<II", header, payload) + b"{}"))
def flood():
    names("a.jsonl"); data(row); at = len(row)
    while 1: data(row * 40000, at=at, size=5); at += len(row) * 40000
row = b'{"step": 1, "loss": 2.5}\\n'
send(t="hello", time=time.time(), host="evil\\x1b]0;owned\\x07", python="3\\n4")
"""
LIES = {
    "path": 'names("a.jsonl", parts=["..", "..", "..", ".."], saved=["x.ckpt"])',
    "name": 'names("../../evil.jsonl", "/evil.jsonl", "..", "", "a\\0.jsonl", saved=["../../x/", "/y.ckpt", "../"])',
    "gone": 'gone("gpu01/", "../../", "/", parts=[".."]); gone("./", "/")',
    "unasked": 'data(b"boo")',
    "unasked_document": 'send(b"x", t="blocks", id=0, part="", numbers=[0], size=1, last=True)',
    "part": 'blocks(part="/../x")',
    "gap": 'names("a.jsonl"); data(row); data(b"x", at=10**15)',
    "hole": "blocks(number=60000, size=1 << 30)",
    "size": "blocks(size=1 << 29)",
    "bomb": "lengths(2, 1 << 30); zeros()",
    "header": "lengths(1 << 31, 0); zeros()",
    "flood": "flood()",
    "nesting": 'send(raw=b"[" * 100000 + b"]" * 100000)',
    "type": 'send(t="dir", root="0", parts=3, names=[[0]], dated=[], saved=[])',
    "unknown": 'send(t="execute", command="touch evil")',
    "twice": 'send(t="hello", time=0.0, host="b", python="3")',
    "noise": "write(os.urandom(1 << 20))",
    "end": 'write(deflate.flush(4))\nwrite(b"x" * 99)',
    "time": 'names("a.jsonl"); data(row, mtime=1e30); names("b.jsonl"); time.sleep(0.2)',
    "wide": 'names("日.jsonl")',
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_end_the_connection_at_most(tmp_path: Path, lie: str) -> None:
    script = tmp_path / "host.py"
    script.write_text(_HOST + LIES[lie] + "\n", "utf-8")
    words = (sys.executable, str(script), str(len(boot.agent())))
    cache = tmp_path / "cache"
    outside = sorted(path for path in tmp_path.rglob("*"))
    with Mirrored("/logs", cache, Transport(words), max_bytes=64 << 20) as mirrored:
        until(lambda: mirrored.keeper.link.state in ("lost", "failed"), lie)
        detail = mirrored.keeper.link.detail
        base = Path(mirrored.keeper.mirror.base)
    assert detail.isprintable()
    assert sorted(path for path in tmp_path.rglob("*") if cache not in (path, *path.parents)) == outside
    assert [path for path in cache.iterdir() if path != base] == []
    assert all(Path(mirrored.keeper.mirror.top) in path.parents for path in base.rglob("*.jsonl"))
    assert not any(path.is_symlink() for path in base.rglob("*"))
    assert sum(path.stat().st_blocks * 512 for path in base.rglob("*")) < 80 << 20


def _peak() -> int:
    """Return the greatest memory that this process has had, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


def test_bomb_is_not_inflated(tmp_path: Path) -> None:
    deflate = zlib.compressobj(9)
    bomb = (
        deflate.compress(struct.pack("<II", 2, 1 << 22) + b"{}") + deflate.compress(bytes(200 << 20)) + deflate.flush()
    )
    before = _peak()
    with pytest.raises(LinkError):
        list(Decoder().feed(bomb))
    assert _peak() - before < 100


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes_are_frames_or_refused(data: bytes, cut: int) -> None:
    stream = zlib.compress(data)
    decoder = Decoder()
    try:
        for start in range(0, len(stream), cut):
            list(decoder.feed(stream[start : start + cut]))
    except LinkError as error:
        assert error.message  # noqa: PT017


@given(st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name))
def test_names_travel_as_bytes(name: bytes) -> None:
    text = os.fsdecode(name)
    assert name_of(json.loads(json.dumps(name_to(text)))) == text


def test_names_of_other_characters_are_refused() -> None:
    with pytest.raises(LinkError):
        name_of("日")


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
