"""Logs on a host are followed through real shells: growth, replacement, names, links and patterns."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.mirrored import Mirrored, log_rows, until

from tuimon.remote.mirror import Mirror
from tuimon.sources.tail import Tail

every_shell = pytest.mark.usefixtures("shell")


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    path.mkdir()
    return path


COPIED = (
    *("run/log.jsonl", "elsewhere/log.jsonl", "run/checkpoint-20/trainer_state.json"),
    *("run/checkpoint-100/log.jsonl", "run/checkpoint-30/log.jsonl"),
    *("-n.jsonl", "a'b\"c.jsonl", "$(touch owned).jsonl", "`touch owned`.jsonl", "; touch owned #.jsonl", "!.jsonl"),
    *(" spaces  at both ends .jsonl", "back\\slash\\n.jsonl", "%s|0|1.jsonl", "tab\t*?[a].jsonl", "a%2Fb.jsonl"),
    *(os.fsdecode(b"r\xe9sum\xe9.jsonl"), "日本語 20:15.jsonl"),
)
"""Files that are copied. Of five checkpoints, the three newest: the numbers decide, as times of copies are equal."""
LEFT = (
    *("run/checkpoint-9/log.jsonl", "run/checkpoint-8/log.jsonl", "run/checkpoint-20/config.json"),
    *("run/checkpoint-20/model.safetensors", "line\nbreak.jsonl"),
)
"""Files that are not."""
LINKS = {"latest": "run", "a.jsonl": "run/log.jsonl", "elsewhere": "../outside", "up": "..", "loop": "loop"}


@every_shell
def test_a_tree_with_names_that_are_words_of_a_shell(tmp_path: Path) -> None:
    logs, outside = tmp_path / "it's $(touch owned) `touch owned`; touch owned", tmp_path / "outside"
    for name in ("run", "../outside"):
        (logs / name).mkdir(parents=True)
    for name, target in LINKS.items():
        (logs / name).symlink_to(target)
    for name in (*COPIED, *LEFT):
        (logs / name).parent.mkdir(exist_ok=True)
        (logs / name).write_bytes(log_rows(9))
    (logs / "run/epoch=3.ckpt").write_bytes(bytes(100_000))
    os.mkfifo(logs / "fifo.jsonl")
    for checkpoint in logs.glob("run/checkpoint-*"):
        os.utime(checkpoint, (1.6e9, 1.6e9))
    before = {path: path.stat().st_mtime_ns for path in (logs, outside, *logs.glob("run/**"))}
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.files() == sorted((*COPIED, "run/epoch=3.ckpt"))
        assert all(mirrored.is_same(name) for name in COPIED)
        assert (mirrored.here / "run/epoch=3.ckpt").stat().st_size == 0
        assert {path.name for path in mirrored.here.glob("run/*/")} == {path.name for path in logs.glob("run/*/")}
        assert not any(path.is_symlink() for path in mirrored.here.rglob("*"))
        assert {path: path.stat().st_mtime_ns for path in before} == before, "the host is only read"
        for name in COPIED:
            _append(logs / name, log_rows(2, 9))
        shutil.rmtree(logs / "run/checkpoint-8")
        (logs / "run/checkpoint-110").mkdir()
        mirrored.until_same(*COPIED)
        until((mirrored.here / "run/checkpoint-110").is_dir)
        until(lambda: not (mirrored.here / "run/checkpoint-8").exists())
    assert not list(tmp_path.rglob("owned"))


@every_shell
def test_growth_truncation_replacement_rotation_and_deletion(tmp_path: Path, logs: Path) -> None:
    names = ("log.jsonl", "cut.jsonl", "replaced.jsonl", "train.log", "deleted.jsonl")
    for name in names:
        (logs / name).write_bytes(log_rows(2000))
    (logs / "log.jsonl").write_bytes(log_rows(100_000))
    os.utime(logs / "log.jsonl", (1.6e9, 1.6e9))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.is_same("log.jsonl")
        assert (mirrored.here / "log.jsonl").stat().st_mtime == 1.6e9
        files = {name: (mirrored.here / name).open("rb") for name in names}  # keeps their inodes from being used again
        before = {name: os.fstat(file.fileno()).st_ino for name, file in files.items()}
        tail = Tail(str(mirrored.here / "log.jsonl"))
        assert b"".join(chunk.data for chunk in tail.read_new()) == log_rows(100_000)
        for start in range(100_000, 100_050):
            _append(logs / "log.jsonl", log_rows(1, start))
        with (logs / "cut.jsonl").open("r+b") as file:
            file.truncate(0)
            file.write(log_rows(10, 7))
        (logs / "new").write_bytes(log_rows(3000, 5))
        (logs / "new").replace(logs / "replaced.jsonl")
        (logs / "train.log").rename(logs / "train.log.1")
        (logs / "train.log").write_bytes(log_rows(5, 2000))
        (logs / "deleted.jsonl").unlink()
        (logs / "late").mkdir()
        (logs / "late" / "log.jsonl").write_bytes(log_rows(3))
        mirrored.until_same(*names, "train.log.1", "late/log.jsonl")
        for name, is_kept in (("log.jsonl", True), ("cut.jsonl", True), ("replaced.jsonl", False)):
            assert ((mirrored.here / name).stat().st_ino == before[name]) == is_kept
        assert b"".join(chunk.data for chunk in tail.read_new()) == log_rows(50, 100_000)
        late = str(mirrored.here / "late/log.jsonl")
        until(lambda: late in mirrored.hints, "the file is complete before its hint arrives")
        for file in files.values():
            file.close()
        (logs / "deleted.jsonl").write_bytes(log_rows(1))
        mirrored.until_same("deleted.jsonl")


def test_log_that_grows_over_the_end_of_a_piece_is_not_read_again(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logs / "log.jsonl"
    log.write_bytes(log_rows((1 << 20) // len(log_rows(1, 30_000)), 30_000))
    offsets: list[int] = []
    append = Mirror.append

    def note(self: Mirror, path: str, at: int, *values: object, **options: object) -> None:
        offsets.append(at)
        append(self, path, at, *values, **options)  # type: ignore[arg-type]

    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        monkeypatch.setattr(Mirror, "append", note)
        for step in range(8):
            _append(log, log_rows(1, 60_000 + step))
            mirrored.until_same("log.jsonl")
    assert (1 << 20) - 512 < min(offsets) < max(offsets) < (1 << 20) + 1000


@every_shell
def test_changes_while_there_was_no_link(tmp_path: Path, logs: Path) -> None:
    growing = {"one.jsonl": (1, 1), "some.jsonl": (100, 40), "much.jsonl": (100, 5000), "long.jsonl": (50_000, 1)}
    for name, (first, _) in growing.items():
        (logs / name).write_bytes(log_rows(first))
    table = b"".join(b"%d,1\n" % step for step in range(5000))
    for name in ("a.csv", "zeros.csv", "deleted.csv", "kept.csv"):
        (logs / name).write_bytes(b"step,loss\n" + table)
    os.utime(logs / "kept.csv", (1.6e9, 1.6e9))
    for number in range(4):
        with Mirrored(logs, tmp_path / "cache") as mirrored:
            mirrored.until_complete()
            left = {"zeros.csv"} if number > 1 else set()
            assert mirrored.files() == sorted({path.name for path in logs.iterdir()} - left)
            assert all(mirrored.is_same(name) for name in mirrored.files())
            until(lambda mirrored=mirrored: mirrored.keeper.link.state == "live", f"{mirrored.keeper.link}")
        if number == 1:
            assert mirrored.hints == [], "nothing has changed"
            (logs / "deleted.csv").unlink()
            (logs / "a.csv").write_bytes(b"step,reward\n" + table + table)
            (logs / "zeros.csv").write_bytes(b"\0" * 90_000)
        for name, (first, more) in growing.items():
            if number:
                _append(logs / name, log_rows(more, first + more * (number - 1)))


def test_documents_are_never_half_new(tmp_path: Path, logs: Path) -> None:
    rows = [{"step": step, "loss": step / 7} for step in range(4000)]
    (logs / "log.json").write_text(json.dumps(rows[:100]))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        for end in range(200, 4001, 200):
            (logs / "new").write_text(json.dumps(rows[:end]))
            (logs / "new").replace(logs / "log.json")
            assert len(json.loads((mirrored.here / "log.json").read_text())) % 100 == 0
        mirrored.until_same("log.json")


@every_shell
@pytest.mark.parametrize("pattern", ["*/log.jsonl", "run-[12]/*", "**/log.jsonl"])
def test_host_expands_patterns(tmp_path: Path, logs: Path, pattern: str) -> None:
    for name in ("run-1", "run-2"):
        (logs / name).mkdir()
        (logs / name / "log.jsonl").write_bytes(log_rows(2))
    (logs / "other.csv").write_text("step,loss\n1,2\n")
    with Mirrored(f"{logs}/{pattern}", tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.files() == ["run-1/log.jsonl", "run-2/log.jsonl"]
        assert mirrored.keeper.path.name_of(f"{mirrored.here}/run-1") == f"gpu01:{logs}/run-1"


@every_shell
def test_single_file_and_missing_path(tmp_path: Path) -> None:
    (tmp_path / "any name").write_bytes(log_rows(4))
    with Mirrored(tmp_path / "any name", tmp_path / "cache") as mirrored:
        until(lambda: mirrored.keeper.link.state == "live")
    (tmp_path / "log.jsonl").write_bytes(log_rows(4))
    with Mirrored(tmp_path / "log.jsonl", tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.here.read_bytes() == log_rows(4)
    with Mirrored(tmp_path / "later", tmp_path / "cache") as mirrored:
        until(lambda: mirrored.keeper.link.state == "missing")
        (tmp_path / "later").mkdir()
        (tmp_path / "later" / "log.jsonl").write_bytes(log_rows(4))
        mirrored.until_same("log.jsonl")
        until(lambda: mirrored.keeper.link.state == "live")
