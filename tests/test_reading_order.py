"""Which file of a run is read first is chance: on a busy machine, through a pipe, after a restart of the reader. What
is said of the run must not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.events import Event, FactFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.reader import Collector
from tuimon.store import Run, Store
from tuimon.vocabulary import merge_key

DATA = Path(__file__).parent / "data"
RUNS = ("replay/grpo_nan/run", "replay/sb3_ppo/run", "versions/dvclive-2.6", "store_resume")
LATER = 2e9


@cache
def events_of(path: str) -> Sequence[Event]:
    """Everything that is read below the path, as one reading tells it."""
    collector = Collector([str(DATA / path)])
    found = list(collector.find())
    while True:
        found += collector.read()
        if not collector.behind:
            return (*found, *collector.flush())


def in_another_order(events: Sequence[Event], chance: Random) -> list[Event]:
    """What is told of each file stays in its order; whose turn it is, is chance."""
    found = [event for event in events if isinstance(event, RunFound)]
    by_stream: dict[Any, list[Event]] = {}
    for event in events:
        if not isinstance(event, RunFound):
            by_stream.setdefault(getattr(event, "stream", None), []).append(event)
    while by_stream:
        stream = chance.choice(list(by_stream))
        taken = chance.randint(1, 20)
        found += by_stream[stream][:taken]
        del by_stream[stream][:taken]
        if not by_stream[stream]:
            del by_stream[stream]
    return found


def looked_at(events: Sequence[Event]) -> dict[str, str]:
    """All that is said of its runs, by their paths."""
    store = Store(merge_key)
    for event in events:
        store.apply(event)
    return {run.path: repr(told(run)) for run in store.snapshot().runs}


def told(run: Run) -> list[Any]:
    curves = [run.curve(metric) for metric in run.metrics]
    return [
        run.metrics,
        [(curve.steps.tolist(), curve.values.tolist(), curve.wall_times.tolist()) for curve in curves],
        [run.provenance(metric) for metric in run.metrics],
        (run.busiest_metrics, run.axes(), run.last_step),
        (run.config, run.final_metrics, run.best_checkpoint),
        progress_of(run, LATER),
        {topic: run.told(topic) for topic in ("progress", "state", "text", "metrics")},
        run.latest("console"),
    ]


@pytest.mark.parametrize("path", RUNS)
@settings(max_examples=15)
@given(chance=st.randoms(use_true_random=False))
def test_the_order_in_which_files_are_read_changes_nothing(path: str, chance: Random) -> None:
    events = events_of(path)
    assert sum(isinstance(event, StreamFound) for event in events) > 1
    assert looked_at(in_another_order(events, chance)) == looked_at(events)


def run_that_says(*said: tuple[str, int, Fact]) -> Run:
    """(source, its rank, what it says), in the order in which it is read."""
    store = Store(merge_key)
    store.apply(RunFound(0, "run", "/run"))
    for number, (source, rank, fact) in enumerate(said):
        store.apply(StreamFound(number, 0, source, f"/run/{source}", "jsonl", rank, "", 0))
        store.apply(FactFound(number, fact))
    return store.snapshot().runs[0]


@pytest.mark.parametrize("order", [1, -1])
def test_the_best_source_has_the_last_word_on_the_total_and_the_farthest_on_the_step(order: int) -> None:
    saved = ("state.json", 40, Fact("progress", {"step": 100, "total": 500, "epoch": 1.0}))
    printed = ("console.log", 10, Fact("progress", {"step": 150, "total": 501}))
    report = progress_of(run_that_says(*(saved, printed)[::order]), LATER)
    assert (report.step, report.total, report.epoch) == (150, 500, 1.0)


@pytest.mark.parametrize("order", [1, -1])
def test_the_source_that_knows_the_cause_tells_it(order: int) -> None:
    wandb = ("run.wandb", 50, Fact("state", {"state": "crashed", "evidence": "wrote exit code 1"}, wall_time=1e9))
    cause = {"state": "crashed", "evidence": "CUDA out of memory", "cause": "GPU out of memory"}
    console = ("console.log", 10, Fact("state", cause, step=41))
    report = progress_of(run_that_says(*(wandb, console)[::order]), LATER)
    assert report.evidence == "GPU out of memory after step 41: CUDA out of memory"


@pytest.mark.parametrize("order", [1, -1])
def test_the_newest_word_counts_and_not_the_one_that_is_read_last(order: int) -> None:
    before = ("first.wandb", 50, Fact("state", {"state": "crashed", "evidence": "code 1"}, wall_time=1e9))
    after = ("second.wandb", 50, Fact("state", {"state": "finished", "evidence": "code 0"}, wall_time=1e9 + 60))
    assert progress_of(run_that_says(*(before, after)[::order]), LATER).state == "finished"
