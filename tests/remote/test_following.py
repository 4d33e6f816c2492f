"""Logs on a host are followed through real shells: growth, replacement, names, links and patterns."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.mirrored import Mirrored, until

from tuimon.remote.mirror import Mirror
from tuimon.sources.tail import Tail

pytestmark = pytest.mark.usefixtures("shell")


def _log(count: int, start: int = 0) -> bytes:
    return b"".join(b'{"step": %d, "loss": %d.5}\n' % (step, step) for step in range(start, start + count))


def test_logs_grow(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "run").mkdir(parents=True)
    log = logs / "run" / "log.jsonl"
    log.write_bytes(_log(100_000))
    os.utime(log, (1.6e9, 1.6e9))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.is_same("run/log.jsonl")
        assert (mirrored.here / "run/log.jsonl").stat().st_mtime == 1.6e9
        inode = (mirrored.here / "run/log.jsonl").stat().st_ino
        for start in range(100_000, 100_050):
            with log.open("ab") as file:
                file.write(_log(1, start))
        (logs / "late").mkdir()
        (logs / "late" / "log.jsonl").write_bytes(_log(3))
        mirrored.until_same("run/log.jsonl", "late/log.jsonl")
        assert (mirrored.here / "run/log.jsonl").stat().st_ino == inode
        late = str(mirrored.here / "late/log.jsonl")
        until(lambda: late in mirrored.hints, "the file is complete before its hint arrives")


def test_log_that_grows_over_the_end_of_a_piece_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "logs" / "log.jsonl"
    log.parent.mkdir()
    log.write_bytes(_log((1 << 20) // len(_log(1, 30_000)), 30_000))
    offsets: list[int] = []
    append = Mirror.append

    def note(self: Mirror, path: str, at: int, *values: object, **options: object) -> None:
        offsets.append(at)
        append(self, path, at, *values, **options)  # type: ignore[arg-type]

    with Mirrored(log.parent, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        monkeypatch.setattr(Mirror, "append", note)
        for step in range(20):
            with log.open("ab") as file:
                file.write(_log(1, 60_000 + step))
            mirrored.until_same("log.jsonl")
    assert (1 << 20) - 512 < min(offsets) < max(offsets) < (1 << 20) + 1000


def test_truncation_replacement_rotation_and_deletion(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    names = ("cut.jsonl", "replaced.jsonl", "train.log", "deleted.jsonl")
    for name in names:
        (logs / name).write_bytes(_log(2000))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        files = {name: (mirrored.here / name).open("rb") for name in names}  # keeps their inodes from being used again
        before = {name: os.fstat(file.fileno()).st_ino for name, file in files.items()}
        with (logs / "cut.jsonl").open("r+b") as file:
            file.truncate(0)
            file.write(_log(10, 7))
        (logs / "new").write_bytes(_log(3000, 5))
        (logs / "new").replace(logs / "replaced.jsonl")
        (logs / "train.log").rename(logs / "train.log.1")
        (logs / "train.log").write_bytes(_log(5, 2000))
        (logs / "deleted.jsonl").unlink()
        mirrored.until_same(*names, "train.log.1")
        assert (mirrored.here / "cut.jsonl").stat().st_ino == before["cut.jsonl"]
        assert (mirrored.here / "replaced.jsonl").stat().st_ino != before["replaced.jsonl"]
        for file in files.values():
            file.close()
        (logs / "deleted.jsonl").write_bytes(_log(1))
        mirrored.until_same("deleted.jsonl")


def test_reopening_costs_names_only(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "log.jsonl").write_bytes(_log(50_000))
    (logs / "log.json").write_text(json.dumps([{"step": step, "loss": 1.5} for step in range(20_000)]))
    os.utime(logs / "log.json", (1.6e9, 1.6e9))
    for _ in range(2):
        with Mirrored(logs, tmp_path / "cache") as mirrored:
            mirrored.until_complete()
            assert mirrored.files() == ["log.json", "log.jsonl"]
            hints = list(mirrored.hints)
        assert mirrored.is_same("log.json")
        assert mirrored.is_same("log.jsonl")
    assert hints == []
    with (logs / "log.jsonl").open("ab") as file:
        file.write(_log(1, 50_000))
    (logs / "log.json").unlink()
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.files() == ["log.jsonl"]
        assert mirrored.is_same("log.jsonl")


@pytest.mark.parametrize(("first", "more"), [(1, 1), (100, 40), (100, 5000), (5000, 1)])
def test_log_that_grew_while_there_was_no_link(tmp_path: Path, first: int, more: int) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "log.jsonl").write_bytes(_log(first))
    for start, count in ((first, more), (first + more, more)):
        with Mirrored(logs, tmp_path / "cache") as mirrored:
            mirrored.until_complete()
            assert mirrored.is_same("log.jsonl")
            until(lambda: mirrored.keeper.link.state == "live", f"{mirrored.keeper.link}")
        with (logs / "log.jsonl").open("ab") as file:
            file.write(_log(count, start))


def test_other_content_under_the_same_name_replaces_the_mirror(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.csv").write_bytes(b"step,loss\n" + b"".join(b"%d,1\n" % step for step in range(5000)))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
    (logs / "a.csv").write_bytes(b"step,reward\n" + b"".join(b"%d,2\n" % step for step in range(6000)))
    (logs / "other.csv").write_bytes(b"step,loss\n1,2\n2,3\n3,4\n4,5\n5,6\n")
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.is_same("a.csv")
    (logs / "a.csv").write_bytes(b"\0" * 9000)
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.files() == ["other.csv"]


def test_documents_are_never_half_new(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    document = logs / "log.json"
    rows = [{"step": step, "loss": step / 7} for step in range(4000)]
    document.write_text(json.dumps(rows[:100]))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        for end in range(200, 4001, 200):
            (logs / "new").write_text(json.dumps(rows[:end]))
            (logs / "new").replace(document)
            assert len(json.loads((mirrored.here / "log.json").read_text())) % 100 == 0
        mirrored.until_same("log.json")


def test_checkpoints_cost_their_names(tmp_path: Path) -> None:
    run = tmp_path / "logs" / "run"
    run.mkdir(parents=True)
    for step in (10, 20, 30, 40):
        folder = run / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(bytes(100_000))
        (folder / "config.json").write_text("{}")
        history = [{"step": at, "loss": 1.0} for at in range(0, step, 5)]
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": history, "global_step": step}))
    (run / "epoch=3.ckpt").write_bytes(bytes(100_000))
    with Mirrored(tmp_path / "logs", tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        states = [f"run/checkpoint-{step}/trainer_state.json" for step in (20, 30, 40)]
        assert mirrored.files() == [*states, "run/epoch=3.ckpt"]
        assert (mirrored.here / "run/epoch=3.ckpt").stat().st_size == 0
        assert (mirrored.here / "run/checkpoint-10").is_dir()
        shutil.rmtree(run / "checkpoint-10")
        (run / "checkpoint-50").mkdir()
        until(lambda: (mirrored.here / "run/checkpoint-50").is_dir())
        until(lambda: not (mirrored.here / "run/checkpoint-10").exists())


def test_newest_three_checkpoints_are_entered(tmp_path: Path) -> None:
    """The number decides where the times are equal, as those of a copied directory."""
    run = tmp_path / "run"
    for step in (8, 9, 10, 11, 100):
        (run / f"checkpoint-{step}").mkdir(parents=True)
        (run / f"checkpoint-{step}" / "log.jsonl").write_bytes(_log(step))
        os.utime(run / f"checkpoint-{step}", (1.6e9, 1.6e9))
    with Mirrored(run, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert sorted(path.name for path in mirrored.here.iterdir()) == sorted(path.name for path in run.iterdir())
        entered = [path.parent.name for path in mirrored.here.rglob("*.jsonl")]
        assert sorted(entered) == ["checkpoint-10", "checkpoint-100", "checkpoint-11"]


def test_links_come_after_real_names(tmp_path: Path) -> None:
    logs, outside = tmp_path / "logs", tmp_path / "outside"
    (logs / "run").mkdir(parents=True)
    outside.mkdir()
    (logs / "run" / "log.jsonl").write_bytes(_log(9))
    (outside / "log.jsonl").write_bytes(_log(9, 3))
    (logs / "latest").symlink_to(logs / "run")
    (logs / "a.jsonl").symlink_to(logs / "run" / "log.jsonl")
    (logs / "elsewhere").symlink_to(outside)
    (logs / "up").symlink_to(tmp_path)
    (logs / "loop").symlink_to(logs / "loop")
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.files() == ["elsewhere/log.jsonl", "run/log.jsonl"]
        assert not any(path.is_symlink() for path in mirrored.here.rglob("*"))


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    logs = os.fsencode(tmp_path / "logs")
    os.mkdir(logs)
    names = [b"r\xe9sum\xe9.jsonl", "日本語 20:15.jsonl".encode(), b"a%2Fb.jsonl", b"line\nbreak.jsonl"]
    for name in names:
        Path(os.fsdecode(logs + b"/" + name)).write_bytes(_log(4))
    with Mirrored(tmp_path / "logs", tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        here = os.listdir(os.fsencode(mirrored.here))
        assert sorted(here) == sorted(names[:3])


def test_names_are_no_words_of_a_shell(tmp_path: Path) -> None:
    logs = tmp_path / "it's $(touch owned) `touch owned`; touch owned"
    names = ["-n.jsonl", "a'b\"c.jsonl", "$(touch owned).jsonl", "`touch owned`.jsonl", "; touch owned #.jsonl"]
    names += [" spaces  at both ends .jsonl", "back\\slash\\n.jsonl", "%s|0|1.jsonl", "tab\t*?[a].jsonl", "!.jsonl"]
    logs.mkdir()
    for name in names:
        (logs / name).write_bytes(_log(3))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert len(mirrored.files()) == len(names)
        for name in names:
            with (logs / name).open("ab") as file:
                file.write(_log(2, 3))
        until(lambda: all(path.read_bytes() == _log(5) for path in mirrored.here.iterdir()))
    assert not list(tmp_path.rglob("owned"))


@pytest.mark.parametrize("pattern", ["*/log.jsonl", "run-[12]/*", "**/log.jsonl"])
def test_host_expands_patterns(tmp_path: Path, pattern: str) -> None:
    for name in ("run-1", "run-2"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "log.jsonl").write_bytes(_log(2))
    (tmp_path / "logs" / "other.csv").write_text("step,loss\n1,2\n")
    with Mirrored(f"{tmp_path}/logs/{pattern}", tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.files() == ["run-1/log.jsonl", "run-2/log.jsonl"]
        assert mirrored.keeper.path.name_of(f"{mirrored.here}/run-1") == f"gpu01:{tmp_path}/logs/run-1"


def test_single_file_and_missing_path(tmp_path: Path) -> None:
    (tmp_path / "any name").write_bytes(_log(4))
    with Mirrored(tmp_path / "any name", tmp_path / "cache") as mirrored:
        until(lambda: mirrored.keeper.link.state == "live")
    (tmp_path / "log.jsonl").write_bytes(_log(4))
    with Mirrored(tmp_path / "log.jsonl", tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.here.read_bytes() == _log(4)
    with Mirrored(tmp_path / "later", tmp_path / "cache") as mirrored:
        until(lambda: mirrored.keeper.link.state == "missing")
        (tmp_path / "later").mkdir()
        (tmp_path / "later" / "log.jsonl").write_bytes(_log(4))
        mirrored.until_same("log.jsonl")
        until(lambda: mirrored.keeper.link.state == "live")


def test_host_is_only_read(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "run").mkdir(parents=True)
    (logs / "run" / "log.jsonl").write_bytes(_log(9))
    (logs / "fifo.jsonl").touch()
    (logs / "fifo.jsonl").unlink()
    os.mkfifo(logs / "fifo.jsonl")
    before = {path: path.stat().st_mtime_ns for path in (logs, logs / "run", logs / "run" / "log.jsonl")}
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert mirrored.files() == ["run/log.jsonl"]
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_followed_file_is_a_stream_for_the_reader(tmp_path: Path) -> None:
    """The reader's Tail reads the same of a mirror as of the original, over growth and truncation."""
    logs = tmp_path / "logs"
    logs.mkdir()
    log = logs / "log.jsonl"
    log.write_bytes(_log(10))
    with Mirrored(logs, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        tail = Tail(str(mirrored.here / "log.jsonl"))
        assert b"".join(chunk.data for chunk in tail.read_new()) == _log(10)
        with log.open("ab") as file:
            file.write(_log(10, 10))
        mirrored.until_same("log.jsonl")
        assert b"".join(chunk.data for chunk in tail.read_new()) == _log(10, 10)
