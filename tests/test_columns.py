"""Columns hold what was put into them to the bit, whoever else puts the same, or nearly the same, into them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.heap import WORTH, Heap
from tuimon.store.columns import PointColumns, Shared, extend_all

STEPS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)
TIMES = st.sampled_from([math.nan, 1.0, 2.0, math.inf, 0.0, -0.0]) | st.floats()
Batches = list[tuple[list[tuple[int, float]], list[int]]]
ROWS = st.lists(st.tuples(STEPS, TIMES), min_size=1, max_size=6)


@settings(max_examples=100)
@given(st.lists(st.tuples(ROWS, st.lists(st.integers(0, 4), min_size=1, max_size=5)), max_size=8), st.booleans())
def test_metrics_that_share_columns_hold_their_own_points(batches: Batches, single: bool) -> None:
    """Each batch goes to some of five metrics of a stream; views taken on the way stay as they were."""
    shared = Shared()
    columns = [PointColumns(shared) for _ in range(5)]
    wanted: list[list[tuple[int, float, float]]] = [[] for _ in range(5)]
    views: list[tuple[np.ndarray, list[int]]] = []
    for number, (rows, metrics) in enumerate(batches):
        steps = np.array([step for step, _ in rows], np.int64)
        times = np.array([time for _, time in rows])
        for metric in metrics:
            values = np.arange(len(rows)) + number * 1000.0 + metric
            if single:
                for step, value, time in zip(steps.tolist(), values.tolist(), times.tolist(), strict=True):
                    columns[metric].append(step, value, time)
            else:
                columns[metric].extend(steps, values, times)
            wanted[metric] += zip(steps.tolist(), values.tolist(), times.tolist(), strict=True)
            n = columns[metric].length
            views.append((columns[metric].steps[:n], [step for step, _, _ in wanted[metric]]))
    for one, points in zip(columns, wanted, strict=True):
        assert one.length == len(points)
        assert one.steps[: one.length].tolist() == [step for step, _, _ in points]
        assert one.values[: one.length].tolist() == [value for _, value, _ in points]
        same = one.wall_times[: one.length], np.array([time for _, _, time in points])
        assert np.array_equal(*same, equal_nan=True)
        assert one.last_step == (points[-1][0] if points else 0)
        back = [at for at in range(1, len(points)) if points[at][0] < points[at - 1][0]]
        assert one.ordered == (back[0] if back else len(points))
    for view, steps_then in views:
        assert view.tolist() == steps_then


RUNS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 2)), min_size=6, max_size=6)


@settings(max_examples=100)
@given(st.lists(RUNS, max_size=6))
def test_many_metrics_at_once_are_what_each_is_by_itself(batches: list[list[tuple[int, int, int]]]) -> None:
    """Six metrics, of which some are logged together for a while, some at other times, some not at all."""
    together, alone = ([PointColumns(shared) for _ in range(6)] for shared in (Shared(), Shared()))
    for number, runs in enumerate(batches):
        counts = np.array([count for count, _, _ in runs], np.uint32)
        steps = [np.arange(count) + 3 * number - kind * (number % 3) for count, kind, _ in runs]
        times = [np.where(np.arange(count) == kind, np.nan, number + kind * 0.5) for count, _, kind in runs]
        values = [np.arange(count) + 100.0 * number + 10 * at for at, (count, _, _) in enumerate(runs)]
        extend_all(together, counts, *(np.concatenate(column) for column in (steps, values, times)))
        for one, *column in zip(alone, steps, values, times, strict=True):
            one.extend(*column)
    for one, other in zip(together, alone, strict=True):
        assert (one.length, one.ordered, one.last_step) == (other.length, other.ordered, other.last_step)
        for name in ("steps", "values", "wall_times"):
            rows = [getattr(columns, name)[: one.length].tobytes() for columns in (one, other)]
            assert rows[0] == rows[1]


def test_a_metric_that_comes_twice_in_a_batch_keeps_all_its_points() -> None:
    one, other = PointColumns(Shared()), PointColumns(Shared())
    counts, rows = np.array([2, 1, 2], np.uint32), np.arange(5)
    extend_all([one, other, one], counts, rows, rows * 0.5, rows + 1e9)
    assert one.steps[: one.length].tolist() == [0, 1, 3, 4]
    assert one.values[: one.length].tolist() == [0.0, 0.5, 1.5, 2.0]
    assert other.values[: other.length].tolist() == [1.0]


def test_what_is_logged_together_is_held_once() -> None:
    shared = Shared()
    every, same, tenth, also_tenth = (PointColumns(shared) for _ in range(4))
    for block in range(5):
        steps = np.arange(block * 1000, block * 1000 + 1000)
        times = steps + 1e9
        for one in (every, same):
            one.extend(steps, steps * 0.5, times)
        for one in (tenth, also_tenth):
            one.extend(steps[5::10], steps[5::10] * 0.5, times[5::10])
    assert every.steps is same.steps
    assert every.wall_times is same.wall_times
    assert tenth.steps is also_tenth.steps
    assert tenth.steps is not every.steps
    assert every.values is not same.values


def test_one_that_goes_its_own_way_takes_nothing_from_the_others() -> None:
    shared = Shared()
    first, second = PointColumns(shared), PointColumns(shared)
    steps = np.arange(10)
    first.extend(steps, steps * 1.0, steps * 1.0)
    second.extend(steps, steps * 2.0, steps * 1.0)
    before = second.steps[:10]
    second.append(50, 1.0, 50.0)
    first.append(10, 1.0, 10.0)
    assert first.steps[:11].tolist() == [*range(10), 10]
    assert second.steps[:11].tolist() == [*range(10), 50]
    assert before.tolist() == list(range(10))


def test_memory_can_be_given_back_at_any_time() -> None:
    heap = Heap()
    for total in (0, WORTH, WORTH + 1, 10 * WORTH):
        heap.has_read(total)
