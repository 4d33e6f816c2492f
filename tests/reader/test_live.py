"""Logs that change in every way while a real reader process follows them: afterwards the points are exact."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from support.event_points import WALL, event, records, scalar, version
from support.live import Live, all_read, curve, fresh, held
from support.samples import Sample, formats_of, some

from tuimon.monitor import process
from tuimon.monitor.spawn import PIPE_SIZE
from tuimon.reader.process import MANY_GROWING
from tuimon.sources.tail import HEAD
from tuimon.store import Snapshot
from tuimon.testing.given import fed, lies_in

Steps = Sequence[int]
_POINT = 24
"""Bytes of a point in a frame of the reader."""


def value(step: int) -> float:
    return 1 / (step + 1)


def points(steps: Steps) -> list[tuple[int, float]]:
    return [(step, value(step)) for step in steps]


def rows(steps: Steps, metric: str = "loss", **more: object) -> str:
    return "".join(json.dumps({"step": step, metric: value(step), **more}) + "\n" for step in steps)


def append(path: Path, text: str | bytes) -> None:
    with path.open("ab") as file:
        file.write(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text(rows(range(5)))
    return path


@pytest.fixture
def live(request: pytest.FixtureRequest, log: Path) -> Iterator[Live]:
    with Live(log.parent.parent, poll=getattr(request, "param", "events") == "poll") as live:
        live.until_points("loss", points(range(5)))
        yield live


polled_too = pytest.mark.parametrize("live", ["events", "poll"], indirect=True)
"""For changes that the reader notices by events and by looking: a log grows, becomes another one, is gone, is new."""


def test_more_logs_that_grow_at_once_than_the_reader_reads_without_a_rest(tmp_path: Path) -> None:
    logs = [tmp_path / "job" / f"rank_{number}" / "metrics.jsonl" for number in range(MANY_GROWING + 16)]
    for path in logs:
        path.parent.mkdir(parents=True)
        path.write_text(rows(range(3)))
    with Live(tmp_path) as live:
        live.until(all_read)
        for step in range(3, 9):
            for path in logs:
                append(path, rows([step]))
        expected = fresh(tmp_path)
        assert sum(map(len, expected.values())) == 9 * len(logs)
        live.until(lambda snapshot: all_read(snapshot) and held(snapshot) == expected)


# ---------------------------------------------------------------------- writers that die


KILLED = """
import json, os, signal, sys
path, begin, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for step in range(begin, end):
    os.write(file, (json.dumps({"step": step, "loss": 1 / (step + 1)}) + "\\n").encode())
os.write(file, json.dumps({"step": end, "loss": 1 / (end + 1)}).encode()[:int(sys.argv[4])])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("torn", [1, 15])
def test_a_writer_killed_within_a_record_and_restarted(live: Live, log: Path, torn: int) -> None:
    """The torn record is lost, and the row that the next writer continues it with."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(log), "5", "9", str(torn)])
    assert done.returncode == -signal.SIGKILL
    live.until_points("loss", points(range(9)))
    append(log, rows(range(9, 12)))
    live.until_points("loss", [*points(range(9)), *points(range(10, 12))])


def test_an_event_file_that_ends_within_a_record_and_a_new_one(tmp_path: Path) -> None:
    first = tmp_path / "events.out.tfevents.100.host.1.0"
    first.write_bytes(b"".join(records([version(), *(event(step, scalar("loss", step / 2)) for step in range(4))])))
    with Live(tmp_path) as live:
        live.until_points("loss", [(step, step / 2) for step in range(4)])
        append(first, records([event(4, scalar("loss", 2.0))])[0][:-7])
        second = tmp_path / "events.out.tfevents.200.host.2.0"
        again = [event(step, scalar("loss", step / 4), wall=WALL + 50) for step in range(3, 8)]
        second.write_bytes(b"".join(records([version(), *again])))
        live.until_points("loss", [*((step, step / 2) for step in range(3)), *((s, s / 4) for s in range(3, 8))])


def test_a_table_that_ends_within_a_row_is_continued(tmp_path: Path) -> None:
    table = tmp_path / "metrics.csv"
    table.write_text("step,loss\n" + "".join(f"{step},{value(step)!r}\n" for step in range(4)) + "4,0.")
    with Live(tmp_path) as live:
        live.until_points("loss", points(range(4)))
        append(table, "".join(f"{step},{value(step)!r}\n" for step in range(5, 8)))
        wanted = points([*range(4), 6, 7])  # the torn row and the one that was written onto it are one bad row
        live.until_points("loss", wanted)
        assert live.snapshot.runs[0].streams[0].status.damaged == 1


@polled_too
def test_a_killed_reader_is_restarted(live: Live, log: Path) -> None:
    pid = live.monitor.process_id
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    append(log, rows(range(5, 8)))
    live.until(lambda snapshot: any("reader stopped" in notice.message for notice in snapshot.notices))
    live.until_points("loss", points(range(8)))
    live.until(lambda snapshot: [(n.level, n.about) for n in snapshot.notices if n.about] == [("info", "reader")])
    append(log, rows([8]))
    live.until_points("loss", points(range(9)))
    assert live.monitor.process_id != pid


def test_a_stopped_reader_is_reported_and_started_again(live: Live, log: Path) -> None:
    live.until_points("loss", points(range(5)))
    pid = live.monitor.process_id
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    live.until(lambda snapshot: any("reader stopped" in notice.message for notice in snapshot.notices))
    append(log, rows(range(5, 8)))
    live.until_points("loss", points(range(8)))


def test_a_reader_that_waits_for_a_file_system_is_reported_once(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter("SDDDS")
    monkeypatch.setattr(process, "_state_of", lambda pid: next(states))
    monitor = process.ReaderProcess([str(log)])
    levels = []
    with subprocess.Popen(["true"]) as reader:
        for _ in "SDDDS":
            monitor._look_at(reader)
            levels.append([notice.level for notice in monitor.snapshot().notices])
    assert levels == [[], [], ["warning"], ["warning"], ["info"]]


def test_repeated_kills_are_recovered_from(live: Live, log: Path) -> None:
    for kill in range(3):
        live.until_points("loss", points(range(5 + kill)))
        pid = live.monitor.process_id
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        append(log, rows([5 + kill]))
        live.until(lambda snapshot, pid=pid: live.monitor.process_id != pid)  # type: ignore[misc]
    live.until_points("loss", points(range(8)))


def test_a_missing_root_is_reported_until_it_exists_again(live: Live, log: Path) -> None:
    root = log.parent.parent

    def levels(snapshot: Snapshot) -> list[str]:
        return [notice.level for notice in snapshot.notices if notice.about == str(root)]

    shutil.rmtree(root)
    live.until(lambda snapshot: levels(snapshot) == ["warning"])
    log.parent.mkdir(parents=True)
    append(log, rows(range(3)))
    live.until(lambda snapshot: levels(snapshot) == ["info"])
    live.until_points("loss", points(range(3)))


# ---------------------------------------------------------------------- files that change under the reader


@polled_too
def test_a_log_truncated_to_zero_and_written_again(live: Live, log: Path) -> None:
    with log.open("r+b") as file:
        file.truncate(0)
        live.until(all_read)
        file.write(rows(range(3), run="second").encode())
    live.until_points("loss", points(range(3)))
    append(log, rows(range(3, 9), run="second"))
    live.until_points("loss", points(range(9)))
    assert live.snapshot.runs[0].provenance("loss") == (("run/metrics.jsonl", 14),)


def test_a_log_replaced_by_a_longer_copy_of_itself(live: Live, log: Path) -> None:
    copy = log.with_name("metrics.tmp")
    copy.write_text(rows(range(9)))
    copy.replace(log)
    live.until_points("loss", points(range(9)))
    assert live.snapshot.runs[0].provenance("loss") == (("run/metrics.jsonl", 9),)


@polled_too
def test_a_log_replaced_by_another_log(live: Live, log: Path) -> None:
    append(log, rows(range(5, 40)))
    live.until_points("loss", points(range(40)))
    copy = log.with_name("metrics.tmp")
    copy.write_text(rows(range(2, 30), run="second", host="x" * (HEAD // 2)))
    copy.replace(log)
    live.until_points("loss", points(range(30)))
    assert live.snapshot.runs[0].provenance("loss") == (("run/metrics.jsonl", 68),)


@polled_too
def test_a_log_deleted_and_created_again(live: Live, log: Path) -> None:
    log.unlink()
    live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state == "gone")
    assert curve(live.snapshot, "loss") == [(step, repr(value(step))) for step in range(5)]
    log.write_text(rows(range(4, 8), run="second"))
    live.until_points("loss", points(range(8)))


@polled_too
def test_a_run_directory_removed_and_created_again(live: Live, log: Path) -> None:
    shutil.rmtree(log.parent)
    live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state == "gone")
    log.parent.mkdir()
    log.write_text(rows(range(3, 7), run="second"))
    live.until_points("loss", points(range(7)))
    (log.parent / "more.jsonl").write_text(rows(range(4), "reward"))
    live.until_points("reward", points(range(4)))


@polled_too
def test_the_root_removed_and_created_again(live: Live, log: Path) -> None:
    root = log.parent.parent
    shutil.rmtree(root)
    live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state == "gone")
    log.parent.mkdir(parents=True)
    log.write_text(rows(range(3, 7), run="second"))
    live.until_points("loss", points(range(7)))


@polled_too
def test_a_new_run_appears(live: Live, log: Path) -> None:
    second = log.parent.parent / "later" / "logs" / "metrics.jsonl"
    second.parent.mkdir(parents=True)
    second.touch()
    append(second, rows(range(2)))
    live.until_points("loss", points(range(2)), run=1)
    append(second, rows([2]))
    append(log, rows([5]))
    live.until_points("loss", points(range(3)), run=1)
    live.until_points("loss", points(range(6)))


def test_two_hundred_runs_at_once(live: Live, log: Path) -> None:
    root = log.parent.parent
    for number in range(200):
        path = root / f"sweep_{number:03}" / "metrics.jsonl"
        path.parent.mkdir()
        path.write_text(rows([number], "reward") + rows([number + 1], "reward")[:-1])
    live.until(lambda snapshot: len(snapshot.runs) == 201 and all(run.point_count for run in snapshot.runs))
    wanted = fresh(root)
    live.until(lambda snapshot: held(snapshot) == wanted)
    assert len(wanted) == 201
    for number in range(0, 200, 13):
        name = f"sweep_{number:03}/metrics.jsonl"
        [found] = [points for (source, _), points in wanted.items() if source == name]
        assert [step for step, _ in found] == [number, number + 1]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_read_permission_is_revoked_and_restored(live: Live, log: Path) -> None:
    log.chmod(0)
    append_as_owner = rows([5])
    live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state == "unreadable")
    log.chmod(0o600)
    append(log, append_as_owner)
    live.until_points("loss", points(range(6)))


def test_a_disk_that_is_temporarily_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("no tiny file system can be mounted here")
    try:
        log = disk / "metrics.jsonl"
        ballast = disk / "ballast.bin"
        ballast.write_bytes(bytes(52 << 10))
        with Live(disk) as live, log.open("ab", buffering=0) as file:
            step = 0
            while True:
                row = rows([step], note="x" * 90).encode()
                written = file.write(row) if _room(disk) else 0
                if written < len(row):
                    break
                step += 1
            assert written or step > 50
            live.until_points("loss", points(range(step)))
            ballast.unlink()
            append(log, rows(range(step, step + 5)))
            live.until_points("loss", points(range(step + 5)))
    finally:
        subprocess.run(["umount", disk], check=True)


def _room(disk: Path) -> int:
    status = os.statvfs(disk)
    return status.f_bavail * status.f_bsize


# ---------------------------------------------------------------------- what is no log


def test_a_fifo_named_like_a_log_does_not_block(live: Live, log: Path) -> None:
    os.mkfifo(log.with_name("trainer_log.jsonl"))
    os.mkfifo(log.parent / "events.out.tfevents.1.host.1.0")
    append(log, rows([5]))
    live.until_points("loss", points(range(6)))
    log.unlink()
    os.mkfifo(log)
    live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state in ("gone", "unreadable"))
    log.unlink()
    log.write_text(rows(range(8)))
    live.until_points("loss", points(range(8)))


@polled_too
def test_a_loop_of_links_and_a_dangling_link(live: Live, log: Path) -> None:
    (log.parent / "again").symlink_to(log.parent.parent, target_is_directory=True)
    (log.parent / "other.jsonl").symlink_to(log.parent / "nowhere.jsonl")
    append(log, rows([5]))
    live.until_points("loss", points(range(6)))
    assert len(live.snapshot.runs) == 1


# ---------------------------------------------------------------------- garbage in every format's live file


GARBAGE = bytes(range(128, 256)) + b"\0\x01{[\"'" + b"%%" * 40


def middle(sample: Sample) -> int:
    """Offset of the end of a record near the middle."""
    data = sample.data
    if sample.is_text:
        return data.rfind(b"\n", 0, len(data) // 2 + data.find(b"\n") + 1) + 1
    if sample.format.id != "tensorboard":
        return len(data) // 2
    offset = 0
    while offset < len(data) // 2:
        offset += 16 + int.from_bytes(data[offset : offset + 8], "little")
    return offset


live_samples = [some(log_format.id, 3, 120_000)[-1] for log_format in formats_of("stream")]


@pytest.mark.parametrize("sample", live_samples, ids=lambda sample: sample.format.id)
def test_records_after_appended_garbage_are_read(sample: Sample, tmp_path: Path) -> None:
    whole = fed(sample.format, sample.data).series
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True)
    cut = middle(sample)
    path.write_bytes(sample.data[:cut])
    end = b"\n" if sample.is_text else b""
    with Live(tmp_path) as live:
        live.until(all_read)
        append(path, GARBAGE + end)
        live.until(all_read)
        append(path, sample.data[cut:])
        run = live.until(all_read).runs[0]
    actual = {metric: curve(live.snapshot, metric) for metric in run.metrics}
    shown = sample.format.shown_names(str(path)) if sample.format.shown_names else {}
    expected = {shown.get(name, name): [(step, value) for step, value, _ in points] for name, points in whole.items()}
    if len(expected) == len(actual) == 1:  # the path of a file with one metric determines its name
        expected = dict(zip(actual, expected.values(), strict=True))
    lost = sum(map(len, expected.values())) - sum(map(len, actual.values()))
    if sample.is_text or sample.format.id == "tensorboard":
        assert actual == expected
    else:
        assert lies_in(actual, expected)
        assert lost <= 40, "more than the record that contains the garbage"
    assert run.streams[0].status.read == len(sample.data) + len(GARBAGE + end)


live_documents = [some(log_format.id, 1)[0] for log_format in formats_of("document")]


@pytest.mark.parametrize(
    "sample", [s for s in live_documents if not s.format.describes_run], ids=lambda sample: sample.format.id
)
def test_a_temporarily_invalid_document_keeps_its_points(sample: Sample, tmp_path: Path) -> None:
    """The points are kept while the document is invalid, and are the same when it is valid again."""
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True)
    path.write_bytes(sample.data)
    wanted = fresh(tmp_path)
    with Live(tmp_path) as live:
        live.until(lambda snapshot: snapshot.runs and snapshot.progress.caught_up and held(snapshot) == wanted)
        for bad in (sample.data + GARBAGE, GARBAGE, b"", sample.data[: len(sample.data) // 2]):
            path.write_bytes(bad)
            assert held(live.until(all_read)) == wanted
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(sample.data)
        temporary.replace(path)
        live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state == "current")
        assert held(live.until(all_read)) == wanted


def test_a_database_grows_and_is_temporarily_damaged(tmp_path: Path) -> None:
    [sample] = some("mlflow-sqlite", 1)
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True)
    path.write_bytes(sample.data)
    with Live(tmp_path) as live, contextlib.closing(sqlite3.connect(path)) as writer:
        live.until(lambda snapshot: held(snapshot) == fresh(tmp_path))
        writer.execute("pragma journal_mode = wal")
        [run] = writer.execute("select run_uuid from runs limit 1").fetchone()
        row = "insert into metrics (key, value, timestamp, run_uuid, step, is_nan) values (?, ?, ?, ?, ?, ?)"
        for step in range(5):
            nan = step == 3
            writer.execute(row, ("new/loss", 0 if nan else value(step), 1795226147449 + step, run, step, nan))
            writer.commit()
        wanted = [(step, "nan" if step == 3 else repr(value(step))) for step in range(5)]

        def grown(snapshot: Snapshot) -> bool:
            return any(curve(snapshot, "new/loss", index) == wanted for index in range(len(snapshot.runs)))

        before = held(live.until(lambda snapshot: grown(snapshot) and held(snapshot) == fresh(tmp_path)))
        writer.execute("pragma wal_checkpoint(truncate)")
        good = path.read_bytes()
        path.write_bytes(good[:5000])
        damaged = live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state != "current")
        assert held(damaged) == before
        path.write_bytes(good)
        repaired = live.until(lambda snapshot: snapshot.runs[0].streams[0].status.state == "current")
        assert held(repaired) == before


def test_detectors_start_after_the_first_screen(tmp_path: Path) -> None:
    append(tmp_path / "metrics.jsonl", '{"step": 1, "loss": NaN}\n')
    live = Live(tmp_path)
    live.monitor.start(detect=False)
    try:
        live.until(lambda snapshot: snapshot.progress.caught_up)
        append(tmp_path / "metrics.jsonl", '{"step": 2, "loss": NaN}\n')
        live.until_points("loss", [(1, float("nan")), (2, float("nan"))])
        assert live.snapshot.alerts == ()
        live.monitor.detect()
        live.until(lambda snapshot: snapshot.alerts)
    finally:
        live.monitor.close()


@pytest.mark.skipif(not hasattr(psutil.Process, "io_counters"), reason="the system does not report I/O counters")
def test_paused_writes_do_not_block_the_reader(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LONGEST_PAUSE", 60.0)
    many = range(2 * PIPE_SIZE // _POINT)
    log.write_text(rows(many))
    live = Live(log.parent)
    try:
        with live.monitor.pause_writes():
            with live.monitor.pause_writes():
                live.monitor.start()
            reader = psutil.Process(live.monitor.process_id)
            snapshot = live.until(lambda _: reader.io_counters().write_chars >= len(many) * _POINT)
            assert snapshot.version == 0
        live.until_points("loss", points(many))
    finally:
        live.monitor.close()


def test_a_pause_of_writes_ends_by_itself(live: Live, log: Path) -> None:
    with live.monitor.pause_writes():
        append(log, rows(range(5, 9)))
        live.until_points("loss", points(range(9)))
