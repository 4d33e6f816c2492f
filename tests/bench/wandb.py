"""Compare the reading of `.wandb` and `.swanlab` files with the readers of wandb and swanlab.

    python -m tests.bench.wandb [ROWS]

A row has 50 metrics in addition to _step, _runtime and _timestamp, and two summary records follow it, as wandb-core
writes them: 20,000 rows are 69 MB. The readers of wandb (its datastore and protobuf classes, up to 0.29) and swanlab
(0.8 and later) are measured if they are installed. Times are CPU seconds, the best of three rounds.
"""

from __future__ import annotations

import random
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from support.log_writer import BLOCK, SWANLAB, WANDB, field, framed, history

from tuimon.formats.swanlab.run_file import SwanLabStoreDecoder
from tuimon.formats.wandb.run_file import WandbDecoder
from tuimon.model.points import Points

CHUNK = 1 << 20
METRICS = 50


def wandb_records(rows: int, odd: str = "") -> Iterator[bytes]:
    """`odd`: one more value in each row, as JSON."""
    draw = random.Random(7)
    for step in range(rows):
        items = [((f"loss/m{metric:02d}",), repr(draw.random() * 10)) for metric in range(METRICS)]
        items += [(("_step",), str(step)), (("_runtime",), repr(step * 0.5)), (("_timestamp",), repr(1.79e9 + step))]
        if odd:
            items.append((("odd",), odd))
        draw.shuffle(items)  # a Go map has no order
        yield history(3 * step, dict(items), step)
        without_step = history(0, dict(items), None)
        yield field(1, 3 * step + 1) + b"\x1a" + without_step[3:]  # the same items as a summary
        yield field(1, 3 * step + 2) + field(3, field(1, field(1, "_runtime") + field(16, "1")))


def swanlab_records(rows: int) -> Iterator[bytes]:
    for step in range(rows):
        stamp = field(1, 1_790_000_000 + step) + field(2, 123_456_789)
        for metric in range(METRICS):
            key = field(1, f"critic/some/metric{metric}") + (field(2, step) if step else b"") + field(3, 1)
            value = field(5, field(1, step * 0.5 + metric)) if step + metric else field(5, b"")
            yield field(1, step * METRICS + metric + 1) + field(2, stamp) + field(13, key + field(4, stamp) + value)


def frame(data: bytes) -> int:
    """Records of a file: its framing and its checksums alone, what any reader of it must do."""
    at, count, size = len(WANDB), 0, len(data)
    while at + 7 <= size:
        if BLOCK - at % BLOCK < 7:
            at += BLOCK - at % BLOCK
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, at)
        assert zlib.crc32(data[at + 6 : at + 7 + length]) == checksum
        count += kind in (1, 4)
        at += 7 + length
    return count


def ours(decoder: Callable[[], WandbDecoder | SwanLabStoreDecoder], path: Path) -> int:
    reader, points = decoder(), 0
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            points += sum(len(item) for item in reader.feed(data) if isinstance(item, Points))
    return points


def wandbs_own(path: Path) -> int:
    from wandb.proto import wandb_internal_pb2 as pb
    from wandb.sdk.internal.datastore import DataStore

    store, points = DataStore(), 0
    store.open_for_scan(str(path))
    while (data := store.scan_data()) is not None:
        record = pb.Record()
        record.ParseFromString(data)
        for item in record.history.item:
            float(item.value_json)
            points += 1
    return points


def swanlabs_own(path: Path) -> int:
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


def cpu_seconds(read: Callable[[], int], points: int) -> float:
    times = []
    for _ in range(3):
        begin = time.process_time()
        count = read()
        times.append(time.process_time() - begin)
        assert count == points, (count, points)
    return min(times)


def compare(name: str, base: float, own: Callable[[Path], int], path: Path, points: int) -> None:
    try:
        print(f"  {name}: {cpu_seconds(lambda: own(path), points) / base:.1f} times as long")
    except ImportError as error:
        print(f"  {name}: not installed ({error})")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.wandb"
        path.write_bytes(framed(WANDB, wandb_records(rows)))
        points, size = rows * (METRICS + 3), path.stat().st_size
        base = cpu_seconds(lambda: ours(WandbDecoder, path), points)
        print(f".wandb, {rows} rows of {METRICS} metrics, {size / 1e6:.0f} MB: {base:.2f} s,", end=" ")
        print(f"{size / base / 1e6:.0f} MB/s, {3 * rows / base:.0f} records/s, {points / base:.0f} points/s")
        compare("wandb's datastore and protobuf", base, wandbs_own, path, points)
        for name, odd, more in (("NaN", "NaN", rows), ("a text", '"text"', 0), ("a long text", f'"{"x" * 300}"', 0)):
            path.write_bytes(framed(WANDB, wandb_records(rows, odd)))
            longer = cpu_seconds(lambda: ours(WandbDecoder, path), points + more)
            print(f"  with {name} in each row: {longer / base:.1f} times as long")
        path = Path(directory) / "run.swanlab"
        path.write_bytes(framed(SWANLAB + b"\x02", swanlab_records(rows // 10)))
        points, size = rows // 10 * METRICS, path.stat().st_size
        base = cpu_seconds(lambda: ours(SwanLabStoreDecoder, path), points)
        print(f".swanlab, {points} points, {size / 1e6:.0f} MB: {base:.2f} s, {points / base / 1e3:.0f} k points/s")
        compare("swanlab's DataStoreReader", base, swanlabs_own, path, points)


if __name__ == "__main__":
    main()
