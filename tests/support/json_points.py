"""Items of decoders in forms that are easy to compare."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tuimon.model.points import Damage, Fact, Item, Points

DATA = Path(__file__).parent.parent / "data" / "json"


def rows(items: Iterable[Item]) -> list[tuple[str, int, str, str]]:
    """Return (metric, step, value, wall time) of every point in order; floats as repr, so that NaN equals NaN."""
    result = []
    for item in items:
        if isinstance(item, Points):
            names = [item.names[index] for index in item.metric.tolist()]
            columns = (names, item.steps.tolist(), map(repr, item.values.tolist()), map(repr, item.wall_times.tolist()))
            result += list(zip(*columns, strict=True))
    return result


def series(items: Iterable[Item]) -> dict[str, list[tuple[int, str]]]:
    """Return metric -> [(step, repr of the value)]."""
    result: dict[str, list[tuple[int, str]]] = {}
    for metric, step, value, _ in rows(items):
        result.setdefault(metric, []).append((step, value))
    return result


def facts(items: Iterable[Item], topic: str) -> list[Any]:
    return [item.value for item in items if isinstance(item, Fact) and item.topic == topic]


def damage(items: Iterable[Item]) -> list[tuple[int, int, str]]:
    return [(item.offset, item.length, item.reason) for item in items if isinstance(item, Damage)]


def feed(decoder: Any, data: bytes, cuts: Sequence[int] = (), flush: bool = True) -> list[Item]:
    """Return all items of a stream decoder for the data, fed in pieces that end at the cuts."""
    items: list[Item] = []
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    for begin, end in pairwise(edges):
        items += decoder.feed(data[begin:end])
    return [*items, *(decoder.flush() if flush else ())]


def dump(document: Any) -> bytes:
    """Serialise a document as the recorder of training_log.json does."""
    return json.dumps(document, indent=2).encode()


def training_history(train: int, val: int = 0, **more: Any) -> dict[str, Any]:
    """Return a training_log.json of `train` rows (two points each) and `val` rows (one each; the second is NaN)."""
    return {
        "config": {"lr": 0.1, "nested": {"a": [1]}},
        "train_history": [{"step": 10 * i, "epoch": 1, "loss": 1 / i} for i in range(1, train + 1)],
        "val_history": [{"step": 100 * i, "val_reward": math.nan if i == 2 else i} for i in range(1, val + 1)],
        "best_checkpoint": None,
        **more,
    }
