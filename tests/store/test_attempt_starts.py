"""Attempts of a training in one stream: a later one supersedes the points of all metrics from its first step on."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tuimon.model.events import RunFound, StreamFound
from tuimon.model.points import Points
from tuimon.reader.events import EventEncoder
from tuimon.store import Run, Store

NAMES = ["loss", "eval_loss"]
LOSS, EVAL = range(2)
Rows = list[tuple[int, int]]
"""(metric, step) in the order of the log; the value is the number of the row."""


def attempt(first: int, last: int, every: int, evaluated: int) -> Rows:
    """Rows of an attempt that goes on after step `first` and logs and evaluates at multiples of two numbers."""
    rows: Rows = []
    for step in range(first + 1, last + 1):
        rows += [(LOSS, step)] if step % every == 0 else []
        rows += [(EVAL, step)] if step % evaluated == 0 else []
    return rows


def run_of(rows: Rows, pieces: int = 1) -> Run:
    """Read the rows in pieces and look at the curves after each one."""
    store, encoder = Store(), EventEncoder(0)
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "log.jsonl", "/run/log.jsonl", "jsonl", 30, "", 0))
    for part in np.array_split(np.arange(len(rows)), pieces):
        if len(part):
            metric = np.array([rows[number][0] for number in part], np.uint32)
            steps = np.array([rows[number][1] for number in part], np.int64)
            points = Points(NAMES, metric, steps, part.astype(np.float64), np.full(len(part), np.nan))
            for event in encoder.events([points]):
                store.apply(event)
            run = store.snapshot().runs[0]
            for name in run.metrics:
                run.curve(name)
    return store.snapshot().runs[0]


def curves(run: Run) -> dict[str, list[tuple[int, float]]]:
    return {
        name: list(zip(run.curve(name).steps.tolist(), run.curve(name).values.tolist(), strict=True))
        for name in run.metrics
    }


RESTARTS = st.lists(st.tuples(st.integers(0, 7), st.integers(30, 50)), min_size=1, max_size=3)
"""(checkpoint, in tenths of the steps of the attempt before; steps that the attempt adds to those before)."""


@given(RESTARTS, st.integers(1, 3), st.integers(3, 40), st.integers(3, 40), st.integers(1, 30))
@example([(5, 40)], 2, 20, 20, 1)
@example([(5, 40)], 2, 20, 20, 1000)
@example([(5, 40)], 1, 30, 40, 1)
def test_the_last_attempt_counts_from_its_first_step_on(
    restarts: list[tuple[int, int]], every: int, evaluated: int, evaluated_later: int, pieces: int
) -> None:
    rows = attempt(0, 80, every, evaluated)
    wanted, begin, last = list(enumerate(rows)), 0, 80
    for tenths, more in restarts:
        checkpoint = begin + (last - begin) * tenths // 10 // every * every
        begin, last = checkpoint, last + more
        added = attempt(checkpoint, last, every, evaluated_later)
        first = added[0][1]
        # An evaluation before the first loss that repeats the last evaluated step goes back in no series: both stay.
        assume(added[0][0] == LOSS or added[0][1] != max(step for metric, step in rows if metric == EVAL))
        wanted = [row for row in wanted if row[1][1] < first] + list(enumerate(added, len(rows)))
        rows += added
    expected: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, (metric, step) in wanted:
        expected[NAMES[metric]].append((step, float(number)))
    run = run_of(rows, pieces)
    assert curves(run) == expected
    for name in run.metrics:
        curve = run.curve(name)
        assert len(curve) + curve.superseded == sum(NAMES[metric] == name for metric, _ in rows)


def test_a_row_begins_with_its_first_metric() -> None:
    """An evaluation in the first row after the restart, before the value that shows the restart."""
    rows = [*attempt(0, 80, 2, 30), (EVAL, 62), *((LOSS, step) for step in range(62, 90, 2))]
    run = run_of(rows)
    assert curves(run)["eval_loss"][-1] == (62, float(rows.index((EVAL, 62))))
