"""Items of a decoder as events."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tuimon.model.events import Columns, MetricsFound
from tuimon.model.points import Fact, Item, Points
from tuimon.reader.events import Announcer, together

NAMES = ["reward", "loss"]
OTHER_NAMES = ["reward"]


def batch(names: list[str], values: list[int]) -> Points:
    numbers = np.array(values, np.int64)
    return Points(
        names, np.zeros(len(values), np.uint32), numbers, numbers.astype(np.float64), np.full(len(values), np.nan)
    )


BATCHES = st.builds(batch, st.sampled_from([NAMES, OTHER_NAMES]), st.lists(st.integers(0, 9), min_size=1, max_size=3))
ITEMS = st.lists(st.one_of(BATCHES, st.just(Fact("text", {"tag": "a", "text": "b"}))), max_size=8)


def flat(items: list[Item]) -> list[object]:
    """Each point with its table of names, and what stands between them."""
    found: list[object] = []
    for item in items:
        found += [(id(item.names), step) for step in item.steps] if isinstance(item, Points) else [item]
    return found


@given(ITEMS)
def test_batches_that_follow_each_other_are_one_and_nothing_changes_places(items: list[Item]) -> None:
    found = list(together(items))
    assert flat(found) == flat(items)
    for before, after in pairwise(found):
        assert not (isinstance(before, Points) and isinstance(after, Points) and before.names is after.names)


def test_a_batch_of_any_size_is_told_whole() -> None:
    many = batch(NAMES, [1] * 100_000)
    events = list(Announcer(0).events([many, many, many]))
    assert sum(len(event.steps) for event in events[1:]) == 300_000  # type: ignore[union-attr]


TABLES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True), min_size=1, max_size=5)


@given(TABLES, st.randoms(use_true_random=False))
def test_a_name_keeps_its_id_when_a_decoder_begins_anew(tables: list[list[str]], chance: random.Random) -> None:
    """Each decoder meets names in its own order, and tells some points before it knows all of them."""
    announcer, told, given, found = Announcer(0), dict[int, str](), [], []
    for table in tables:
        names: list[str] = []
        for name in table:
            names.append(name)
            ids = [chance.randrange(len(names)) for _ in range(chance.randint(0, 4))]
            values = [float(len(given) + place) for place in range(len(ids))]
            given += [(names[id], value) for id, value in zip(ids, values, strict=True)]
            if not ids:
                continue
            points = Points(names, np.array(ids, np.uint32), np.arange(len(ids)), np.array(values), np.zeros(len(ids)))
            for event in announcer.events([points]):
                if isinstance(event, MetricsFound):
                    assert event.first == len(told)
                    assert not set(event.names) & set(told.values())
                    told.update(enumerate(event.names, event.first))
                elif isinstance(event, Columns):
                    metrics = np.repeat(event.metric, event.counts).tolist()
                    found += [(told[id], value) for id, value in zip(metrics, event.values.tolist(), strict=True)]
    assert sorted(found) == sorted(given)
    for name in told.values():
        assert [pair for pair in found if pair[0] == name] == [pair for pair in given if pair[0] == name]
