"""Measure the reading of a log in a process of its own, like the reader process.

    python -m tests.bench._reading_alone PATH ROUNDS

Prints the median CPU seconds of the rounds, after one more to warm up, and the number of points.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from tuimon.model.events import Columns
from tuimon.reader import Collector


def read(path: Path) -> tuple[float, int]:
    """(CPU seconds, points) of a Collector that reads all there is, as the reader process does."""
    begun = time.process_time()
    collector = Collector([str(path)])
    list(collector.find())
    points = 0
    while True:
        points += sum(len(event.steps) for event in collector.read() if isinstance(event, Columns))
        if not collector.behind:
            break
    points += sum(len(event.steps) for event in collector.flush() if isinstance(event, Columns))
    return time.process_time() - begun, points


if __name__ == "__main__":
    results = [read(Path(sys.argv[1])) for _ in range(int(sys.argv[2]) + 1)][1:]
    print(statistics.median(seconds for seconds, _ in results), results[0][1])
