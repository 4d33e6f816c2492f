"""EventEncoder: conversion of decoded items to events. DamageLog: damaged parts of a log."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tuimon.model.events import Columns, MetricsFound
from tuimon.model.points import Damage, Fact, Item, Points
from tuimon.reader.damage_log import MAX_DAMAGE, DamageLog
from tuimon.reader.events import EventEncoder, join_batches

NAMES = ["reward", "loss"]
OTHER_NAMES = ["reward"]


def batch(names: list[str], values: list[int]) -> Points:
    numbers = np.array(values, np.int64)
    return Points(
        names, np.zeros(len(values), np.uint32), numbers, numbers.astype(np.float64), np.full(len(values), np.nan)
    )


BATCHES = st.builds(batch, st.sampled_from([NAMES, OTHER_NAMES]), st.lists(st.integers(0, 9), min_size=1, max_size=3))
ITEMS = st.lists(st.one_of(BATCHES, st.just(Fact("text", {"tag": "a", "text": "b"}))), max_size=8)


def flattened(items: list[Item]) -> list[object]:
    """Each point with the identity of its table of names, and the items between points."""
    result: list[object] = []
    for item in items:
        result += [(id(item.names), step) for step in item.steps] if isinstance(item, Points) else [item]
    return result


@given(ITEMS)
def test_consecutive_batches_are_joined_in_order(items: list[Item]) -> None:
    joined = list(join_batches(items))
    assert flattened(joined) == flattened(items)
    for before, after in pairwise(joined):
        assert not (isinstance(before, Points) and isinstance(after, Points) and before.names is after.names)


def test_batches_of_any_size_are_encoded_completely() -> None:
    large = batch(NAMES, [1] * 100_000)
    events = list(EventEncoder(0).events([large, large, large]))
    assert sum(len(event.steps) for event in events[1:]) == 300_000  # type: ignore[union-attr]


TABLES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True), min_size=1, max_size=5)


@given(TABLES, st.randoms(use_true_random=False))
def test_a_name_keeps_its_id_when_a_decoder_starts_again(tables: list[list[str]], chance: random.Random) -> None:
    """Each decoder has the names in its own order, and returns some points before it knows all names."""
    encoder, name_of, given, decoded = EventEncoder(0), dict[int, str](), [], []
    for table in tables:
        names: list[str] = []
        for name in table:
            names.append(name)
            ids = [chance.randrange(len(names)) for _ in range(chance.randint(0, 4))]
            values = [float(len(given) + index) for index in range(len(ids))]
            given += [(names[id], value) for id, value in zip(ids, values, strict=True)]
            if not ids:
                continue
            points = Points(names, np.array(ids, np.uint32), np.arange(len(ids)), np.array(values), np.zeros(len(ids)))
            for event in encoder.events([points]):
                if isinstance(event, MetricsFound):
                    assert event.first == len(name_of)
                    assert not set(event.names) & set(name_of.values())
                    name_of.update(enumerate(event.names, event.first))
                elif isinstance(event, Columns):
                    metrics = np.repeat(event.metric, event.counts).tolist()
                    decoded += [(name_of[id], value) for id, value in zip(metrics, event.values.tolist(), strict=True)]
    assert sorted(decoded) == sorted(given)
    for name in name_of.values():
        assert [pair for pair in decoded if pair[0] == name] == [pair for pair in given if pair[0] == name]


def test_parts_beyond_the_limit_are_counted() -> None:
    log = DamageLog()
    for part in range(2 * MAX_DAMAGE):
        for record in range(3):
            log.add(Damage(100 * part + 10 * record, 10, "not JSON"))
    assert (log.count, log.size, len(log.parts)) == (2 * MAX_DAMAGE, 2 * MAX_DAMAGE * 30, MAX_DAMAGE)
    assert {(damage.length, damage.records) for damage in log.parts} == {(30, 3)}
