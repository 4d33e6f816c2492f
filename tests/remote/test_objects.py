"""Object stores: a mirror that is filled from a real S3-compatible server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mirrored import until
from support.s3_server import S3Server
from support.samples import samples

from tuimon.remote.link import Keeper
from tuimon.remote.mirror import SAMPLE
from tuimon.remote.sync import connector
from tuimon.remote.targets import parse


def rows(begin: int, end: int) -> bytes:
    return b"".join(
        b'{"step": %d, "train/loss": %.6f, "train/reward": 0.5}\n' % (n, 1 / (1 + n)) for n in range(begin, end)
    )


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as store:
        yield store


@pytest.fixture
def prefix(server: S3Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix of the test's own."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    server.gets()
    return str(request.node.name)


def keeper_of(url: str, where: Path) -> Keeper:
    (target,) = parse(url)
    return Keeper(target, connector(target), where=str(where))


def test_log_that_grows_costs_its_new_bytes(server: S3Server, prefix: str, tmp_path: Path) -> None:
    server.put(f"{prefix}/run/log.jsonl", rows(0, 2000))
    server.put(f"{prefix}/run/notes.bin", b"\0" * 100_000)
    server.put(f"{prefix}/run/checkpoint-10/model.safetensors", b"x" * 100_000)
    keeper = keeper_of(f"s3://runs/{prefix}", tmp_path)
    log = Path(keeper.path) / "run/log.jsonl"
    keeper.start()
    until(lambda: keeper.link.complete, str(keeper.link))
    assert log.read_bytes() == rows(0, 2000)
    assert (Path(keeper.path) / "run/checkpoint-10").is_dir(), "its name says that there is a checkpoint"
    assert {key for key, _ in server.gets()} == {f"{prefix}/run/log.jsonl"}
    server.put(f"{prefix}/run/log.jsonl", rows(0, 2010))
    until(lambda: log.read_bytes() == rows(0, 2010))
    [(_, span)] = server.gets()
    begin, _, end = span.removeprefix("bytes=").partition("-")
    assert int(end) - int(begin) < SAMPLE + len(rows(2000, 2010)) + 1
    keeper.close()
    again = keeper_of(f"s3://runs/{prefix}", tmp_path)
    again.start()
    until(lambda: again.link.complete)
    again.close()
    assert server.gets() == [], "nothing has changed since the last start"
    assert log.read_bytes() == rows(0, 2010)


def test_objects_that_are_replaced_cut_and_deleted(server: S3Server, prefix: str, tmp_path: Path) -> None:
    """Names of objects cannot lead out of the mirror."""
    outside = ("../../out", "a//b", "x/../../../y")
    for name in ("cut", "other", "gone", "kept", *outside):
        server.put(f"{prefix}/{name}.jsonl", rows(0, 1000))
    keeper = keeper_of(f"s3://runs/{prefix}", tmp_path / "mirrors")
    keeper.start()
    until(lambda: keeper.link.complete, str(keeper.link))
    here = Path(keeper.path)
    other = rows(0, 1200).replace(b"0.5", b"0.7")
    server.put(f"{prefix}/cut.jsonl", rows(0, 10))
    server.put(f"{prefix}/other.jsonl", other)
    server.delete(f"{prefix}/gone.jsonl")
    server.put(f"{prefix}/new/log.jsonl", rows(0, 5))
    until(lambda: (here / "new/log.jsonl").exists() and not (here / "gone.jsonl").exists())
    until(lambda: (here / "cut.jsonl").read_bytes() == rows(0, 10))
    until(lambda: (here / "other.jsonl").read_bytes() == other)
    assert (here / "kept.jsonl").read_bytes() == rows(0, 1000)
    keeper.close()
    assert [path for path in tmp_path.rglob("*.jsonl") if not path.is_relative_to(here)] == []


def run_command(cache: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    variables = {**os.environ, "TUIMON_MIRROR": str(cache), **environment}
    return subprocess.run([sys.executable, "-m", "tuimon", *words], env=variables, capture_output=True, check=False)


def test_logs_of_all_formats_are_copied_as_they_are(server: S3Server, prefix: str, tmp_path: Path) -> None:
    first = {id: known[0] for id, known in samples().items() if id != "torch-pickle"}  # its name is enough
    logs = {f"{id}/{sample.path}": sample.data for id, sample in first.items()}
    for name, data in logs.items():
        server.put(f"{prefix}/logs/{name}", data)
    summary = run_command(tmp_path, "summary", "--json", f"s3://runs/{prefix}/logs")
    runs = json.loads(summary.stdout)["runs"]
    assert len(runs) > 20
    assert all(run["path"].startswith(f"s3://runs/{prefix}/logs") for run in runs)
    assert str(tmp_path).encode() not in summary.stdout + summary.stderr
    here = Path(keeper_of(f"s3://runs/{prefix}/logs", tmp_path).path)
    assert {name: (here / name).read_bytes() for name in logs} == logs


def test_errors_are_sentences(server: S3Server, prefix: str, tmp_path: Path) -> None:
    missing = run_command(tmp_path, "summary", f"s3://runs/{prefix}/nothing")
    assert (missing.returncode, missing.stderr.decode()) == (
        3,
        f"tuimon: No such file or directory: s3://runs/{prefix}/nothing\n",
    )
    unknown = run_command(tmp_path, "summary", "nosuch://bucket/logs")
    assert unknown.returncode == 1
    assert b"nosuch://bucket/logs: cannot be opened: Protocol not known: nosuch" in unknown.stderr
    secret = run_command(tmp_path, "summary", "nosuch://me:hunter2@host/logs?token=hunter2")
    assert b"nosuch://me@host/logs: " in secret.stderr
    assert b"hunter2" not in secret.stdout + secret.stderr


def test_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    keeper = keeper_of("s3://runs/logs", tmp_path)
    keeper.start()
    until(lambda: keeper.link.state == "failed")
    keeper.close()
    assert keeper.link.detail == "object stores are read with fsspec: pip install 'tuimon[objects]'"
