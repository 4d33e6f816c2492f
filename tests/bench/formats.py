"""Compare the reading of each format with the library's own reader and pandas.

    python -m tests.bench formats                             all formats
    python -m tests.bench.formats [--steps 5000] [WORD …]     formats whose names contain one of the words

A log has 20 metrics per step (50 in W&B's and SwanLab's run files). tuimon's time is that of the reader process,
including the search for the log; peers start with its path. Both return the steps and values of each metric, which must
be equal. Times are CPU seconds, the best of three rounds (two for peers).

Peers that cannot be imported are listed as missing. To measure all of them, install mlflow-skinny, sqlalchemy, alembic,
pandas, swanlab, tbparse, tensorboard and wandb (up to 0.29) into an environment with tuimon, and run this there.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import logging
import pkgutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from support.event_reading import read_all

from tests.bench import _formats
from tests.bench._formats import Case, Series
from tests.bench._row import number
from tuimon.model.events import Columns, Event, MetricsFound
from tuimon.reader import Collector

ROUNDS, PEER_ROUNDS = 3, 2
_LINE = "{:<46} {:<32} {:>8} {:>8} {:>10}"


def cases() -> Iterator[Case | str]:
    """Every case, or why those of a module cannot be measured."""
    for module_info in pkgutil.iter_modules(_formats.__path__):
        try:
            module = importlib.import_module(f"{_formats.__name__}.{module_info.name}")
        except ImportError as error:
            yield f"{module_info.name}: its log cannot be written here ({error})"
        else:
            yield from getattr(module, "CASES", None) or [module.CASE]


def read(folder: Path) -> list[Event]:
    """The events that the reader process would send."""
    return read_all(Collector([str(folder)]))


def by_metric(events: list[Event]) -> Series:
    """Series of a run with one source per metric. Raises AssertionError if there are several."""
    names: dict[tuple[int, int], str] = {}
    parts: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for event in events:
        if isinstance(event, MetricsFound):
            names.update({(event.stream, event.first + index): name for index, name in enumerate(event.names)})
        elif isinstance(event, Columns):
            ends = np.cumsum(event.counts).tolist()
            for metric, start, end in zip(event.metric.tolist(), [0, *ends], ends, strict=False):
                parts.setdefault((event.stream, metric), []).append((event.steps[start:end], event.values[start:end]))
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for key, pieces in parts.items():
        found.setdefault(names[key], []).extend(pieces)
    return {
        name: (np.concatenate([steps for steps, _ in pieces]), np.concatenate([values for _, values in pieces]))
        for name, pieces in found.items()
    }


def check(ours: Series, theirs: Series, peer: str) -> None:
    """AssertionError where a peer finds other points; in which order it gives the steps is not looked at."""
    assert set(ours) == set(theirs), f"{peer} finds other metrics: {sorted(set(ours) ^ set(theirs))[:5]}"
    for name, columns in ours.items():
        mine, other = (_in_order(*found) for found in (columns, theirs[name]))
        same = np.array_equal(mine, other, equal_nan=True)
        assert same, f"{peer} finds other points of {name}: {mine.shape[1]} here, {other.shape[1]} there"


def _in_order(steps: object, values: object) -> np.ndarray:
    columns = np.array([steps, values], np.float64)
    return columns[:, np.argsort(columns[0], kind="stable")]


def cpu_seconds(work: Callable[[], object], rounds: int) -> float:
    times = []
    gc.collect()
    gc.freeze()  # the garbage collector must not walk, on our time, through all that was imported for a peer
    for _ in range(rounds):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def measure(case: Case, steps: int) -> Iterator[str]:
    """Lines of the table."""
    with tempfile.TemporaryDirectory(prefix="bench") as directory:
        folder = Path(directory)
        case.write(folder, steps)
        found = by_metric(read(folder))
        points = sum(len(values) for _, values in found.values())
        assert points, f"{case.what}: nothing was read"
        ours = cpu_seconds(lambda: read(folder), ROUNDS)
        yield _LINE.format(case.what, "tuimon", f"{ours:.3f}", number(points / ours), "")
        for name, peer in case.peers.items():
            try:
                check(found, peer(folder), name)
            except ImportError as error:
                yield _LINE.format("", name, "", "", "") + f"missing: {error}"
                continue
            theirs = cpu_seconds(lambda peer=peer: peer(folder), PEER_ROUNDS)
            yield _LINE.format("", name, f"{theirs:.3f}", number(points / theirs), f"{theirs / ours:.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--steps", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # some libraries talk while they are imported
    print(_LINE.format("what", "who", "CPU s", "points/s", "times ours"))
    for case in cases():
        if isinstance(case, str):
            print(case)
        elif not options.words or any(word.lower() in case.what.lower() for word in options.words):
            for line in measure(case, options.steps):
                print(line.rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
