"""Recognised files that cannot be read are reported with advice: in the status, in a notice, on the screen."""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.event_reading import EventLog, read_all

from tuimon.commands import main
from tuimon.errors import NothingFound
from tuimon.formats import all_formats, recognise
from tuimon.model.events import Notice
from tuimon.model.views import Role
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.reader import Collector
from tuimon.sources.other_files import other_files
from tuimon.tui.bars import AlertBar
from tuimon.tui.screens.health import note_entries

CLOUD = Path("cloud") / "wandb" / "run-20261121_014500-a1b2c3d4" / "files" / "wandb-metadata.json"
ADVICE = next(f for f in all_formats() if f.id == "aim").unsupported


def put(path: Path, content: bytes, age: float = 3600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.fixture
def aim(tmp_path: Path, data: Path) -> Path:
    """A project with an Aim repository written by aim."""
    content = gzip.decompress((data / "aim" / ".aim" / "run_metadata.sqlite.gz").read_bytes())
    put(tmp_path / "project" / ".aim" / "run_metadata.sqlite", content)
    return tmp_path / "project"


def metrics(path: Path) -> None:
    put(path, b'{"step": 1, "loss": 0.5}\n')


def test_formats_are_named_only_for_files_of_other_kinds(tmp_path: Path) -> None:
    collector = Collector([str(tmp_path)])
    for content, named in ((b"", False), (b'{"a": "b"}', True)):
        put(tmp_path / "metrics.json", content)
        read_all(collector)
        with pytest.raises(NothingFound) as raised:
            collector.require_something()
        assert ("TensorBoard" in raised.value.hint) == named


@pytest.mark.parametrize(
    ("name", "content", "patterns", "reason"),
    [
        (
            "own.log",
            b">> upd#0 | 3.25\n\n>> upd#1 | 3.5\n",
            (),
            "lines have numbers in an unknown form, such as `>> upd#1 | 3.5`",
        ),
        (
            "own.log",
            b"".join(b"<<%d>> qwx~0.%d5 (yyy 3.%dms) ok\n" % (row, row, row) for row in range(9)),
            (),
            'console_patterns = ["<<{step}>> qwx~{qwx} (yyy {yyy}ms"] reads them',
        ),
        (
            "own.log",
            b">> upd#0 | 3.25\n",
            ("other {x}",),
            "1 of the first 1 lines have numbers, and console_patterns match none",
        ),
        ("own.log", b"no numbers\n", (), "not a metric log"),
        ("x.log.xz", b"\xfd7zXZ\0", (), "xz is not read: unpack it"),
    ],
)
def test_reason_why_a_file_is_not_read(
    tmp_path: Path, name: str, content: bytes, patterns: tuple[str, ...], reason: str
) -> None:
    path = put(tmp_path / name, content)
    collector = Collector([str(path)], console_patterns=patterns)
    read_all(collector)
    assert reason in dict(collector.skipped)[str(path)]


def test_many_texts_that_are_not_understood_give_one_notice(tmp_path: Path) -> None:
    for number in range(30):
        put(tmp_path / f"{number:02}.log", b"".join(b"<<%d>> qwx~0.%d5\n" % (row, row) for row in range(9)))
    collector = Collector([str(tmp_path)])
    [notice] = [event for event in collector.find() if isinstance(event, Notice)]
    assert notice.message.startswith(f"{tmp_path}/00.log: ")
    assert notice.message.endswith("; and 29 more")
    assert not [*collector.find()]


def test_files_with_other_names_are_named_with_the_reason(tmp_path: Path) -> None:
    metrics(tmp_path / "metrics.jsonl")
    for name in ("h.npz", "log.zst", "notes.md", "run.pkl"):
        put(tmp_path / "sub" / name, b"x")
    collector = Collector([str(tmp_path)])
    read_all(collector)
    files = other_files(collector.searched_directories, {str(tmp_path / "metrics.jsonl")})
    assert {os.path.basename(path): reason.split(" ")[0] for path, reason in files} == {
        "h.npz": "npz",
        "log.zst": "zst",
        "notes.md": "no",
        "run.pkl": "pkl",
    }


def test_doctor_names_texts_that_samples_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics(tmp_path / "metrics.jsonl")
    put(tmp_path / "texts.jsonl", b'{"input": "q", "output": "a", "score": 1.0, "step": 1}\n')
    put(tmp_path / "rollout_data" / "1.pt", b"x")
    assert main(["doctor", "--all", str(tmp_path)]) == 0
    kinds = dict(
        line.split(": ")[1::-1] for line in capsys.readouterr().out.splitlines() if str(tmp_path) + "/" in line
    )
    assert kinds[str(tmp_path / "texts.jsonl")] == "generated texts"
    assert kinds[str(tmp_path / "rollout_data" / "1.pt")] == "skipped"


def test_a_repository_alone_beside_a_run_and_above_several(aim: Path) -> None:
    alone = EventLog().feed(read_all(Collector([str(aim)])))
    assert [run.path for run in alone.runs.values()] == [str(aim)]
    [status] = alone.status.values()
    assert (status.state, status.message) == ("unsupported", ADVICE)
    [notice] = alone.notices
    assert (notice.level, notice.hint) == ("warning", ADVICE)
    assert notice.message.endswith("Aim repository, not read")
    metrics(aim / "metrics.jsonl")
    beside = EventLog().feed(read_all(Collector([str(aim)])))
    assert len(beside.runs) == len(beside.notices) == 1
    assert {status.state for status in beside.status.values()} == {"unsupported", "current"}
    (aim / "metrics.jsonl").unlink()
    for seed in range(2):
        metrics(aim / f"seed{seed}" / "metrics.jsonl")
    collector = Collector([str(aim)])
    above = EventLog().feed(read_all(collector))
    assert sorted(Path(run.path).name for run in above.runs.values()) == ["seed0", "seed1"]
    assert [notice.hint for notice in above.notices] == [ADVICE]
    assert [reason for _, reason in collector.skipped] == [ADVICE]
    assert collector.partly_unreadable
    assert not EventLog().feed(collector.find()).notices
    for name in ("one", "two", "three"):
        put(aim.parent / name / ".aim" / "run_metadata.sqlite", (aim / ".aim" / "run_metadata.sqlite").read_bytes())
    assert len(EventLog().feed(read_all(Collector([str(aim.parent)]))).notices) == 1, "one notice of a format"


def test_the_screen_shows_the_notice(aim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics(aim / "metrics.jsonl")
    monitor = LocalMonitor([aim])
    monitor.update()
    snapshot = monitor.snapshot()
    [run] = snapshot.runs
    rows = ["".join(text for text, _ in entry.row) for entry in note_entries(snapshot, run)]
    assert sum(ADVICE in row for row in rows) == 2  # under the notices, and at the file
    assert any("unsupported" in row and ".aim/run_metadata.sqlite" in row for row in rows)
    bar = AlertBar()._content(snapshot, run, 500)
    assert bar[1][1] is Role.WARNING
    assert "Aim repository, not read" in bar[1][0]
    assert main(["doctor", "--strict", str(aim)]) == 5
    assert ADVICE in capsys.readouterr().out


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Path:
    """A W&B run of which only files/ exists."""
    put(tmp_path / CLOUD, (data / CLOUD).read_bytes())
    return (tmp_path / CLOUD).parents[1]


def test_a_run_whose_metrics_are_on_a_server(run: Path, data: Path) -> None:
    with pytest.raises(NothingFound, match="its metrics are only on W&B's server"):
        open_run(run)
    metrics(run.parents[1] / "other" / "metrics.jsonl")
    heard = EventLog().feed(read_all(Collector([str(run.parents[1])])))
    assert [Path(run_found.path).name for run_found in heard.runs.values()] == ["other"]
    [notice] = heard.notices
    assert "W&B metadata, without metrics" in notice.message
    log_format = recognise(
        "/x/swanlog/run-20261121_014524-37c89120/files/swanlab-metadata.json",
        next((data / "cloud" / "swanlog").rglob("*.json")).read_bytes(),
    )
    assert log_format is not None
    assert "cloud mode" in log_format.without_metrics


def test_a_new_run_has_time_to_write_its_metrics(run: Path, data: Path) -> None:
    os.utime(run / "files" / "wandb-metadata.json")
    metrics(run.parents[1] / "other" / "metrics.jsonl")
    collector = Collector([str(run.parents[1])])
    heard = EventLog().feed(read_all(collector))
    assert not heard.notices
    put(run / "run-a1b2c3d4.wandb", (data / "wandb" / "core_0_17.wandb").read_bytes(), age=0)
    heard.feed(read_all(collector))
    assert not heard.notices
    assert not collector.partly_unreadable
    assert any(".wandb::" in name for name in heard.points)


@contextmanager
def as_another_user() -> Iterator[None]:
    """Give up the right of root to open every file."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_a_log_that_cannot_be_opened_is_named_until_it_can() -> None:
    with tempfile.TemporaryDirectory() as root:  # not below tmp_path, which belongs to root alone
        Path(root).chmod(0o755)
        metrics(Path(root) / "a" / "metrics.jsonl")
        metrics(closed := Path(root) / "b" / "metrics.jsonl")
        read_all(Collector([root]))  # imports what is needed: the other user may not be allowed to read it
        closed.chmod(0)
        heard, collector = EventLog(), Collector([root])
        with as_another_user():
            for _ in range(2):
                heard.feed(read_all(collector))
        assert [(notice.level, notice.message) for notice in heard.notices] == [
            ("warning", f"{closed}: permission denied")
        ]
        assert collector.partly_unreadable
        assert [run.name for run in heard.runs.values()] == ["a"]
        closed.chmod(0o644)
        with as_another_user():
            heard.feed(read_all(collector))
        assert heard.notices[-1].message == f"{closed}: no longer permission denied"
        assert not collector.partly_unreadable
        assert sorted(run.name for run in heard.runs.values()) == ["a", "b"]
