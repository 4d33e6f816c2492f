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
from tuimon.formats import all_formats
from tuimon.model.views import Role
from tuimon.monitor.local import LocalMonitor
from tuimon.reader import Collector
from tuimon.sources.other_files import other_files
from tuimon.tui.bars import AlertBar
from tuimon.tui.screens.health import note_entries

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


def test_text_that_no_pattern_of_the_user_matches(tmp_path: Path) -> None:
    path = put(tmp_path / "own.log", b">> upd#0 | 3.25\n")
    collector = Collector([str(path)], console_patterns=("other {x}",))
    read_all(collector)
    [reason] = dict(collector.skipped).values()
    assert "1 of the first 1 lines have numbers, and console_patterns match none" in reason


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
