"""Measure operations of the store.

Each figure is the best of a few rounds, in milliseconds. Compare ratios rather than absolute numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tuimon.model.events import Columns, MetricsFound, RunFound, StreamFound
from tuimon.store import Curve, Scale, Store


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """Milliseconds of the quickest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def store_of(metrics: int) -> Store:
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "events", "/run/events", "tensorboard", 40, "", 0))
    store.apply(MetricsFound(0, 0, tuple(f"metric/{number}" for number in range(metrics))))
    return store


def event(metrics: int, start: int, count: int) -> Columns:
    """`count` points of each metric from step `start` on."""
    steps = np.tile(np.arange(start, start + count), metrics)
    values = np.random.default_rng(start).normal(size=metrics * count)
    return Columns(
        0,
        np.arange(metrics, dtype=np.uint32),
        np.full(metrics, count, np.uint32),
        steps,
        values,
        1.7e9 + steps.astype(np.float64),
    )


def bulk() -> float:
    events = [event(50, start, 2000) for start in range(0, 20_000, 2000)]

    def load() -> None:
        store = store_of(50)
        for one in events:
            store.apply(one)

    return best(load)


def live(metrics: int) -> tuple[float, float]:
    """(one point of each metric, a snapshot after it)."""
    store, applied, taken = store_of(metrics), [], []
    for step in range(30):
        row = event(metrics, step, 1)
        applied.append(best(partial(store.apply, row), 1))
        taken.append(best(store.snapshot, 1))
    return sorted(applied)[15], sorted(taken)[15]


def query(points: int, columns: int = 400) -> tuple[float, float, float]:
    """(first envelope over everything, a later one, one over the last 1 %)."""
    steps = np.arange(points)
    curve = Curve.from_arrays("loss", steps, np.random.default_rng(0).normal(size=points), steps.astype(np.float64))
    first = best(lambda: curve.envelope(0, points - 1, columns), 1)
    whole = best(lambda: curve.envelope(0, points - 1, columns), 20)
    tail = best(lambda: curve.envelope(points * 0.99, points - 1, columns), 20)
    return first, whole, tail


def refresh(points: int) -> float:
    """A curve and its envelope after one more point of it, milliseconds."""
    store = store_of(1)
    store.apply(event(1, 0, points))
    store.snapshot().runs[0].curve("metric/0").envelope(0, points, 400)
    times = []
    for step in range(points, points + 10):
        store.apply(event(1, step, 1))
        times.append(best(lambda: store.snapshot().runs[0].curve("metric/0").envelope(0, points, 400), 1))
    return min(times)


def source(store: Store, stream: int, rank: int, start: int, count: int) -> None:
    """Another source of the metric, equal to the first from step `start` on, rounded where it is text."""
    store.apply(StreamFound(stream, 0, f"source {stream}", f"/run/{stream}", "any", rank, "", stream))
    store.apply(MetricsFound(stream, 0, ("metric/0",)))
    more(store, stream, start, count, 4 if rank <= 10 else 16)


def more(store: Store, stream: int, start: int, count: int, digits: int = 16) -> None:
    steps = np.arange(start, start + count)
    values = np.round(np.sin(steps * 0.01), digits)
    one = np.zeros(1, np.uint32)
    store.apply(Columns(stream, one, np.array([count], np.uint32), steps, values, 1.7e9 + steps.astype(np.float64)))


def several(points: int, case: str) -> tuple[float, float]:
    """(first curve and envelope of a metric in three sources, with what they disagree about; after one more point of
    each). case: equal | lost (the best source has lost its first half) | ahead (the text is 5 points ahead)."""
    store = store_of(1)
    lost = points // 2 if case == "lost" else 0
    more(store, 0, lost, points - lost)
    source(store, 1, 30, 0, points)
    source(store, 2, 10, 0, points + 5 * (case == "ahead"))

    def draw() -> None:
        curve = store.snapshot().runs[0].curve("metric/0")
        curve.envelope(0, points, 400)
        assert curve.disagreement is None

    first, times = best(draw, 1), []
    for step in range(points, points + 10):
        more(store, 0, step, 1)
        more(store, 1, step, 1)
        more(store, 2, step + 5 * (case == "ahead"), 1, 4)
        times.append(best(draw, 1))
    return first, min(times)


def along(points: int) -> tuple[float, float]:
    """(an envelope by step, one by a counter that the run logs) over everything."""
    steps = np.arange(points)
    curve = Curve.from_arrays("loss", steps, np.random.default_rng(0).normal(size=points))
    epochs = Scale("epoch", 0, steps, steps / 1000)
    curve.envelope(0, points, 400)
    return (
        best(lambda: curve.envelope(0, points, 400), 20),
        best(lambda: curve.envelope(0, points / 1000, 400, epochs), 20),
    )


def main() -> None:
    print(f"1M points in 10 events of 50 metrics  {bulk():8.2f} ms")
    for metrics in (600, 10_000):
        applied, taken = live(metrics)
        print(f"{metrics:6} metrics x 1 point: apply {applied:8.3f} ms   snapshot {taken:8.4f} ms")
    for points in (10_000, 100_000, 1_000_000, 10_000_000):
        first, whole, tail = query(points)
        print(f"{points:9} points -> 400 columns: first {first:8.3f}  all {whole:6.3f}  last 1 % {tail:6.3f} ms")
    for points in (10_000, 1_000_000):
        print(f"{points:9} points, one more: snapshot + curve + envelope {refresh(points):6.3f} ms")
    for case in ("equal", "lost", "ahead"):
        for points in (10_000, 1_000_000):
            first, then = several(points, case)
            print(f"{points:9} points in 3 sources, {case:5}: first {first:8.3f}  one more of each {then:6.3f} ms")
    for points in (10_000, 1_000_000):
        by_step, by_epoch = along(points)
        print(f"{points:9} points: by step {by_step:6.3f}  by epoch {by_epoch:6.3f} ms  ({by_epoch / by_step:.1f}x)")


if __name__ == "__main__":
    main()
