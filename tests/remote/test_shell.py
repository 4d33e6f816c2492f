"""Hosts with nothing but BusyBox: a root directory of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mirrored import Mirrored, log_rows

from tuimon.remote.ssh import Transport

_APPLETS = (
    *("sh", "find", "stat", "readlink", "dd", "gzip", "grep", "id", "date", "wc", "cat"),
    *("echo", "printf", "test", "[", "renice"),
)


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
    (directory / "grpo" / "log.jsonl").write_bytes(log_rows(300))
    yield directory
    shutil.rmtree(directory)


def _chrooted(root: Path) -> list[str]:
    """Return the words in front of a command that runs it with another root directory and PATH."""
    chroot = shutil.which("chroot", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin")))
    words = [str(chroot), str(root)] if os.geteuid() == 0 else ["unshare", "-r", str(chroot), str(root)]
    if chroot is None or subprocess.run([*words, "/bin/sh", "-c", ":"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not change the root directory")
    return ["env", "PATH=/bin", *words]


@pytest.mark.parametrize("missing", [(), ("gzip",), ("wc",), ("grep", "readlink", "id", "renice", "cat")])
def test_commands_that_are_missing_cost_nolog_rows(
    root: Path, logs: Path, tmp_path: Path, missing: tuple[str, ...]
) -> None:
    """Without gzip all is sent as it is; without the others links, writers or clocks are not known."""
    (logs / "grpo" / "big.jsonl").write_bytes(log_rows(100_000))
    words = _chrooted(root)
    for name in missing:
        (root / "bin" / name).unlink()
    try:
        with Mirrored("/logs", tmp_path / "cache", Transport((*words, "/bin/sh"))) as mirrored:
            mirrored.source = logs
            mirrored.until_complete()
            assert mirrored.is_same("grpo/log.jsonl")
            assert mirrored.is_same("grpo/big.jsonl")
            with (logs / "grpo" / "log.jsonl").open("ab") as file:
                file.write(log_rows(5, 300))
            mirrored.until_same("grpo/log.jsonl")
    finally:
        for name in missing:
            (root / "bin" / name).symlink_to((root / "bin" / "sh").readlink())
