"""Logs that change in every way while a real reader process follows them: afterwards the points are exact."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
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
def live(log: Path) -> Iterator[Live]:
    with Live(log.parent.parent) as live:
        live.until_points("loss", points(range(5)))
        yield live


# ---------------------------------------------------------------------- files that change under the reader


Change = tuple[str, Steps, Steps, int]
"""How a log changes, the steps that are written, those of the curve afterwards, and the superseded points."""
CHANGES: dict[str, list[Change]] = {
    "grows": [("append", [5], range(6), 0), ("append", range(6, 9), range(9), 0)],
    "truncated": [
        ("truncate", (), range(5), 0), ("append", range(3), range(3), 5), ("append", range(3, 9), range(9), 5),
    ],
    "copied": [("copy", range(5, 9), range(9), 0)],
    "replaced": [("append", range(5, 40), range(40), 0), ("replace", range(2, 30), range(30), 38)],
    "deleted": [("delete", (), range(5), 0), ("append", range(4, 8), range(8), 1)],
    "removed": [("rmtree", (), range(5), 0), ("append", range(3, 7), range(7), 2)],
    "killed": [
        ("append", range(5, 9), range(9), 0), ("tear", [9], range(9), 0),
        ("append", range(9, 12), range(12), 0),
    ],
    "fifo": [("mkfifo", (), range(5), 0), ("delete", (), range(5), 0), ("append", range(8), range(8), 5)],
    "later/logs": [("start", (), (), 0), ("append", range(2), range(2), 0), ("append", [2], range(3), 0)],
}  # fmt: skip
"""Changes of a log with steps 0 to 4, by its directory. The row that follows a torn one on its line is read."""


def change(path: Path, how: str, steps: Steps, number: int) -> None:
    text, other = rows(steps, part=f"part {number}", host="x" * (HEAD // 4)), path.with_name("metrics.tmp")
    match how:
        case "append":
            path.parent.mkdir(exist_ok=True)
            append(path, text)
        case "tear":
            append(path, text[:15])
        case "truncate":
            os.truncate(path, 0)
        case "copy" | "replace":
            other.write_text((path.read_text() if how == "copy" else "") + text)
            other.replace(path)
        case "start":
            path.parent.mkdir(parents=True)
            path.touch()
        case "rmtree":
            shutil.rmtree(path.parent)
        case _:
            path.unlink()
            if how == "mkfifo":
                os.mkfifo(path)


def state_of(snapshot: Snapshot, path: Path) -> tuple[str, list[tuple[int, str]], int]:
    """Return the state of a log, the curve of its loss, and the number of its points."""
    for number, run in enumerate(snapshot.runs):
        if (stream := run.streams[0]).info.path == str(path) and stream.status:
            return stream.status.state, curve(snapshot, "loss", number), run.point_count
    return "", [], 0


@pytest.mark.parametrize("poll", [False, True], ids=["events", "poll"])
def test_logs_that_change_in_every_way(tmp_path: Path, poll: bool) -> None:
    logs = {name: tmp_path / "root" / name / "metrics.jsonl" for name in CHANGES}
    for name, path in logs.items():
        if name != "later/logs":
            path.parent.mkdir(parents=True)
            path.write_text(rows(range(5)))
    (tmp_path / "root" / "grows" / "again").symlink_to(tmp_path / "root", target_is_directory=True)
    (tmp_path / "root" / "grows" / "other.jsonl").symlink_to("nowhere.jsonl")
    os.mkfifo(tmp_path / "root" / "grows" / "events.out.tfevents.1.host.1.0")
    states = {"mkfifo": ("gone", "unreadable"), "delete": ("gone",), "rmtree": ("gone",)}
    with Live(tmp_path / "root", poll=poll) as live:
        live.until(lambda snapshot: snapshot.progress.caught_up and all_read(snapshot))
        for number in range(3):
            changes = {name: changes[number] for name, changes in CHANGES.items() if number < len(changes)}
            for name, (how, steps, _, _) in changes.items():
                change(logs[name], how, steps, number)

            def is_reached(snapshot: Snapshot, changes: dict[str, Change] = changes) -> bool:
                for name, (how, _, expected, superseded) in changes.items():
                    state, here, count = state_of(snapshot, logs[name])
                    if state not in states.get(how, ("current", "waiting")) or count != len(expected) + superseded:
                        return False
                    if here != [(step, repr(value(step))) for step in expected]:
                        return False
                return True

            live.until(is_reached)
        assert len(live.snapshot.runs) == len(CHANGES)


# ---------------------------------------------------------------------- writers that die


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


def test_a_killed_or_stopped_reader_is_restarted_each_time(live: Live, log: Path) -> None:
    for number, fault in enumerate((signal.SIGKILL, signal.SIGSTOP, signal.SIGKILL)):
        pid = live.monitor.process_id
        assert pid is not None
        os.kill(pid, fault)
        live.until(lambda snapshot: any("reader stopped" in notice.message for notice in snapshot.notices))
        append(log, rows([5 + number]))
        live.until(lambda snapshot, pid=pid: live.monitor.process_id != pid)  # type: ignore[misc]
        live.until_points("loss", points(range(6 + number)))
    live.until(lambda snapshot: [(n.level, n.about) for n in snapshot.notices if n.about] == [("info", "reader")])


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


def test_a_root_that_is_missing_is_reported_until_it_exists_again(live: Live, log: Path) -> None:
    root = log.parent.parent

    def levels(snapshot: Snapshot) -> list[str]:
        return [notice.level for notice in snapshot.notices if notice.about == str(root)]

    shutil.rmtree(root)
    gone = live.until(lambda snapshot: levels(snapshot) == ["warning"])
    assert curve(gone, "loss") == [(step, repr(value(step))) for step in range(5)]
    log.parent.mkdir(parents=True)
    log.write_text(rows(range(3, 7), run="second"))
    live.until(lambda snapshot: levels(snapshot) == ["info"])
    live.until_points("loss", points(range(7)))


def test_two_hundred_runs_at_once(live: Live, log: Path) -> None:
    """The last row of each is whole only once another one follows."""
    paths = [log.parent.parent / f"sweep_{number:03}" / "metrics.jsonl" for number in range(200)]
    assert len(paths) > MANY_GROWING
    for number, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(rows([number], "reward") + rows([number + 1], "reward")[:-1])
    live.until(lambda snapshot: len(snapshot.runs) == 201 and all(run.point_count for run in snapshot.runs))
    for number, path in enumerate(paths):
        append(path, "\n" + rows([number + 2], "reward"))
    wanted = {f"{path.parent.name}/metrics.jsonl": [n, n + 1, n + 2] for n, path in enumerate(paths)}

    def steps_of(snapshot: Snapshot) -> dict[str, list[int]]:
        return {source: [step for step, _ in points] for (source, _), points in held(snapshot).items()}

    live.until(lambda snapshot: steps_of(snapshot) == {"run/metrics.jsonl": list(range(5)), **wanted})


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


def write_samples(kind: str, where: Path, most: int) -> dict[Path, Sample]:
    """Write a log of each format of a kind, each below a directory of its own."""
    formats = [log_format for log_format in formats_of(kind) if not log_format.describes_run]
    samples = {log_format.id: some(log_format.id, most, 120_000)[-1] for log_format in formats}
    paths = {where / id / sample.path: sample for id, sample in samples.items()}
    for path, sample in paths.items():
        path.parent.mkdir(parents=True)
        path.write_bytes(sample.data)
    return paths


def test_records_after_appended_garbage_are_read(tmp_path: Path) -> None:
    samples = write_samples("stream", tmp_path, 3)
    for path, sample in samples.items():
        os.truncate(path, middle(sample))
    with Live(*tmp_path.iterdir()) as live:
        live.until(lambda snapshot: len(snapshot.runs) == len(samples) and all_read(snapshot))
        for path, sample in samples.items():
            append(path, GARBAGE + b"\n" * sample.is_text)
        live.until(all_read)
        for path, sample in samples.items():
            append(path, sample.data[middle(sample) :])
        snapshot = live.until(all_read)
    for number, run in enumerate(snapshot.runs):
        path = Path(run.streams[0].info.path)
        sample = samples[path]
        actual = {metric: curve(snapshot, metric, number) for metric in run.metrics}
        shown = sample.format.shown_names(str(path)) if sample.format.shown_names else {}
        series = fed(sample.format, sample.data).series
        expected = {shown.get(name, name): [point[:2] for point in points] for name, points in series.items()}
        if len(expected) == len(actual) == 1:  # the path of a file with one metric determines its name
            expected = dict(zip(actual, expected.values(), strict=True))
        lost = sum(map(len, expected.values())) - sum(map(len, actual.values()))
        if sample.is_text or sample.format.id == "tensorboard":
            assert actual == expected, sample
        else:
            assert lies_in(actual, expected), sample
            assert lost <= 40, "more than the record that contains the garbage"


def test_a_temporarily_invalid_document_keeps_its_points(tmp_path: Path) -> None:
    """The points are kept while the document is invalid, and are the same when it is valid again."""
    samples = write_samples("document", tmp_path, 1)
    roots = [*tmp_path.iterdir()]
    wanted = fresh(*roots)

    def is_current(snapshot: Snapshot) -> bool:
        return all(run.streams[0].status.state == "current" for run in snapshot.runs) and all_read(snapshot)

    with Live(*roots) as live:
        live.until(lambda snapshot: snapshot.progress.caught_up and held(snapshot) == wanted)
        for number in range(4):
            for path, sample in samples.items():
                bad = (sample.data + GARBAGE, GARBAGE, b"", sample.data[: len(sample.data) // 2])
                path.write_bytes(bad[number])
            assert held(live.until(all_read)) == wanted
        for path, sample in samples.items():
            path.with_suffix(".tmp").write_bytes(sample.data)
            path.with_suffix(".tmp").replace(path)
        assert held(live.until(is_current)) == wanted


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
