"""The lines of `tuimon watch --json`: a consumer that applies them has what the snapshots have."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.made_run import START, feed, store_of

from tuimon.exports.changes import POINTS, ChangeLog
from tuimon.model.alerts import Alert
from tuimon.model.events import MetricsFound, SegmentStarted, StreamReplaced
from tuimon.store import Store

NOW = START + 1000
NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, None: math.nan}


class Consumer:
    """Applies lines as their schema says."""

    def __init__(self) -> None:
        self.changes = ChangeLog()
        self.points: dict[str, list[tuple[int, float, float]]] = {}
        self.kinds: list[str] = []
        self.lines: list[dict[str, Any]] = []

    def take(self, store: Store) -> list[dict[str, Any]]:
        self.lines = [json.loads(line) for line in self.changes.lines(store.snapshot(), NOW)]
        for line in self.lines:
            if line["kind"] == "points":
                known = self.points.setdefault(line["metric"], [])
                assert line["start"] <= len(known)
                assert len(line["steps"]) == len(line["values"]) == len(line["wall_times"]) <= POINTS
                values = [
                    NUMBERS.get(value, value) if not isinstance(value, float) else value for value in line["values"]
                ]
                times = [math.nan if time is None else time for time in line["wall_times"]]
                known[line["start"] :] = zip(line["steps"], values, times, strict=True)
        return self.lines


def held(store: Store) -> dict[str, str]:
    (run,) = store.snapshot().runs
    curves = {name: run.curve(name) for name in run.metrics}
    return {
        name: repr(list(zip(c.steps.tolist(), c.values.tolist(), c.wall_times.tolist(), strict=True)))
        for name, c in curves.items()
    }


def agree(consumer: Consumer, store: Store) -> bool:
    return {name: repr(points) for name, points in consumer.points.items() if points} == held(store)


def append(store: Store, steps: list[int], values: list[float]) -> None:
    feed(store, {"loss": (steps, values)})


def test_points_are_appended_and_nothing_is_repeated() -> None:
    store, consumer = store_of({"loss": ([1, 2], [0.5, math.nan])}), Consumer()
    assert [line["kind"] for line in consumer.take(store)] == ["run", "points", "state"]
    assert agree(consumer, store)
    assert consumer.take(store) == []
    append(store, [3, 4], [math.inf, -0.0])
    points, state = consumer.take(store)
    assert (points["start"], points["steps"], points["values"]) == (2, [3, 4], ["Infinity", -0.0])
    assert (state["kind"], state["step"]) == ("state", 4)
    assert agree(consumer, store)


def test_a_restart_takes_points_back() -> None:
    store, consumer = store_of({"loss": (range(1, 101), [1.0] * 100)}), Consumer()
    consumer.take(store)
    store.apply(SegmentStarted(0, None, False))
    append(store, [51, 52], [2.0, 2.0])
    (points, _) = consumer.take(store)
    assert (points["start"], points["steps"]) == (50, [51, 52])
    assert agree(consumer, store)


def test_a_rewritten_log_begins_again() -> None:
    store, consumer = store_of({"loss": ([1, 2, 3], [1.0, 2.0, 3.0]), "kl": ([1], [0.0])}), Consumer()
    consumer.take(store)
    store.apply(StreamReplaced(0))
    store.apply(MetricsFound(0, 0, ("loss",)))
    append(store, [1, 2], [1.0, 5.0])
    consumer.take(store)
    assert consumer.points["kl"] == []
    assert agree(consumer, store)


def test_a_long_history_is_split() -> None:
    store, consumer = store_of({"loss": (range(2500), [0.25] * 2500)}), Consumer()
    starts = [line["start"] for line in consumer.take(store) if line["kind"] == "points"]
    assert starts == [0, 1000, 2000]
    assert agree(consumer, store)


def test_an_alert_is_raised_and_resolved_once() -> None:
    store, consumer = store_of({"loss": ([1], [0.5])}), Consumer()
    consumer.take(store)
    alert = Alert("nonfinite", "critical", 0, "loss", 3, "loss is NaN (1 of 3 points)")
    store.set_alerts((alert,))
    (line,) = consumer.take(store)
    assert (line["kind"], line["active"], line["rule"], line["step"]) == ("alert", True, "nonfinite", 3)
    store.set_alerts((Alert("nonfinite", "critical", 0, "loss", 3, "loss is NaN (2 of 4 points)"),))
    assert consumer.take(store) == []  # only its message has changed
    store.set_alerts((Alert("nonfinite", "critical", 0, "loss", 3, "loss was NaN", until=5),))
    (line,) = consumer.take(store)
    assert (line["active"], line["until"]) == (False, 5)


def test_control_characters_are_escaped() -> None:
    store = store_of({"a\x1b[2J\u202e}": ([1], [0.5])})
    text = "".join(ChangeLog().lines(store.snapshot(), NOW))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert json.loads(text.splitlines()[1])["metric"] == "a\x1b[2J\u202e}"


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0.0, 1.5, math.nan, -math.inf])), max_size=6),
        max_size=8,
    )
)
def test_whatever_is_logged_the_consumer_has_it(batches: list[list[tuple[int, float]]]) -> None:
    store, consumer = store_of({"loss": ([0], [0.5])}), Consumer()
    for batch in batches:
        if batch:
            append(store, [step for step, _ in batch], [value for _, value in batch])
        consumer.take(store)
        assert agree(consumer, store)
