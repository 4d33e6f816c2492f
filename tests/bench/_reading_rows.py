"""Rows about reading: speed at which the reader decodes logs, compared with other readers."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from tests.bench import _corpora, _pace, event_files, json_lines
from tests.bench._row import Row
from tuimon.model.events import Columns, Preview
from tuimon.reader import Collector

DECODING, FRAMING = 425e3, 0.55e6
"""Lines of 20 keys a second that orjson alone decodes, and records a second whose framing and checksums alone are read,
on the machine for which the demands were set."""
NAME = "events.out.tfevents.1795226051.host"


def rows(folder: Path, full: bool) -> Iterator[Row]:
    yield from events(folder)
    yield once(folder)
    yield from other_events(folder, full)
    yield from images(folder)
    yield from newest(folder)
    yield from wandb(folder, full)
    yield from lines(folder, full)
    yield from document(folder)


def rate(path: Path, rounds: int = 5) -> tuple[float, int]:
    """(median CPU seconds, points), by a process of its own."""
    command = [sys.executable, "-m", "tests.bench._reading_alone", str(path), str(rounds)]
    seconds, points = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), int(points)


def events(folder: Path) -> Iterator[Row]:
    whole, part = _corpora.write_run(folder / "1M", _corpora.tags(50), 20_000), folder / "100k"
    slice_ = _corpora.write_run(part, _corpora.tags(50), 2000)
    _corpora.check_event_file(slice_, 100_000)
    ours, points = rate(whole)
    assert points == 1_000_000, points
    limit = _middle(lambda: zlib.crc32(whole.read_bytes()), 5)
    against = [f"read and one C pass {limit / ours:.2f} of our time", rustboard(whole.parent, ours)]
    pace = points / limit / _pace.PASS
    yield Row("event file, 50 tags x 20k", points / ours, "ev/s", 3e6, 8e6, True, ", ".join(against), pace=pace)
    theirs, found = event_files.cpu(event_files.tbparse, slice_, 1)
    assert found == 100_000
    speed = theirs / found / (ours / points)
    yield Row(
        "  the same, times tbparse", speed, "x", 60, 180, True, f"tbparse {found / theirs / 1e6:.3f} M/s, on 100k"
    )


def once(folder: Path) -> Row:
    """The whole program, from its start to its end: a screen of text."""
    ours = _cpu_of([sys.executable, "-m", "tuimon", "--once", str(folder / "1M")])
    return Row("tuimon --once on 1M events", ours, "s CPU", math.nan, math.nan)


def _cpu_of(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def rustboard(folder: Path, ours: float) -> str:
    """CPU time of tensorboard-data-server's load. It keeps running afterwards, but uses no more CPU time."""
    try:
        import tensorboard_data_server
    except ImportError:
        return "tensorboard-data-server is missing"
    command = [tensorboard_data_server.server_binary(), "--logdir", str(folder), "--reload", "once", "--port", "0"]
    command += ["--port-file", str(folder.parent / "port"), "--samples-per-plugin", "scalars=all"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        watched, used = psutil.Process(process.pid), -1.0
        for _ in range(100):
            time.sleep(0.4)
            now = sum(watched.cpu_times()[:2])
            if now == used and now > 0.02:
                break
            used = now
        process.terminate()
    return f"tensorboard-data-server {used / ours:.1f}x our time"


def other_events(folder: Path, full: bool) -> Iterator[Row]:
    path = _corpora.write_run(folder / "600", _corpora.tags(600), 2000 if full else 500)
    ours, points = rate(path)
    yield Row("ROLL-like, 600 tags", points / ours, "ev/s", 2e6, 5e6, True)
    (folder / "other").mkdir()
    path = folder / "other" / NAME
    for corpus, what in (("tensors", "TF2 tensor scalars"), ("multi", "50 values in each event")):
        path.write_bytes(event_files.framed(list(event_files.messages(corpus, 1_000_000 if full else 200_000))))
        ours, points = rate(path)
        begun = time.process_time()
        found = event_files.accumulator(path)
        theirs = (time.process_time() - begun) * points / found
        yield Row(what, points / ours, "ev/s", 1e6, 5e6, True, f"EventAccumulator {theirs / ours:.0f}x our time")


def images(folder: Path) -> Iterator[Row]:
    (folder / "images").mkdir()
    path = folder / "images" / NAME
    _corpora.write_images(path, 20_000, 2000, 200_000)
    ours, points = rate(path)
    assert points == 20_000, points
    begun = time.process_time()
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    limit = time.process_time() - begun
    size = path.stat().st_size / 1e6
    path.unlink()
    against = f"read() of all its bytes {limit / ours:.1f}x our time"
    yield Row(f"{size:.0f} MB event file of images, 20k scalars", ours, "s", 0.2, 0.02, against=against)


def newest(folder: Path) -> Iterator[Row]:
    """From nothing to the last step of each metric, however much history lies before it."""
    times = []
    for _ in range(7):
        begun = time.process_time()
        collector = Collector([str(folder / "1M")])
        list(collector.find())
        (found,) = collector.preview()
        times.append(time.process_time() - begun)
        assert isinstance(found, Preview)
        assert len(found.names) == 50
        assert int(found.columns.steps.max()) == 20_000
    against = f"{len(found.columns.steps)} points of its end"
    yield Row("newest values of a 65 MB event file", statistics.median(times) * 1e3, "ms", 20, 3, against=against)


def wandb(folder: Path, full: bool) -> Iterator[Row]:
    import orjson
    from support.log_writer import WANDB, framed

    from tests.bench import wandb as bench

    count = 20_000 if full else 3000
    directory = folder / "wandb" / "run-20261121_010101-abcdefgh"
    directory.mkdir(parents=True)
    path = directory / "run-abcdefgh.wandb"
    path.write_bytes(framed(WANDB, bench.wandb_records(count)))
    ours, points = rate(path, 7)
    assert points >= count * 50, points
    data = path.read_bytes()
    records = bench.frame(data)
    limit = _middle(lambda: bench.frame(data), 7)
    rows = json_lines.log(3000)
    parsing = _middle(lambda: [orjson.loads(line) for line in rows.splitlines()], 7) / 3000 / 20 * points
    against = f"{path.stat().st_size / ours / 1e6:.0f} MB/s; framing alone {limit / ours:.2f} of our time"
    against += f", orjson.loads alone on as many values {parsing / ours:.2f}"
    pace = (records / FRAMING + points / 20 / DECODING) / (limit + parsing)
    yield Row(".wandb, 50 metrics a row", count / ours, "rows/s", 60e3, 100e3, True, against, pace=pace)


def lines(folder: Path, full: bool) -> Iterator[Row]:
    import orjson

    count = 120_000 if full else 20_000
    (folder / "lines").mkdir()
    path = folder / "lines" / "metrics.jsonl"
    data = json_lines.log(count)
    path.write_bytes(data)
    ours, points = rate(path)
    assert points == count * 20, points
    limit = _middle(lambda: [orjson.loads(line) for line in data.splitlines()], 5)
    plain = _best(lambda: [json.loads(line) for line in data.splitlines()], 1)
    against = f"orjson.loads alone {limit / ours:.2f} of our time, json.loads alone {plain / ours:.1f}x"
    pace = count / limit / DECODING
    yield Row("JSON lines, 20 keys", count / ours, "rows/s", 120e3, 250e3, True, against, pace=pace)


def document(folder: Path) -> Iterator[Row]:
    import orjson

    directory = folder / "document"
    directory.mkdir()
    path = directory / "training_log.json"
    count = 44_000
    _corpora.write_document(path, count)
    collector = Collector([str(directory)])
    list(collector.find())
    list(collector.read())
    times = []
    for number in range(6):
        _corpora.write_document(directory / "new", count + 1 + number)
        os.replace(directory / "new", path)
        time.sleep(0.02)
        collector.hint([str(path)])
        begun = time.process_time()
        found = sum(len(event.steps) for event in collector.read([str(path)]) if isinstance(event, Columns))
        times.append(time.process_time() - begun)
        assert found, "the rewritten document gave nothing"
    ours, data = statistics.median(times), path.read_bytes()
    old, parsed = data[:-1000], _best(lambda: orjson.loads(data))
    compared = _best(lambda: data.startswith(old))
    against = f"comparing the bytes {compared / ours:.2f} of our time, orjson.loads {parsed / ours:.1f}x"
    what = f"{len(data) / 1e6:.0f} MB JSON document rewritten, a row more"
    yield Row(what, ours * 1e3, "ms", 60, 4, against=against)


def _middle(work: Callable[[], object], rounds: int) -> float:
    """Median time of the rounds, the measure that `rate` uses for tuimon."""
    return statistics.median(_best(work, 1) for _ in range(rounds))


def _best(work: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)
