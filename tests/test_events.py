"""Items of a decoder as events."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
