"""Compare the decoding of JSON lines with json.loads, orjson and pandas.

    python -m tests.bench.json_lines [ROWS]

A row has a step and 20 numbers (about 600 bytes), as written by json.dumps. Times are CPU seconds, the best of three
rounds; "rows with NaN" is the log of a run that diverged (1 % and all of its rows).
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from collections.abc import Callable

from tuimon.formats.json.lines import decoder
from tuimon.model.points import Points

CHUNK = 1 << 20
KEYS = [
    f"{group}/{name}" for group in ("actor", "critic", "time", "env") for name in ("loss", "mean", "max", "min", "kl")
]


def log(rows: int, nan: float = 0.0, nested: bool = False) -> bytes:
    draw = random.Random(7)
    lines = []
    for step in range(rows):
        data = {key: draw.gauss(0.0, 1.0) for key in KEYS}
        if draw.random() < nan:
            data["actor/loss"] = float("nan")
        lines.append(json.dumps({"step": step, "data": data} if nested else {"step": step, **data}))
    return "\n".join(lines).encode() + b"\n"


def ours(data: bytes) -> int:
    reader, points = decoder(), 0
    for offset in range(0, len(data), CHUNK):
        points += sum(len(item) for item in reader.feed(data[offset : offset + CHUNK]) if isinstance(item, Points))
    return points


def json_columns(data: bytes) -> int:
    columns: dict[str, list[float]] = {}
    for line in data.splitlines():
        for key, value in json.loads(line).items():
            columns.setdefault(key, []).append(value)
    return sum(map(len, columns.values()))


def pandas_read_json(data: bytes) -> int:
    import pandas

    return int(pandas.read_json(io.BytesIO(data), lines=True).size)


def cpu_seconds(read: Callable[[bytes], int], data: bytes) -> float:
    times = []
    for _ in range(3):
        begin = time.process_time()
        read(data)
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    data = log(rows)
    base = cpu_seconds(ours, data)
    print(f"{rows} rows, {len(data) / 1e6:.1f} MB: tuimon {base:.3f} s, {rows / base / 1e3:.0f} krows/s")
    for name, read in (("json.loads per line", json_columns), ("pandas.read_json(lines=True)", pandas_read_json)):
        print(f"  {name}: {cpu_seconds(read, data) / base:.1f} times as long")
    for name, other in (
        ("1 % of the rows with NaN", log(rows, nan=0.01)),
        ("all rows with NaN", log(rows, nan=1.0)),
        ('{"step": …, "data": {…}}', log(rows, nested=True)),
    ):
        print(f"  {name}: {rows / cpu_seconds(ours, other) / 1e3:.0f} krows/s")


if __name__ == "__main__":
    main()
