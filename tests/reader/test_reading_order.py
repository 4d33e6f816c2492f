"""The order in which the files of a run are read is random; the state of the run must not depend on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.events import (
    CheckpointsFound,
    Event,
    FactFound,
    Progress,
    RunFound,
    StreamFound,
    StreamStatus,
)
from tuimon.model.points import Fact
from tuimon.reader import Collector
from tuimon.store import Run, Store
from tuimon.wire import FrameDecoder

DATA = Path(__file__).parent.parent / "data"
RUNS = ("replay/grpo_nan/run", "replay/sb3_ppo/run", "versions/dvclive-2.6", "store_resume")
LATER = 2e9


@cache
def events_of(path: str) -> Sequence[Event]:
    """All events of the files below the path, in one reading order."""
    collector = Collector([str(DATA / path)])
    events = list(collector.find())
    while True:
        events += collector.read()
        if not collector.behind:
            return (*events, *collector.flush())


def shuffled(events: Sequence[Event], chance: Random) -> list[Event]:
    """The events in random order, except that those of each stream keep their order."""
    result = [event for event in events if isinstance(event, RunFound)]
    by_stream: dict[Any, list[Event]] = {}
    for event in events:
        if not isinstance(event, RunFound):
            by_stream.setdefault(getattr(event, "stream", None), []).append(event)
    while by_stream:
        stream = chance.choice(list(by_stream))
        taken = chance.randint(1, 20)
        result += by_stream[stream][:taken]
        del by_stream[stream][:taken]
        if not by_stream[stream]:
            del by_stream[stream]
    return result


def state_of(events: Sequence[Event]) -> dict[str, str]:
    """State of each run, by path."""
    store = Store()
    for event in events:
        store.apply(event)
    return {run.path: repr(contents(run)) for run in store.snapshot().runs}


def contents(run: Run) -> list[Any]:
    curves = [run.curve(metric) for metric in run.metrics]
    return [
        run.metrics,
        [(curve.steps.tolist(), curve.values.tolist(), curve.wall_times.tolist()) for curve in curves],
        [run.provenance(metric) for metric in run.metrics],
        (run.busiest_metrics, run.axes(), run.last_step),
        (run.config, run.final_metrics, run.best_checkpoint),
        progress_of(run, LATER),
        {topic: run.facts_by_source(topic) for topic in ("progress", "state", "text", "metrics")},
        run.latest_fact("console"),
    ]


@pytest.mark.parametrize("path", RUNS)
@settings(max_examples=15)
@given(chance=st.randoms(use_true_random=False))
def test_the_reading_order_of_files_does_not_matter(path: str, chance: Random) -> None:
    events = events_of(path)
    assert sum(isinstance(event, StreamFound) for event in events) > 1
    assert state_of(shuffled(events, chance)) == state_of(events)


def run_with_facts(*facts: tuple[str, int, Fact]) -> Run:
    """A run from (source, rank, fact) in reading order."""
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    for number, (source, rank, fact) in enumerate(facts):
        store.apply(StreamFound(number, 0, source, f"/run/{source}", "jsonl", rank, "", 0))
        store.apply(FactFound(number, fact))
    return store.snapshot().runs[0]


SAID: list[tuple[tuple[str, int, Fact], tuple[str, int, Fact], dict[str, object]]] = [
    (  # the total is from the best source, the step from the farthest
        ("state.json", 40, Fact("progress", {"step": 100, "total": 500, "epoch": 1.0})),
        ("console.log", 10, Fact("progress", {"step": 150, "total": 501})),
        {"step": 150, "total": 500, "epoch": 1.0},
    ),
    (  # a cause is better evidence than a code
        ("run.wandb", 50, Fact("state", {"state": "crashed", "evidence": "wrote exit code 1"}, wall_time=1e9)),
        ("console.log", 10, Fact("state", {"state": "crashed", "evidence": "CUDA", "cause": "out of memory"}, step=41)),
        {"evidence": "out of memory after step 41: CUDA"},
    ),
    (  # the newest state, not the one that was read last
        ("first.wandb", 50, Fact("state", {"state": "crashed", "evidence": "code 1"}, wall_time=1e9)),
        ("second.wandb", 50, Fact("state", {"state": "finished", "evidence": "code 0"}, wall_time=1e9 + 60)),
        {"state": "finished"},
    ),
]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("first", "second", "expected"), SAID)
def test_sources_that_say_different_things(
    first: tuple[str, int, Fact], second: tuple[str, int, Fact], expected: dict[str, object], order: int
) -> None:
    report = progress_of(run_with_facts(*(first, second)[::order]), LATER)
    assert {name: getattr(report, name) for name in expected} == expected


def _events_until_caught_up(path: Path) -> list[Event]:
    """Return the events of a reader process up to the report that it has read everything."""
    events: list[Event] = []
    with subprocess.Popen(
        [sys.executable, "-m", "tuimon.reader", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as reader:
        assert reader.stdout is not None
        decoder = FrameDecoder()
        while not any(isinstance(event, Progress) and event.caught_up for event in events):
            events += decoder.feed(os.read(reader.stdout.fileno(), 1 << 16))
        assert reader.stdin is not None
        reader.stdin.close()
        reader.stdout.close()
    return events


def test_all_is_known_when_the_process_has_caught_up(tmp_path: Path) -> None:
    """The state of a run is shown once its history has been read; it must not change by the first search for writers.

    The last row of a silent log has no end that shows it to be whole.
    """
    log = tmp_path / "job" / "train.log"
    for name in ("job/train.log", *(f"grpo/checkpoint-{step}/eval.jsonl" for step in range(1, 201))):
        (tmp_path / name).parent.mkdir(parents=True)
    rows = "".join(f"{{'loss': 0.5, 'step': {step}}}\n" for step in range(1, 50))
    log.write_text(rows + "{'loss': 0.25, 'step': 50}")
    os.utime(log, (time.time() - 3600,) * 2)
    for name, step in (("grpo/metrics.jsonl", 1), ("grpo/checkpoint-200/eval.jsonl", 77)):
        (tmp_path / name).write_text(f'{{"step": {step}, "loss": 0.5}}\n')
    events, store = _events_until_caught_up(tmp_path), Store()
    for event in events:
        store.apply(event)
    runs = store.snapshot().runs
    assert {run.name: (run.point_count, run.last_step) for run in runs} == {"job": (50, 50), "grpo": (2, 77)}
    assert [event.steps for event in events if isinstance(event, CheckpointsFound)] == [tuple(range(1, 201))]
    end = next(i for i, event in enumerate(events) if isinstance(event, Progress) and event.caught_up)
    writers = {event.stream: event.writer for event in events[:end] if isinstance(event, StreamStatus)}
    assert set(writers.values()) == {"closed"}
