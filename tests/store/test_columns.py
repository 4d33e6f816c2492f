"""Columns hold exactly what was added, also if metrics share them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tuimon.store.columns import PointColumns, SharedColumns, extend_all

STEPS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)
TIMES = st.sampled_from([math.nan, 1.0, 2.0, math.inf, 0.0, -0.0]) | st.floats()
Batches = list[tuple[list[tuple[int, float]], list[int]]]
ROWS = st.lists(st.tuples(STEPS, TIMES), min_size=1, max_size=6)


@given(st.lists(st.tuples(ROWS, st.lists(st.integers(0, 4), min_size=1, max_size=5)), max_size=8), st.booleans())
def test_metrics_that_share_columns_keep_their_own_points(batches: Batches, single: bool) -> None:
    """Batches go to five metrics of a stream; views taken in between never change."""
    shared = SharedColumns()
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
                    columns[metric].extend(np.array([step]), np.array([value]), np.array([time]))
            else:
                columns[metric].extend(steps, values, times)
            wanted[metric] += zip(steps.tolist(), values.tolist(), times.tolist(), strict=True)
            n = columns[metric].length
            views.append((columns[metric].steps[:n], [step for step, _, _ in wanted[metric]]))
    for item, points in zip(columns, wanted, strict=True):
        assert item.length == len(points)
        assert item.steps[: item.length].tolist() == [step for step, _, _ in points]
        assert item.values[: item.length].tolist() == [value for _, value, _ in points]
        same = item.wall_times[: item.length], np.array([time for _, _, time in points])
        assert np.array_equal(*same, equal_nan=True)
        assert item.last_step == (points[-1][0] if points else 0)
        back = [row for row in range(1, len(points)) if points[row][0] < points[row - 1][0]]
        assert item.ordered == (back[0] if back else len(points))
    for view, steps_then in views:
        assert view.tolist() == steps_then


RUNS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 2)), min_size=6, max_size=6)


@given(st.lists(RUNS, max_size=6))
def test_extend_all_equals_extending_each_metric(batches: list[list[tuple[int, int, int]]]) -> None:
    """Six metrics, some logged together for a while, some at other times, some never."""
    together, alone = ([PointColumns(shared) for _ in range(6)] for shared in (SharedColumns(), SharedColumns()))
    for number, runs in enumerate(batches):
        counts = np.array([count for count, _, _ in runs], np.uint32)
        steps = [np.arange(count) + 3 * number - kind * (number % 3) for count, kind, _ in runs]
        times = [np.where(np.arange(count) == kind, np.nan, number + kind * 0.5) for count, _, kind in runs]
        values = [np.arange(count) + 100.0 * number + 10 * at for at, (count, _, _) in enumerate(runs)]
        extend_all(together, counts, *(np.concatenate(column) for column in (steps, values, times)))
        for item, *column in zip(alone, steps, values, times, strict=True):
            item.extend(*column)
    for item, other in zip(together, alone, strict=True):
        assert (item.length, item.ordered, item.last_step) == (other.length, other.ordered, other.last_step)
        for name in ("steps", "values", "wall_times"):
            rows = [getattr(columns, name)[: item.length].tobytes() for columns in (item, other)]
            assert rows[0] == rows[1]


def test_a_metric_listed_twice_in_a_batch_keeps_all_points() -> None:
    item, other = PointColumns(SharedColumns()), PointColumns(SharedColumns())
    counts, rows = np.array([2, 1, 2], np.uint32), np.arange(5)
    extend_all([item, other, item], counts, rows, rows * 0.5, rows + 1e9)
    assert item.steps[: item.length].tolist() == [0, 1, 3, 4]
    assert item.values[: item.length].tolist() == [0.0, 0.5, 1.5, 2.0]
    assert other.values[: other.length].tolist() == [1.0]


def test_metrics_logged_together_share_steps_and_times() -> None:
    shared = SharedColumns()
    every, same, tenth, also_tenth = (PointColumns(shared) for _ in range(4))
    for block in range(5):
        steps = np.arange(block * 1000, block * 1000 + 1000)
        times = steps + 1e9
        for item in (every, same):
            item.extend(steps, steps * 0.5, times)
        for item in (tenth, also_tenth):
            item.extend(steps[5::10], steps[5::10] * 0.5, times[5::10])
    assert every.steps is same.steps
    assert every.wall_times is same.wall_times
    assert tenth.steps is also_tenth.steps
    assert tenth.steps is not every.steps
    assert every.values is not same.values


def test_a_metric_that_diverges_gets_its_own_columns() -> None:
    shared = SharedColumns()
    first, second = PointColumns(shared), PointColumns(shared)
    steps = np.arange(10)
    first.extend(steps, steps * 1.0, steps * 1.0)
    second.extend(steps, steps * 2.0, steps * 1.0)
    before = second.steps[:10]
    second.extend(np.array([50]), np.array([1.0]), np.array([50.0]))
    first.extend(np.array([10]), np.array([1.0]), np.array([10.0]))
    assert first.steps[:11].tolist() == [*range(10), 10]
    assert second.steps[:11].tolist() == [*range(10), 50]
    assert before.tolist() == list(range(10))
