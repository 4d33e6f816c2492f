"""Rotated and compressed logs: one source, read from the oldest file to the newest, in bounded memory."""

from __future__ import annotations

import gzip
import os
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tuimon.commands import main
from tuimon.errors import FormatError
from tuimon.model.log_names import log_name
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.reader.compression import unpacked


def lines(start: int, stop: int) -> bytes:
    return "".join(
        f"2026-11-22 10:{step // 60:02}:{step % 60:02} INFO step={step} loss={1 / (1 + step):.4f}\n"
        for step in range(start, stop)
    ).encode()


def rows_without_time(name: str, start: int, stop: int) -> bytes:
    row = {
        "log.jsonl": '{{"step": {0}, "loss": {1:.6f}}}\n',
        "train.log": "step {0} loss {1:.6f} lr 0.001\n",
        "metrics.csv": "{0},{1:.6f}\n",
    }[name]
    return "".join(row.format(step, 1 / (1 + step)) for step in range(start, stop)).encode()


@pytest.mark.parametrize("name", ["train.log", "metrics.csv", "log.jsonl"])
def test_log_that_is_rotated_again_and_again_while_it_is_followed(tmp_path: Path, name: str) -> None:
    """Each rotation moves every file on, the oldest are compressed, and each log is read while it is half-written."""
    log, header = tmp_path / name, b"time,step,loss\n"

    def rows(start: int, stop: int) -> bytes:
        if name == "train.log":
            return lines(start, stop)
        if name == "log.jsonl":
            return rows_without_time(name, start, stop)
        return header + b"".join(b"%d,%d,0.5\n" % (1_795_000_000 + step, step) for step in range(start, stop))

    monitor = LocalMonitor([str(tmp_path)])
    for start in range(0, 500, 100):
        if start > 200:
            second = tmp_path / f"{name}.2"
            if second.exists():
                (tmp_path / f"{name}.{10 - start // 100}.gz").write_bytes(gzip.compress(second.read_bytes()))
                second.unlink()
        if start > 100:
            (tmp_path / f"{name}.1").rename(tmp_path / f"{name}.2")
        if start:
            log.rename(tmp_path / f"{name}.1")
        log.write_bytes(rows(start, start + 60))
        monitor.update()
        with log.open("ab") as file:
            file.write(rows(start + 60, start + 100).removeprefix(header))
        for _ in range(3):
            monitor.update()
        [run] = monitor.snapshot().runs
        assert run.curve("loss").steps.tolist() == list(range(start + 100))


@pytest.mark.parametrize(
    ("cut", "points", "reason"),
    [
        (lambda whole: whole[:-60], 20, ""),
        (lambda whole: whole[:-8] + b"wrong" + whole[-3:], 0, "wrong checksum, so its numbers may be wrong"),
        (gzip.decompress, 0, "not compressed by gzip, although its name ends in .gz"),
        (lambda whole: whole[:8], 0, "nothing can be decompressed"),
        (lambda whole: whole[:10] + b"\xff" * 300, 0, "nothing can be decompressed"),
    ],
)
def test_damaged_compressed_tables(
    tmp_path: Path, cut: Callable[[bytes], bytes], points: int, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be read is read, and the reason is named for what cannot."""
    whole = gzip.compress(b"step,loss\n" + b"".join(b"%d,%.17f\n" % (row, 1 / (row + 3)) for row in range(40)))
    path = tmp_path / "metrics.csv.gz"
    path.write_bytes(cut(whole))
    os.utime(path, (1.7e9, 1.7e9))
    code = main(["summary", "--strict", str(tmp_path)])
    captured = capsys.readouterr()
    assert reason in captured.out + captured.err
    assert "columns are read" not in captured.out
    assert code == (3 if "not compressed" in reason or "nothing" in reason else 5)
    if code == 5:
        (run,) = open_run(tmp_path).runs
        assert (run.point_count >= points) if points else not run.point_count
        values = run.curve("loss").values.tolist() if points else []
        assert values == [float(f"{1 / (row + 3):.17f}") for row in range(run.point_count)]


def test_members_and_padding_of_a_gzip_file(tmp_path: Path) -> None:
    """Members before a damaged one are read."""
    data = gzip.compress(b"one\n" * 1000) + gzip.compress(b"two\n") + bytes(100)
    assert b"".join(unpacked(data, 1 << 20)) == b"one\n" * 1000 + b"two\n"
    with pytest.raises(FormatError, match="damaged"):
        list(unpacked(b"step,loss\n1,0.5\n", 1 << 20))
    members = [gzip.compress(lines(start, 10)) for start in (0, 10, 20)]
    damaged = members[1][:-8] + b"wrong" + members[1][-3:]
    (tmp_path / "train.log.gz").write_bytes(members[0] + damaged + members[2])
    (run,) = open_run(tmp_path).runs
    assert run.curve("loss").steps.tolist() == list(range(10))
    (stream,) = run.streams
    assert stream.status is not None
    assert (stream.status.damaged, stream.status.damaged_bytes) == (1, len(damaged) + len(members[2]))


def test_log_of_equal_lines_is_read_up_to_the_limit(tmp_path: Path) -> None:
    line = b'{"step": 1, "loss": 0.5, "name": "%s"}\n' % (b"x" * 4000)
    with gzip.open(tmp_path / "log.jsonl.gz", "wb", 9) as file:
        for _ in range(8):
            file.write(line * 1000)
    (run,) = open_run(tmp_path).runs
    status = run.streams[0].status
    assert status is not None
    assert 2000 < len(run.curve("loss")) < 8000
    assert status.damaged == 1


def test_bomb_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = b"step=1 loss=0.5\n" * (1 << 16)
    data = b"".join(bomb.compress(zeros) for _ in range(64)) + bomb.flush()
    (tmp_path / "train.log").write_bytes(lines(0, 10))
    (tmp_path / "train.log.1.gz").write_bytes(data)
    tracemalloc.start()
    with pytest.raises(FormatError, match="larger than 32 MiB"):
        for _ in unpacked(data, 32 << 20):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20


def test_names_of_rotated_logs() -> None:
    names = ["a/train.log.10", "a/train.log", "a/train.log.2.gz", "a/train.log-20261121.gz", "a/train.log.1"]
    assert {log_name(name).live for name in names} == {"a/train.log"}
    numbered = [name for name in names if "2026" not in name]
    ordered = ["a/train.log.10", "a/train.log.2.gz", "a/train.log.1", "a/train.log"]
    assert sorted(numbered, key=lambda name: log_name(name).age) == ordered
    dated = ["t.log", "t.log.2026-11-22", "t.log.2026-11-21.gz"]
    assert sorted(dated, key=lambda name: log_name(name).age) == dated[::-1]
    for name in ("version_0.1", "events.out.tfevents.1795.host.1", "model.gz", "archive.tar.gz", "run.wandb.1"):
        assert log_name(name).live == name
