"""Compare the decoding of CSV tables with csv.reader and pandas.

    python -m tests.bench.csv_table [ROWS]

A row has a step and 20 numbers. Times are CPU seconds, the median of five rounds in which the readers take turns, as
the load of the machine changes from one second to the next. In "sparse" two of three cells are
empty (Lightning), "diverged" has NaN in a fifth of its columns, "quoted" has quotes around every cell.
"""

from __future__ import annotations

import csv
import io
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from tuimon.formats.tables._decoder import TableDecoder
from tuimon.model.points import Points

CHUNK = 1 << 20
NAMES = [f"train/metric_{index}" for index in range(20)]


def table(rows: int, cell: Callable[[random.Random, int], str]) -> bytes:
    draw = random.Random(7)
    lines = [",".join(["step", *NAMES])]
    lines += [",".join([str(step), *(cell(draw, column) for column in range(len(NAMES)))]) for step in range(rows)]
    return "\n".join([*lines, ""]).encode()


def ours(data: bytes) -> int:
    decoder, points = TableDecoder(), 0
    for offset in range(0, len(data), CHUNK):
        points += sum(len(item) for item in decoder.feed(data[offset : offset + CHUNK]) if isinstance(item, Points))
    return points


def csv_reader(data: bytes) -> int:
    columns: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO(data.decode())):
        for name, value in row.items():
            if value:
                columns.setdefault(name, []).append(float(value))
    return sum(map(len, columns.values()))


def pandas_read_csv(data: bytes) -> int:
    import pandas

    return int(pandas.read_csv(io.BytesIO(data)).size)


def cpu_seconds(readers: Sequence[Callable[[bytes], int]], data: bytes) -> list[float]:
    """Return the time of each reader; they are called in turn."""
    rounds = [[_seconds(read, data) for read in readers] for _ in range(5)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def _seconds(read: Callable[[bytes], int], data: bytes) -> float:
    start = time.process_time()
    read(data)
    return time.process_time() - start


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    logs = {
        "plain": table(rows, lambda draw, column: repr(draw.gauss(0, 1))),
        "sparse": table(rows, lambda draw, column: repr(draw.gauss(0, 1)) if draw.random() < 1 / 3 else ""),
        "diverged": table(rows, lambda draw, column: "nan" if column % 5 == 0 else repr(draw.gauss(0, 1))),
        "quoted": table(rows, lambda draw, column: f'"{draw.gauss(0, 1)!r}"'),
    }
    readers = [csv_reader]
    try:
        import pandas
    except ImportError:
        print("pandas is not installed")
    else:
        readers.append(pandas_read_csv)
        print(f"pandas {pandas.__version__}")
    for name, data in logs.items():
        mine, *theirs = cpu_seconds([ours, *readers], data)
        pairs = zip(readers, theirs, strict=True)
        others = ", ".join(f"{read.__name__} {seconds / mine:.2f} times as long" for read, seconds in pairs)
        print(f"{name:<9} {len(data) / mine / 1e6:6.0f} MB/s, {rows * 21 / mine / 1e6:5.1f} M cells/s; {others}")


if __name__ == "__main__":
    main()
