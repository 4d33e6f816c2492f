"""Hosts without Python: a root directory with nothing but BusyBox, over ssh, and answers that no script would give."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mirrored import until
from support.sshd import Sshd, descendants, kill

from tuimon.errors import TuimonError
from tuimon.remote import boot, shell, shell_requests
from tuimon.remote.connection import Ended
from tuimon.remote.link import Keeper
from tuimon.remote.protocol import Hello, LinkError
from tuimon.remote.sources import connector
from tuimon.remote.targets import parse

_NONCE = "0123456789abcdef"
_APPLETS = (
    *("sh", "find", "stat", "readlink", "dd", "md5sum", "gzip", "tr", "date", "uname", "wc", "cat"),
    *("echo", "printf", "test", "[", "renice"),
)


def _log(count: int, start: int = 0) -> bytes:
    return b"".join(b'{"step": %d, "loss": %d.5}\n' % (step, step) for step in range(start, start + count))


# ---------------------------------------------------------------------- a real host


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root directory with BusyBox, the libraries that it needs, and logs."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("BusyBox is not installed (busybox)")
    root = tmp_path_factory.mktemp("root")
    linked = subprocess.run(["ldd", busybox], capture_output=True, text=True, check=False).stdout
    for path in (busybox, *re.findall(r"(?:=> |^\s+)(/\S+)", linked, re.MULTILINE)):
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    bin = root / "bin"
    bin.mkdir(exist_ok=True)
    for name in _APPLETS:
        if not (bin / name).exists():
            (bin / name).symlink_to(busybox)
    (root / "dev").mkdir()
    (root / "dev" / "null").touch()  # a device needs privileges
    return root


@pytest.fixture
def logs(root: Path, tmp_path: Path) -> Iterator[Path]:
    """A directory of logs below the root."""
    directory = root / "logs"
    (directory / "grpo").mkdir(parents=True)
    (directory / "grpo" / "log.jsonl").write_bytes(_log(300))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def host(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    directory = tmp_path_factory.mktemp("ssh")
    chroot = shutil.which("chroot", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin")))
    words = [str(chroot), str(root)] if os.geteuid() == 0 else ["unshare", "-r", str(chroot), str(root)]
    if chroot is None or subprocess.run([*words, "/bin/sh", "-c", ":"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not change the root directory")
    wrapper = directory / "login"
    wrapper.write_text(f'#!/bin/sh\nPATH=/bin exec {shlex.join(words)} /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n')
    wrapper.chmod(0o755)
    with Sshd(directory / "server", [f"ForceCommand {wrapper}"]) as server:
        yield server


def _environment(host: Sshd) -> dict[str, str]:
    """Return the variables by which the host is reached, without the path of this machine's Python."""
    return {**host.environment, "TUIMON_REMOTE_PYTHON": ""}


def test_commands_take_a_host_with_busybox_only(host: Sshd, logs: Path, tmp_path: Path) -> None:
    environment = {**os.environ, **_environment(host), "TUIMON_MIRROR": str(tmp_path / "mirror")}
    command = [sys.executable, "-m", "tuimon", "export"]
    here = subprocess.run([*command, str(logs)], capture_output=True, text=True, check=True)
    there = subprocess.run([*command, "gpu01:/logs"], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout == here.stdout
    assert len(there.stdout.splitlines()) == 301


def test_killed_shell_comes_back(host: Sshd, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _environment(host).items():
        monkeypatch.setenv(name, value)
    (target,) = parse("gpu01:/logs")
    keeper = Keeper(target, connector(target), where=str(tmp_path / "mirror"))
    states: list[str] = []
    keeper.on_change = lambda: states.append(keeper.link.state)
    keeper.start()
    try:
        until(lambda: keeper.link.complete, f"{keeper.link}")
        shells = [pid for pid in descendants(host.server) if boot.SHELL in _command_line(pid)]
        assert shells
        kill(shells[-1])
        with (logs / "grpo" / "log.jsonl").open("ab") as file:
            file.write(_log(50, 300))
        here = Path(keeper.path) / "grpo" / "log.jsonl"
        until(lambda: here.read_bytes() == _log(350), f"{keeper.link}")
        until(lambda: keeper.link.state == "live", f"{keeper.link}")
        assert "lost" in states
    finally:
        keeper.close()
    until(lambda: not [pid for pid in descendants(host.server) if boot.SHELL in _command_line(pid)])


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


# ---------------------------------------------------------------------- answers


def test_script_has_the_announced_length() -> None:
    assert f"count={len(shell.script())} " in boot.script()
    assert b"'" not in boot.command().removeprefix("exec /bin/sh -c '").removesuffix("'").encode()


def _introduced() -> shell.ShellPeer:
    peer = shell.ShellPeer(_NONCE, "logs", 1.0)
    assert peer.due(0.0).startswith(shell.script())
    frames = list(peer.feed(f"noise\n{_NONCE} 0 1700000000 gzip gpu 01\n".encode()))
    assert [type(frame) for frame, _ in frames] == [Hello]
    return peer


def test_host_without_stat_is_reported() -> None:
    peer = shell.ShellPeer(_NONCE, "logs", 1.0)
    with pytest.raises(Ended, match="no find, stat") as raised:
        list(peer.feed(f"\n{_NONCE}  1700000000 cat gpu01\n".encode()))
    assert raised.value.final


def test_answer_that_was_not_asked_for_ends_the_connection() -> None:
    peer = _introduced()
    with pytest.raises(LinkError):
        list(peer.feed(f"\n{_NONCE} 0\n".encode() * 2))


def test_long_answer_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_requests, "MAX_REPLY", 1000)
    with pytest.raises(LinkError, match="over the limit"):
        list(_introduced().feed(bytes(1001)))


_LINES = st.tuples(
    st.sampled_from([_NONCE, "", "x"]),
    st.sampled_from(["1:2", ""]),
    st.sampled_from(["41ed", "81a4", "a1ff", "zz", "-1"]),
    st.sampled_from(["0", "5", "9" * 30, "-1", "x"]),
    st.sampled_from(["0", "1700000000", "9" * 30]),
    st.sampled_from(["", "2026-01-01 00:00:00.123456789 +0000", "2026.x"]),
    st.sampled_from(["logs", "logs/a.jsonl", "logs/../../etc/passwd", "/etc/passwd", "logs/a/b.json", ""]),
).map("|".join)


@given(st.lists(st.tuples(st.lists(_LINES, max_size=4).map("\n".join), st.sampled_from("0123")), max_size=12))
def test_any_answers_are_frames_or_refused(answers: list[tuple[str, str]]) -> None:
    peer = _introduced()
    peer.due(0.0)
    try:
        for text, status in answers:
            for frame, payload in peer.feed(f"{text}\n{_NONCE} {status}\n".encode()):
                assert len(payload) <= shell.PIECE
                for id, _ in getattr(frame, "names", ()):
                    peer.encode(look=[[id, 0, 0, 0]], ping=1, sync=1)
            peer.due(1e9)
    except TuimonError:
        pass
