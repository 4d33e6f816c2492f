"""The store as a whole: events in, snapshots out, several threads, and real logs compared with other readers."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.event_points import accumulated
from support.stores import Log

from tuimon.errors import WireError
from tuimon.model.alerts import Alert
from tuimon.model.events import (
    Columns,
    FactFound,
    MetricsFound,
    Notice,
    Progress,
    RunFound,
    SegmentStarted,
    StreamFound,
    StreamReplaced,
    StreamStatus,
    Watching,
)
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run
from tuimon.store import Store
from tuimon.store.columns import PointColumns
from tuimon.store.index import Names
from tuimon.store.series import Series
from tuimon.store.store import CONSOLE_FACTS

DATA = Path(__file__).parent.parent / "data"


def stream_found(stream, run=0, source="events", rank=40, order=0):
    return StreamFound(stream, run, source, f"/run/{source}", "tensorboard", rank, "", order)


def columns(stream, steps, counts=None, start=0.0):
    """One metric, or several with `counts` points each, its values and wall times equal to its steps."""
    steps = np.array(steps, np.int64)
    counts = np.array([len(steps)] if counts is None else counts, np.uint32)
    return Columns(
        stream, np.arange(len(counts), dtype=np.uint32), counts, steps, steps.astype(float), start + steps.astype(float)
    )


def two_runs():
    store = Store()
    for run in (0, 1):
        store.apply(RunFound(run, f"run {run}", f"/run{run}"))
        store.apply(stream_found(run, run))
        store.apply(MetricsFound(run, 0, ("loss", "reward")))
        store.apply(columns(run, [0, 1, 2]))
    return store


def test_an_empty_store():
    snapshot = Store().snapshot()
    assert snapshot.runs == ()
    assert snapshot.progress == Progress(0, 0, False)
    assert (snapshot.watching, snapshot.notices, snapshot.alerts) == (None, (), ())


def test_unchanged_objects_are_reused():
    store = two_runs()
    first = store.snapshot()
    assert store.snapshot() is first
    store.apply(columns(1, [3]))
    other = store.snapshot()
    assert other.version == store.version > first.version
    assert other.runs[0] is first.runs[0]
    assert other.run(1).version != first.run(1).version
    assert len(first.run(1).curve("loss")) == 3  # a snapshot does not see what comes after it
    assert len(other.run(1).curve("loss")) == 4
    with pytest.raises(KeyError):
        first.run(7)


def test_a_repeated_status_changes_nothing():
    store = two_runs()
    status = StreamStatus(0, "current", "", 10, 10, 1000.0, 0)
    store.apply(status)
    version = store.version
    store.apply(StreamStatus(0, "current", "", 10, 10, 1000.0, 0))
    store.set_alerts(())
    assert store.version == version
    state = store.snapshot().runs[0].streams[0]
    assert (state.status, state.point_count, state.info.source) == (status, 3, "events")


def test_times_and_counts_of_a_run():
    store = two_runs()
    run = store.snapshot().runs[0]
    assert (run.id, run.name, run.path, run.point_count, run.last_step) == (0, "run 0", "/run0", 3, 2)
    assert (run.first_wall_time, run.last_wall_time) == (0.0, 2.0)
    assert np.isnan(run.last_change)
    store.apply(StreamStatus(0, "current", "", 10, 10, 1000.0, 0))
    store.apply(stream_found(5, source="later"))
    store.apply(StreamStatus(5, "waiting", "", 0, 0, float("nan"), 0))
    assert store.snapshot().runs[0].last_change == 1000.0


def test_a_run_without_wall_times_has_nan():
    log = Log().stream(0)
    assert log.run.last_step is None
    run = log.add(0, [0, 1]).run
    assert np.isnan([run.first_wall_time, run.last_wall_time, run.curve("loss").origin]).all()


def test_the_last_step_after_a_resume_is_that_of_the_resumed_run():
    store = two_runs()
    store.apply(columns(0, range(3, 101)))
    store.apply(stream_found(9, order=1))
    store.apply(MetricsFound(9, 0, ("loss", "eval")))
    store.apply(columns(9, [*range(60, 70), 2**40], counts=[10, 1], start=500.0))  # the stray step does not count
    assert store.snapshot().runs[0].last_step == 69


def test_all_curves_of_a_run_count_time_from_its_first_point():
    """A file that is read later may have begun earlier."""
    store = two_runs()
    before = store.snapshot().runs[0].curve("loss")
    assert before.origin == 0.0
    store.apply(stream_found(9, source="older"))
    store.apply(MetricsFound(9, 0, ("other",)))
    store.apply(columns(9, [0, 1], start=-500.0))
    run = store.snapshot().runs[0]
    assert run.curve("loss").origin == run.curve("other").origin == -500.0
    store.apply(columns(9, [2], start=-500.0))
    assert store.snapshot().runs[0].curve("loss") is run.curve("loss")  # unchanged


def test_the_newest_run_is_the_examined_one_that_changed_last():
    store = Store()
    assert store.snapshot().newest_run is None
    for run in range(4):
        store.apply(RunFound(run, f"run {run}", f"/run{run}"))
        store.apply(stream_found(run, run))
    assert store.snapshot().newest_run is not None
    for stream, modified in ((3, 100.0), (2, 300.0), (1, 200.0)):  # run 0 is not read yet
        store.apply(StreamStatus(stream, "current", "", 1, 1, modified, 0))
        assert store.snapshot().newest_run.name == ("run 3" if stream == 3 else "run 2")


def test_facts_are_ordered_and_the_best_source_overrides():
    store = two_runs()
    store.apply(stream_found(2, source="console", rank=10, order=0))
    store.apply(FactFound(0, Fact("config", {"lr": 1e-4, "steps": 100})))
    store.apply(FactFound(2, Fact("config", {"lr": 0.0001000001, "seed": 7})))
    store.apply(FactFound(0, Fact("hparams", {"gamma": 0.9})))
    early = store.snapshot().runs[0]
    store.apply(FactFound(2, Fact("progress", {"step": 1}, step=1)))
    store.apply(FactFound(0, Fact("progress", {"step": 2}, step=2)))
    store.apply(FactFound(0, Fact("best_checkpoint", {"step": 40})))
    store.apply(FactFound(2, Fact("best_checkpoint", {"step": 50})))
    store.apply(FactFound(0, Fact("final_metrics", {"loss": 0.5})))
    run = store.snapshot().runs[0]
    assert run.config == {"lr": 1e-4, "steps": 100, "seed": 7, "gamma": 0.9}
    assert [fact.value["step"] for fact in run.facts("progress")] == [1, 2]
    assert run.latest_fact("progress").value == {"step": 2}
    assert run.best_checkpoint == {"step": 40}
    assert run.final_metrics == {"loss": 0.5}
    assert (early.facts("progress"), early.latest_fact("progress"), early.best_checkpoint) == ((), None, None)
    store.apply(StreamReplaced(0))
    assert store.snapshot().runs[0].config == {"lr": 0.0001000001, "seed": 7}
    assert run.config["gamma"] == 0.9


def test_events_that_do_not_concern_a_run():
    store = Store()
    store.apply(Progress(5, 10, False))
    store.apply(Watching("poll", "poll every 2 s (nfs4)"))
    for number in range(300):
        store.apply(Notice("info", f"note {number}"))
    alert = Alert("nan", "critical", 0, "loss", 3, "loss is NaN")
    store.set_alerts((alert,))
    snapshot = store.snapshot()
    assert snapshot.progress.read == 5
    assert snapshot.watching == Watching("poll", "poll every 2 s (nfs4)")
    assert [notice.message for notice in snapshot.notices] == [f"note {number}" for number in range(100, 300)]
    assert snapshot.alerts == (alert,)
    store.set_alerts((alert,), 2)
    assert store.snapshot().unchecked == 2


@pytest.mark.parametrize(
    "event",
    [
        columns(99, [1]),
        stream_found(1, run=99),
        MetricsFound(99, 0, ("x",)),
        FactFound(99, Fact("config", {})),
        SegmentStarted(99, None, False),
        StreamReplaced(99),
        StreamStatus(99, "current", "", 0, 0, 0.0, 0),
        columns(0, [1, 1, 1], counts=[1, 1, 1]),  # the third metric has no name
    ],
)
def test_an_event_with_an_unknown_id_raises_and_changes_nothing(event):
    store = two_runs()
    before = store.snapshot()
    with pytest.raises(WireError):
        store.apply(event)
    assert store.snapshot() is before
    assert store.snapshot().runs[0].point_count == 3


def test_single_points_and_batches_can_be_mixed():
    log, expected, random = Log(), {f"m{number}": [] for number in range(100)}, np.random.default_rng(0)
    for start in range(0, 3000, 100):
        counts = np.ones(100, np.int64) if start % 300 else random.integers(0, 40, 100)
        rows = {name: range(start, start + count) for name, count in zip(expected, counts, strict=True)}
        for name, steps in rows.items():
            expected[name] += steps
        log.add_row(0, {name: (steps, None) for name, steps in rows.items()}, [s for own in rows.values() for s in own])
    run = log.run
    assert run.point_count == sum(map(len, expected.values()))
    for name, steps in expected.items():
        curve = run.curve(name)
        assert curve.steps.tolist() == curve.values.tolist() == curve.wall_times.tolist() == steps


def test_rewritten_documents_take_no_new_rows():
    store = two_runs()
    rows = store._rows
    for _ in range(50):
        store.apply(StreamReplaced(0))
        store.apply(columns(0, [0, 1]))
    assert store._rows == rows
    assert store.snapshot().runs[0].curve("loss").steps.tolist() == [0, 1]


def test_a_metric_without_points_is_not_listed():
    store = two_runs()
    assert store.snapshot().runs[0].metrics == ("loss",)
    store.apply(columns(0, [3, 1, 2], [1, 2]))
    assert store.snapshot().runs[0].metrics == ("loss", "reward")
    store.apply(StreamReplaced(0))
    store.apply(columns(0, [0, 1]))
    assert store.snapshot().runs[0].metrics == ("loss",)


def test_columns_stay_near_24_bytes_a_point():
    store = two_runs()
    for start in range(3, 200_003, 20_000):
        store.apply(columns(0, range(start, start + 20_000)))
    held = store._streams[0].data.series[0].columns
    assert held.length == 200_003
    assert len(held.steps) <= 1.5 * held.length


def test_metrics_of_a_resumed_run_share_their_steps():
    """Two attempts, the second from step 5 on; then the run grows, one metric more often than the other."""
    log = Log()
    for stream, start in ((0, 0), (1, 5)):
        steps = range(start, start + 8)
        log.add_row(stream, dict.fromkeys(("loss", "reward"), (steps, None)), 100.0 * stream + np.array(steps))
    before = [log.curve(name) for name in log.run.metrics]
    log.add_row(1, {"loss": ([13, 14, 15], None), "reward": ([13, 15], None)}, [113, 114, 115, 113, 115])
    loss, reward = (log.curve(name) for name in ("loss", "reward"))
    for curve in before:
        assert curve.steps.tolist() == [*range(13)]
        assert curve.wall_times.tolist() == [*range(5), *range(105, 113)]
    assert np.shares_memory(before[0].steps, before[1].steps)
    assert np.shares_memory(before[0].wall_times, before[1].wall_times)
    assert loss.steps.tolist() == [*range(16)]
    assert reward.steps.tolist() == reward.values.tolist() == [*range(14), 15]
    assert reward.wall_times.tolist() == [*range(5), *range(105, 114), 115]


def test_readers_never_get_an_incomplete_point():
    """One thread writes and two read: every curve they get is a prefix of the written points."""
    log = Log().add_row(0, dict.fromkeys("ab", ([0], None)))
    store = log.store
    stop, looked, wrong = threading.Event(), threading.Semaphore(0), []

    def read():
        while not stop.is_set():
            snapshot = store.snapshot()
            for run in snapshot.runs:
                lengths = set()
                for metric in run.metrics:
                    curve = run.curve(metric)
                    lengths.add(len(curve))
                    expected = np.arange(len(curve))
                    good = (curve.steps == expected).all() and (curve.values == expected).all()
                    envelope = curve.envelope(0, max(len(curve), 2), 50)
                    if not good or np.nanmax(envelope.high) != len(curve) - 1 or curve.nan_count:
                        wrong.append((run.version, metric, len(curve)))
                if len(lengths) > 1:  # both metrics come in one event
                    wrong.append((run.version, lengths))
            looked.release()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    length = 1
    for number in range(400):
        count = 1 if number % 3 else 700
        log.add_row(0, dict.fromkeys("ab", (range(length, length + count), None)))
        length += count
        if number == 200:  # wait until the readers have read the growing store
            assert looked.acquire(timeout=60)
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(store.snapshot().runs[0].curve("a")) == length


def test_a_purge_step_equals_what_tensorboard_shows():
    directory = DATA / "store_purge"
    [run] = open_run(directory).runs
    every, shown = accumulated(directory, False), accumulated(directory, True)
    purged = [tag for tag in every if len(every[tag]) != len(shown.get(tag, []))]
    assert len(purged) == 6
    for tag in purged:
        if not shown.get(tag):
            assert tag not in run.metrics
            continue
        curve = run.curve(tag)
        assert list(zip(curve.steps, curve.values, curve.wall_times, strict=True)) == shown[tag]
        assert curve.superseded == len(every[tag]) - len(shown[tag])
    for tag in set(every) - set(purged):  # steps that go back, equal steps, NaN: all still there
        curve = run.curve(tag)
        assert len(curve) + curve.superseded == len(every[tag])
    assert sum(map(len, every.values())) == run.point_count


def test_a_resume_into_the_same_directory_equals_the_trainer_state():
    """The run was killed at step 77 and resumed from 40; its trainer_state.json holds every step once."""
    directory = DATA / "store_resume"
    [run] = open_run(directory).runs
    history = json.loads((directory / "trainer_state.json").read_text())["log_history"]
    for tag, key in (("train/loss", "loss"), ("train/grad_norm", "grad_norm"), ("eval/loss", "eval_loss")):
        expected = [(row["step"], float(np.float32(row[key]))) for row in history if key in row]
        curve = run.curve(tag)
        assert list(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == expected
        assert len(curve.restarts) == 1
    assert run.curve("train/loss").superseded == 18
    assert run.last_step == 120


def test_two_spellings_in_one_source_are_two_metrics():
    log = Log(Store()).add(0, [0, 1, 2], metric="train/loss").stream(1, "state.json", 29).add(1, [0, 1])
    assert log.run.metrics == ("train/loss",)
    run = log.add(0, [9]).run
    assert set(run.metrics) == {"train/loss", "loss"}
    assert run.curve("train/loss").steps.tolist() == [0, 1, 2]
    assert run.curve_from("loss", "events").steps.tolist() == [9]
    assert dict(run.provenance("loss")) == {"events": 1, "state.json": 2}
    assert run.point_counts == {"train/loss": 3, "loss": 2}, "as logged in the source with most points"


def with_sources(**sources):
    """A run of one stream for each source: its rank, and the steps of each of its metrics."""
    log = Log(Store())
    for source, (rank, metrics) in sources.items():
        log.stream(source, source, rank, of_machine=source == "gpu")
        log.add_row(source, {name: (steps, None) for name, steps in metrics.items()})
    return log.run


EVERY_512 = range(512, 20_481, 512)
GPUS = {f"system/gpu.0.quantity{number}": [0, 45_000, 90_000] for number in range(20)}
SOURCES: list[tuple[dict[str, tuple[int, dict[str, Any]]], int, set[str]]] = [
    ({"monitor": (20, dict.fromkeys("rlt", range(249))),
      "events": (40, dict.fromkeys(("train/loss", "time/fps"), EVERY_512)),
      "progress": (30, dict.fromkeys(("train/loss", "time/iterations"), EVERY_512))},
     20_480, {"train/loss", "time/fps", "time/iterations"}),  # the monitor counts episodes
    ({"events": (40, dict.fromkeys(("loss", "lr"), range(100))), "document": (30, {"val": range(0, 101, 10)})},
     99, {"loss", "lr", "val"}),  # no common metric, at the same step
    ({"wandb": (50, {"hp_metric": [0]}), "table": (20, dict.fromkeys(("loss", "acc"), range(50)))},
     49, {"loss", "acc"}),  # few metrics do not represent a run beside many
    ({"wandb": (50, {"hp_metric": [0]})}, 0, {"hp_metric"}),
    ({"gpu": (11, GPUS), "train": (10, {"loss": [0, 15, 30]})}, 30, {"loss"}),  # measurements of a machine
    ({"other": (11, GPUS), "train": (10, {"loss": [0, 15, 30]})}, 90_000, {*GPUS}),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "last", "main"), SOURCES)
def test_sources_whose_steps_are_those_of_the_run(sources, last, main):
    run = with_sources(**sources)
    assert (run.last_step, run.main_metrics) == (last, main)
    assert set(run.busiest_metrics[: len(main)]) == main
    assert run.last_step_of("none") is None
    assert run.has_main_steps("none")
    for source, (_, metrics) in sources.items():
        assert run.last_step_of(source) == max(map(max, metrics.values()))
        assert run.has_main_steps(source) is not main.isdisjoint(metrics)


def test_console_facts_are_limited():
    log = Log().stream(0)
    for number in range(5 * CONSOLE_FACTS):
        log.fact(0, "console", {"lines": [str(number)]})
    now = [fact.value["lines"][0] for fact in log.run.facts("console")]
    assert now[-CONSOLE_FACTS:] == [str(number) for number in range(4 * CONSOLE_FACTS, 5 * CONSOLE_FACTS)]
    assert len(now) <= 2 * CONSOLE_FACTS


def test_values_that_are_not_finite_are_found_once() -> None:
    series = Series(0, "loss", PointColumns())
    series.columns.extend(np.arange(4), np.array([1.0, 2.0, math.nan, 3.0]), np.zeros(4))
    assert [series.count_finite(length) for length in (0, 2, 3, 4, 2)] == [0, 2, 2, 3, 2]
    series.columns.extend(np.array([4]), np.array([math.inf]), np.zeros(1))
    assert series.count_finite(5) == 3


def test_names_of_metrics_are_hashed_once() -> None:
    """They are the key of many caches, and there may be 200,000."""
    hashed: list[str] = []

    class Name(str):
        __slots__ = ()

        def __hash__(self) -> int:
            hashed.append(str(self))
            return super().__hash__()

    names = Names(map(Name, ("loss", "kl", "lr")))
    assert [{names: 1}[names] for _ in range(3)] == [1, 1, 1]
    assert hashed == ["loss", "kl", "lr"]
