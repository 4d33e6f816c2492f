"""Compare the decoding of console text with that of simple scripts.

    python -m tests.bench.console [MEGABYTES]

Six logs: one without rows of metrics, verl's with one line per step, lines of k=v after a timestamp, short lines, those
of four shapes in turns, and Hugging Face's rows between the states of a progress bar. Times are CPU seconds, the best
of three rounds; a log is fed in pieces of 1 MiB. "line by line" is the decoder without the templates of uniform lines,
in turn with the other.
"""

from __future__ import annotations

import ast
import math
import random
import re
import sys
import time
from collections.abc import Callable

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Points

CHUNK = 1 << 20
KEYS = [
    f"{group}/{name}" for group in ("actor", "critic", "timing_s", "perf") for name in ("loss", "mean", "max", "kl")
]


def chatter(size: int) -> bytes:
    line = "(WorkerDict pid={}) 2026-11-21 01:41:19,{:03d} - INFO - loading shard {} of the data, fetching the next\n"
    lines, length = [], 0
    while length < size:
        lines.append(line.format(1000 + len(lines) % 64, len(lines) % 1000, len(lines)))
        length += len(lines[-1])
    return "".join(lines).encode()


def _lines(size: int, line: Callable[[int, random.Random], str]) -> bytes:
    """Return at least `size` bytes of lines; line: makes the line of an index, with random numbers."""
    draw, lines, length = random.Random(7), list[str](), 0
    while length < size:
        lines.append(line(len(lines), draw))
        length += len(lines[-1])
    return "".join(lines).encode()


def verl(size: int) -> bytes:
    def line(count: int, draw: random.Random) -> str:
        values = " - ".join(f"{key}:np.float64({draw.gauss(0.0, 1.0)!r})" for key in KEYS)
        return f"(TaskRunner pid=31337) step:{count} - {values}\n"

    return _lines(size, line)


def joined(size: int) -> bytes:
    def line(count: int, draw: random.Random) -> str:
        time = f"2026-11-21 {count // 3600 % 24:02d}:{count // 60 % 60:02d}:{count % 60:02d},{count % 1000:03d}"
        pairs = " ".join(f"{key}={draw.gauss(0.0, 1.0):.4f}" for key in KEYS)
        return f"{time} - INFO - step={count} {pairs}\n"

    return _lines(size, line)


def short(size: int) -> bytes:
    return _lines(
        size, lambda count, draw: f"step {count}: loss={draw.random():.4f} acc={draw.random():.4f} lr=1e-05\n"
    )


def mixed(size: int) -> bytes:
    shapes = (
        "step {0}/100000 loss {1:.4f} lr 1.0e-04\n",
        "step {0} acc={1:.4f} f1={2:.3f}\n",
        "[{0}] | grad_norm: {2:.5f} | loss: {1:.4f}\n",
        "saving checkpoint to runs/ckpt-{0}\n",
        "iter {0} | loss {1:.4f} | {2:.1f} ms/it\n",
    )
    return _lines(size, lambda count, draw: shapes[count % 5].format(count, draw.random(), draw.random()))


def hugging_face(size: int) -> bytes:
    draw, lines, length, step = random.Random(7), [], 0, 0
    while length < size:
        step += 1
        row = {key: f"{draw.gauss(0.0, 1.0):.4g}" for key in KEYS} | {"epoch": f"{step / 1e5:.4g}"}
        bar = f"\r 10%|█         | {step}/100000 [00:10<01:30, 10.00it/s]"
        lines.append(f"{bar}\r{' ' * 60}\r{row}\n{bar}")
        length += len(lines[-1])
    return "".join(lines).encode()


class LineByLine(ConsoleDecoder):
    """The decoder without templates."""

    def _nothing_is_open(self) -> bool:
        return False


def ours(data: bytes) -> int:
    return points_of(ConsoleDecoder(), data)


def line_by_line(data: bytes) -> int:
    return points_of(LineByLine(), data)


def points_of(reader: ConsoleDecoder, data: bytes) -> int:
    points = 0
    for offset in range(0, len(data), CHUNK):
        points += sum(len(item) for item in reader.feed(data[offset : offset + CHUNK]) if isinstance(item, Points))
    return points + sum(len(item) for item in reader.flush() if isinstance(item, Points))


def one_expression(data: bytes) -> int:
    """Search each line for `name: number`, as a script would."""
    pair = re.compile(r"'?([\w/@.]+)'?:\s?'?(?:np\.float64\()?(-?\d[\d.e+-]*)")
    return sum(len(pair.findall(line)) for line in data.decode().splitlines())


def literal_eval(data: bytes) -> int:
    """Each row of Hugging Face through ast.literal_eval, the usual advice."""
    count = 0
    for line in re.split("[\r\n]", data.decode()):
        if line.startswith("{"):
            count += sum(math.isfinite(float(value)) for value in ast.literal_eval(line).values())
    return count


def cpu_seconds(read: Callable[[bytes], int], data: bytes) -> float:
    times = []
    for _ in range(3):
        begun = time.process_time()
        read(data)
        times.append(time.process_time() - begun)
    return min(times)


def main() -> None:
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 8_000_000
    logs = {
        "no row in it": (chatter, one_expression),
        "verl": (verl, one_expression),
        "k=v": (joined, one_expression),
        "short lines": (short, one_expression),
        "mixed lines": (mixed, one_expression),
        "HF rows": (hugging_face, literal_eval),
    }
    for name, (write, other) in logs.items():
        data = write(size)
        mine, slow, theirs = (cpu_seconds(read, data) for read in (ours, line_by_line, other))
        print(
            f"{name:14s} {len(data) / mine / 1e6:7.1f} MB/s, line by line {len(data) / slow / 1e6:7.1f} MB/s,"
            f" {ours(data):8d} points"
            f"   {other.__name__}: {len(data) / theirs / 1e6:6.1f} MB/s, {theirs / mine:5.2f} times our time"
        )


if __name__ == "__main__":
    main()
