"""Compare the decoding of logs with other readers.

`python -m tests.bench.formats WORD …` measures those whose name has one of the words.

Times are CPU seconds, the median of three rounds in which the readers take turns, as the load of the machine changes
from one second to the next. Readers that are not installed are left out. "line by line" is the decoder of console text
without the templates of uniform lines.
"""

from __future__ import annotations

import ast
import csv
import json
import random
import re
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from support.event_points import WALL, event, records, scalar, tensor, version
from support.log_writer import SWANLAB, WANDB, field, framed, history

from tuimon.formats import Format, recognise
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Points

ROWS = 20_000
BLOCK = 1 << 20
METRICS = [f"{group}/metric_{index}" for group in ("actor", "critic", "time", "env") for index in range(5)]
Reader = Callable[[Path], int]
"""Returns the number of points in a file."""


class Log(NamedTuple):
    """A log of a benchmark, and the readers of others for it."""

    name: str
    file: str
    write: Callable[[], bytes]
    others: tuple[Reader, ...]


def tuimon(path: Path) -> int:
    """Read a file as the reader process does, hopping over what may be skipped."""
    log_format = recognise(str(path), path.read_bytes()[:4096])
    assert isinstance(log_format, Format), path
    return _points(path, log_format.decoder())


def line_by_line(path: Path) -> int:
    return _points(path, LineByLine())


class LineByLine(ConsoleDecoder):
    """The decoder without templates."""

    def _nothing_is_open(self) -> bool:
        return False


def _points(path: Path, decoder: Any) -> int:
    points, block = 0, BLOCK
    with path.open("rb", buffering=0) as file:
        while data := file.read(block):
            points += sum(len(item) for item in decoder.feed(data) if isinstance(item, Points))
            block = min(BLOCK, block * 2)
            if count := decoder.skippable:
                block = 16 << 10  # more of them are to be expected: read little between them
                file.seek(count, 1)
                decoder.advance(count)
    return points + sum(len(item) for item in decoder.flush() if isinstance(item, Points))


# ---------------------------------------------------------------------- readers of others


def json_loads(path: Path) -> int:
    return sum(len(json.loads(line)) for line in path.read_bytes().splitlines())


def pandas_read_json(path: Path) -> int:
    import pandas

    return int(pandas.read_json(path, lines=True).size)


def csv_reader(path: Path) -> int:
    with path.open() as file:
        return sum(sum(1 for value in row.values() if value and float(value)) for row in csv.DictReader(file))


def pandas_read_csv(path: Path) -> int:
    import pandas

    return int(pandas.read_csv(path).size)


def one_expression(path: Path) -> int:
    """Search each line for `name: number`, as a script would."""
    pair = re.compile(r"'?([\w/@.]+)'?:\s?'?(?:np\.float64\()?(-?\d[\d.e+-]*)")
    return sum(len(pair.findall(line)) for line in path.read_text().splitlines())


def literal_eval(path: Path) -> int:
    """Each row of Hugging Face through ast.literal_eval, the usual advice."""
    rows = (line for line in re.split("[\r\n]", path.read_text()) if line.startswith("{"))
    return sum(len(ast.literal_eval(line)) for line in rows)


def tbparse(path: Path) -> int:
    from tbparse import SummaryReader

    reader = SummaryReader(str(path), event_types={"scalars", "tensors"})
    return len(reader.scalars) + len(reader.tensors)


def event_accumulator(path: Path) -> int:
    from support.event_points import accumulated

    return sum(map(len, accumulated(path).values()))


def wandbs_datastore(path: Path) -> int:
    """The reader of wandb up to 0.29."""
    from wandb.proto import wandb_internal_pb2 as pb
    from wandb.sdk.internal.datastore import DataStore

    store, points = DataStore(), 0
    store.open_for_scan(str(path))
    while (data := store.scan_data()) is not None:
        record = pb.Record()
        record.ParseFromString(data)
        points += sum(1 for item in record.history.item if float(item.value_json))
    return points


def swanlabs_datastore(path: Path) -> int:
    """The reader of swanlab 0.8 and later."""
    from swanlab.proto.swanlab.record.v1 import record_pb2
    from swanlab.sdk.internal.core_python.store import DataStoreReader

    store, points = DataStoreReader(), 0
    store.open(str(path))
    while (data := store.scan()) is not None:
        record = record_pb2.Record()
        record.ParseFromString(data)
        points += record.HasField("scalar") and record.scalar.value.number >= 0
    store.close()
    return points


# ---------------------------------------------------------------------- logs


def json_rows(nested: bool = False) -> bytes:
    draw, lines = random.Random(7), list[str]()
    for step in range(ROWS):
        row = {key: draw.gauss(0.0, 1.0) for key in METRICS}
        lines.append(json.dumps({"step": step, "data": row} if nested else {"step": step, **row}) + "\n")
    return "".join(lines).encode()


def csv_rows() -> bytes:
    draw = random.Random(7)
    lines = [",".join(["step", *METRICS])]
    lines += [",".join([str(step), *(repr(draw.gauss(0, 1)) for _ in METRICS)]) for step in range(ROWS)]
    return "\n".join([*lines, ""]).encode()


def console_lines(*shapes: str) -> bytes:
    """Lines of these shapes in turns. n: the number of the line, x: random numbers."""
    draw = random.Random(7)
    lines = (
        shapes[number % len(shapes)].format(n=number, second=number % 60, x=[draw.gauss(0, 1) for _ in METRICS])
        for number in range(ROWS)
    )
    return "".join(f"{line}\n" for line in lines).encode()


def pairs(form: str, between: str) -> str:
    """Return the part of a shape with all metrics."""
    return between.join(form.format(name, f"x[{index}]") for index, name in enumerate(METRICS))


def events(tags: int, every: Callable[[str, float], Any] = scalar, together: int = 1) -> bytes:
    """together: number of values in a record."""
    draw, names = random.Random(7), [f"section{index % 7}/some metric {index}/mean" for index in range(tags)]
    messages = [version()]
    for step in range(ROWS * len(METRICS) // 2 // tags):
        values = [every(name, draw.gauss(0, 1)) for name in names]
        messages += [
            event(step, *values[first : first + together], wall=WALL + step + first * 1e-5)
            for first in range(0, tags, together)
        ]
    return b"".join(records(messages))


def tensor_of(tag: str, value: float) -> Any:
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    return tensor(tag, TensorProto(dtype=1, float_val=[value]))


def wandb_records() -> Iterator[bytes]:
    """A row and the two summary records that follow it."""
    draw = random.Random(7)
    for step in range(ROWS // 5):
        items = [((f"loss/m{metric:02d}",), repr(draw.random() * 10)) for metric in range(50)]
        items += [(("_step",), str(step)), (("_runtime",), repr(step * 0.5)), (("_timestamp",), repr(1.79e9 + step))]
        draw.shuffle(items)  # a Go map has no order
        yield history(3 * step, dict(items), step)
        yield field(1, 3 * step + 1) + b"\x1a" + history(0, dict(items), None)[3:]  # the same items as a summary
        yield field(1, 3 * step + 2) + field(3, field(1, field(1, "_runtime") + field(16, "1")))


def swanlab_records() -> Iterator[bytes]:
    for step in range(ROWS // 10):
        stamp = field(1, 1_790_000_000 + step) + field(2, 123_456_789)
        for metric in range(50):
            key = field(1, f"critic/some/metric{metric}") + (field(2, step) if step else b"") + field(3, 1)
            value = field(5, field(1, step * 0.5 + metric)) if step + metric else field(5, b"")
            yield field(1, step * 50 + metric + 1) + field(2, stamp) + field(13, key + field(4, stamp) + value)


_JSON = (json_loads, pandas_read_json)
_CSV = (csv_reader, pandas_read_csv)
_CONSOLE = (line_by_line, one_expression)
_EVENTS = (tbparse, event_accumulator)
_EVENT_FILE = "events.out.tfevents.1795226051.host"
LOGS = (
    Log("json", "metrics.jsonl", json_rows, _JSON),
    Log('json, {"step": …, "data": {…}}', "metrics.jsonl", partial(json_rows, nested=True), ()),
    Log("csv", "progress.csv", csv_rows, _CSV),
    Log("console, verl", "train.log", lambda: console_lines(
        "(TaskRunner pid=31337) step:{n} - " + pairs("{}:np.float64({{{}!r}})", " - ")), _CONSOLE),
    Log("console, k=v", "train.log", lambda: console_lines(
        "2026-11-21 10:00:{second:02d},123 - INFO - step={n} " + pairs("{}={{{}:.4f}}", " ")), _CONSOLE),
    Log("console, short lines", "train.log", lambda: console_lines(
        "step {n}: loss={x[0]:.4f} acc={x[1]:.4f} lr=1e-05"), _CONSOLE),
    Log("console, mixed lines", "train.log", lambda: console_lines(
        "step {n}/100000 loss {x[0]:.4f} lr 1.0e-04",
        "step {n} acc={x[0]:.4f} f1={x[1]:.3f}",
        "[{n}] | grad_norm: {x[0]:.5f} | loss: {x[1]:.4f}",
        "saving checkpoint to runs/ckpt-{n}",
        "iter {n} | loss {x[0]:.4f} | {x[1]:.1f} ms/it"), _CONSOLE),
    Log("console, Hugging Face", "train.log", lambda: console_lines(
        "\r 10%|█         | {n}/100000 [00:10<01:30, 10.00it/s]\r" + " " * 60
        + "\r{{" + pairs("'{}': '{{{}:.4g}}'", ", ") + ", 'epoch': '0.1'}}\n"
        + "\r 10%|█         | {n}/100000 [00:10<01:30, 10.00it/s]"), (line_by_line, literal_eval)),
    Log("events, 50 tags", _EVENT_FILE, partial(events, 50), _EVENTS),
    Log("events, 600 tags", _EVENT_FILE, partial(events, 600), _EVENTS),
    Log("events, tensors", _EVENT_FILE, partial(events, 20, every=tensor_of), _EVENTS),
    Log("events, 50 in a record", _EVENT_FILE, partial(events, 50, together=50), _EVENTS),
    Log("wandb", "run-1.wandb", lambda: framed(WANDB, wandb_records()), (wandbs_datastore,)),
    Log("swanlab", "run.swanlab", lambda: framed(SWANLAB + b"\x02", swanlab_records()), (swanlabs_datastore,)),
)  # fmt: skip


def cpu_seconds(readers: Iterable[Reader], path: Path) -> dict[Reader, float]:
    """Return the median time of each installed reader; they are called in turns."""
    times: dict[Reader, list[float]] = {}
    missing = set[Reader]()
    for _ in range(3):
        for read in readers:
            begun = time.process_time()
            try:
                if read not in missing:
                    read(path)
                    times.setdefault(read, []).append(time.process_time() - begun)
            except ImportError:
                missing.add(read)
    return {read: statistics.median(measured) for read, measured in times.items()}


def main(*words: str) -> None:
    warnings.simplefilter("ignore")
    for log in LOGS:
        if words and not any(word in log.name for word in words):
            continue
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / log.file
            path.write_bytes(log.write())
            megabytes, points = path.stat().st_size / 1e6, tuimon(path)
            times = cpu_seconds((tuimon, *log.others), path)
        ours = times.pop(tuimon)
        print(f"{log.name:32}{megabytes / ours:6.0f} MB/s{points / ours / 1e6:6.2f} M points/s", end="  ")
        print(", ".join(f"{read.__name__} {seconds / ours:.1f} times as long" for read, seconds in times.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
