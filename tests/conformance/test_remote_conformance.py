"""The logs of every format are the same over ssh as on this machine: exports, summaries, skipped files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.samples import samples
from support.sshd import Sshd


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with Sshd(tmp_path_factory.mktemp("ssh")) as server:
        yield server


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all samples of all formats."""
    directory = tmp_path_factory.mktemp("host") / "logs"
    for id, known in samples().items():
        for sample in known:
            path = directory / id / sample.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sample.data)
            os.utime(path, (1.7e9, 1.7e9))
    return directory


def _run(host: Sshd, cache: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **host.environment, "TUIMON_MIRROR": str(cache)}
    return subprocess.run([sys.executable, "-m", "tuimon", *words], env=environment, capture_output=True, check=False)


def test_exports_are_byte_equal(host: Sshd, logs: Path, tmp_path: Path) -> None:
    here = _run(host, tmp_path, "export", "--by-source", str(logs))
    there = _run(host, tmp_path, "export", "--by-source", f"gpu01:{logs}")
    assert (there.stderr, there.returncode) == (here.stderr, here.returncode)
    assert there.stdout == here.stdout
    assert len(here.stdout) > 100_000


def test_summaries_differ_in_the_path_only(host: Sshd, logs: Path, tmp_path: Path) -> None:
    path = logs / "console"
    here = json.loads(_run(host, tmp_path, "summary", "--json", str(path)).stdout)["runs"]
    there = json.loads(_run(host, tmp_path, "summary", "--json", f"gpu01:{path}").stdout)["runs"]
    assert [run["path"] for run in there] == [f"gpu01:{run['path']}" for run in here]
    assert [(run["name"], run["metrics"]) for run in there] == [(run["name"], run["metrics"]) for run in here]
    assert len(here) > 5
