"""What decoders gave, in a shape that is easy to compare."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tuimon.model.points import Damage, Fact, Item, Points

DATA = Path(__file__).parent / "data" / "json"


def truth() -> dict[str, dict[str, list[tuple[int, str]]]]:
    """File below DATA -> metric -> [(step, repr of the float)], as the loops that wrote the files logged them."""
    with gzip.open(DATA / "truth.json.gz", "rt") as file:
        logged: dict[str, dict[str, list[list[Any]]]] = json.load(file)
    return {
        path: {
            metric: [(int(step), repr(float(value))) for step, value in points] for metric, points in metrics.items()
        }
        for path, metrics in logged.items()
    }


def rows(items: Iterable[Item]) -> list[tuple[str, int, str, str]]:
    """(metric, step, value, wall time) of every point in order; floats by repr, so that NaN equals NaN."""
    found = []
    for item in items:
        if isinstance(item, Points):
            names = [item.names[index] for index in item.metric.tolist()]
            columns = (names, item.steps.tolist(), map(repr, item.values.tolist()), map(repr, item.wall_times.tolist()))
            found += list(zip(*columns, strict=True))
    return found


def series(items: Iterable[Item]) -> dict[str, list[tuple[int, str]]]:
    """metric -> [(step, repr of the value)]"""
    found: dict[str, list[tuple[int, str]]] = {}
    for metric, step, value, _ in rows(items):
        found.setdefault(metric, []).append((step, value))
    return found


def facts(items: Iterable[Item], topic: str) -> list[Any]:
    return [item.value for item in items if isinstance(item, Fact) and item.topic == topic]


def damage(items: Iterable[Item]) -> list[tuple[int, int, str]]:
    return [(item.offset, item.length, item.reason) for item in items if isinstance(item, Damage)]


def feed(decoder: Any, data: bytes, cuts: Sequence[int] = (), flush: bool = True) -> list[Item]:
    """Everything that a stream decoder gives for the data, fed in pieces that end at the cuts."""
    items: list[Item] = []
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    for begin, end in pairwise(edges):
        items += decoder.feed(data[begin:end])
    return [*items, *(decoder.flush() if flush else ())]


def dump(document: Any) -> bytes:
    """As the recorder of training_log.json writes it."""
    return json.dumps(document, indent=2).encode()


def training_history(train: int, val: int = 0, **more: Any) -> dict[str, Any]:
    """A training_log.json of so many train rows (of two points) and validation rows (of one; the second is NaN)."""
    return {
        "config": {"lr": 0.1, "nested": {"a": [1]}},
        "train_history": [{"step": 10 * i, "epoch": 1, "loss": 1 / i} for i in range(1, train + 1)],
        "val_history": [{"step": 100 * i, "val_reward": math.nan if i == 2 else i} for i in range(1, val + 1)],
        "best_checkpoint": None,
        **more,
    }
