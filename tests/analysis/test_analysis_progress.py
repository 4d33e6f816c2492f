"""Cadence and progress: pace, ETA and state of a run."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tuimon.analysis.configured_length import configured_steps
from tuimon.analysis.pace import pace_of
from tuimon.analysis.progress import ProgressInputs, report
from tuimon.analysis.progress_inputs import progress_inputs, progress_of
from tuimon.analysis.words import percentage
from tuimon.exports.documents import plain
from tuimon.exports.summary import summary_of
from tuimon.exports.summary_text import as_text
from tuimon.model.events import AttemptStarted, Columns, FactFound, MetricsFound, RunFound, StreamFound, StreamStatus
from tuimon.model.points import Fact
from tuimon.model.views import Size, Symbols, TextView
from tuimon.monitor.local import open_run
from tuimon.panels import header_panel
from tuimon.store import Store

NAN = float("nan")


def paced(seconds, count=200, every=1, pause=0.0, pause_every=0):
    """Steps and wall times of a steady run, with a pause after every `pause_every` points."""
    steps = np.arange(count, dtype=np.int64) * every
    elapsed = np.full(count, seconds * every)
    elapsed[0] = 0
    if pause_every:
        elapsed[pause_every::pause_every] += pause
    return steps, 1.7e9 + np.cumsum(elapsed)


@pytest.mark.parametrize("sizes", [[25] * 20, [1, 5, *[25, 10, 40] * 7]])
def test_steps_that_are_written_as_batches_with_a_time_each(sizes: list[int]) -> None:
    """Trackio gives all points of a flush the same time, that of its end."""
    ends = np.cumsum(sizes)
    times = np.repeat(1.7e9 + 0.02 * ends, sizes)
    result = pace_of(np.arange(len(times)), times)
    assert result.seconds_per_step == pytest.approx(0.02)
    assert (result.low, result.high) == pytest.approx((0.02, 0.02))
    assert result.interval == pytest.approx(0.02 * np.median(sizes[-19:]), rel=0.5), "a silence is that between batches"
    known = replace(KNOWN, step=len(times) - 1, total=len(times) + 99, pace=result, last_wall_time=times[-1])
    assert report(known, times[-1]).eta_seconds == pytest.approx(100 * 0.02)
    restarted = pace_of(np.arange(len(times)), times, np.array([len(times) - 40]))
    assert restarted.seconds_per_step == pytest.approx(0.02, rel=0.1), "a restart inside a batch ends it"
    # the next attempt after an hour begins with a new batch
    begin = int(ends[9])
    times[begin:] += 3600
    assert pace_of(np.arange(len(times)), times, np.array([begin])).seconds_per_step == pytest.approx(0.02)


NIGHT = 8 * 3600.0


@pytest.mark.parametrize(
    ("run", "night", "seconds", "pauses", "longest"),
    [
        ({"every": 10}, 0, 2.0, 0.0, 0.0),
        ({"count": 401, "pause": 60.0, "pause_every": 20}, 0, 2.0, 60 / 20, 62.0),
        ({"count": 401, "pause": 60.0, "pause_every": 2}, 0, 2.0, 30.0, 62.0),
        ({"count": 251, "pause": 60.0, "pause_every": 100}, 0, 2.0, 0.0, 0.0),
        ({"count": 351, "pause": 60.0, "pause_every": 100}, 0, 2.0, 180 / 350, 62.0),
        ({"count": 201, "pause": 60.0, "pause_every": 20}, 130, 2.0, 60 / 20, 62.0),
    ],
    ids=["steady", "pauses", "every other step", "two pauses", "three pauses", "a long night among pauses"],
)
def test_pace(run: dict[str, float], night: int, seconds: float, pauses: float, longest: float) -> None:
    steps, times = paced(2.0, **run)
    times[night:] += NIGHT if night else 0.0
    found = pace_of(steps, times)
    assert found.seconds_per_step == pytest.approx(seconds)
    assert (found.pause_seconds, found.longest_pause) == pytest.approx((pauses, longest), rel=0.06)
    assert found.mean_seconds == found.seconds_per_step + found.pause_seconds


@pytest.mark.parametrize(("step", "seconds"), [(100, 60.0 / 150), (40, 0.0)])
def test_single_pause_recurs_only_if_an_evaluation_was_logged(step: int, seconds: float) -> None:
    steps, times = paced(2.0, count=151, pause=60.0, pause_every=100)
    assert pace_of(steps, times, evaluated=np.array([step])).pause_seconds == pytest.approx(seconds)


def test_pace_by_a_clock_of_whole_seconds() -> None:
    steps, times = paced(0.4, count=301)
    assert pace_of(steps, np.floor(times)).seconds_per_step == pytest.approx(0.4, rel=0.02)


def test_time_of_an_evaluation_logged_at_its_own_step():
    """The Hugging Face trainer logs the step, evaluates, and logs the evaluation at the same step."""
    steps, wall_times = paced(2.0, count=101, pause=60.0, pause_every=20)
    rows = np.sort(np.concatenate((np.arange(101), np.arange(20, 101, 20))))
    again = np.append(False, np.diff(rows) == 0)
    times = wall_times[rows] - np.where(steps[rows] % 20 == 0, 60.0, 0.0) * (steps[rows] > 0) * ~again
    assert pace_of(steps[rows], times).pause_seconds == pytest.approx(60.0 * 4 / 100)


def slowed(kind: str, random: np.random.Generator, count: int) -> np.ndarray:
    """Return the seconds of the steps of a run of 10 s a step, with 5 % of noise."""
    elapsed = 10.0 * random.normal(1.0, 0.05, count)
    if kind == "two slow steps":
        elapsed[random.choice(np.arange(12, count), 2, replace=False)] += random.uniform(30, 150, 2)
    elif kind == "compilation":
        elapsed[1:4] += (600.0, 100.0, 30.0)
    elif kind == "growing steps":
        elapsed *= 1 + 0.2 * np.linspace(0, 1, count)
    elif kind == "an evaluation every 100 steps":
        elapsed[100::100] += random.uniform(30, 80)
    elif kind == "one long night":
        elapsed[30] += 8 * 3600.0
    return elapsed


KINDS = ("two slow steps", "compilation", "growing steps", "an evaluation every 100 steps", "one long night")


@pytest.mark.parametrize("kind", KINDS)
def test_eta_of_runs_with_slow_steps_is_within_a_tenth(kind: str) -> None:
    """From 50 known steps on; in one of 25 cases a pause that is yet to come makes it a seventh."""
    errors = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        count = int(random.choice([400, 1000, 2000]))
        times = 1.7e9 + np.cumsum(slowed(kind, random, count))
        for known in {50, 150, count // 2, 3 * count // 4}:
            pace = pace_of(np.arange(known), times[:known])
            inputs = replace(
                KNOWN, points=known, step=known - 1, total=count, pace=pace, last_wall_time=times[known - 1]
            )
            left = times[-1] - times[known - 1]
            errors.append(abs(report(inputs, times[known - 1]).eta_seconds / left - 1))
    assert np.quantile(errors, 0.96) < 0.1
    assert max(errors) < 1 / 7


@pytest.mark.parametrize("growth", [0.7, -0.4])
def test_pace_is_that_of_the_newest_steps_if_it_changes_gradually(growth: float) -> None:
    elapsed = 50 * (1 + growth * np.linspace(0, 1, 200)) + np.random.default_rng(3).normal(0, 1, 200)
    times = 1.7e9 + np.append(0.0, np.cumsum(elapsed))
    pace = pace_of(np.arange(201), times)
    assert pace is not None
    assert pace.seconds_per_step == pytest.approx(elapsed[-50:].mean())
    assert pace.low < pace.seconds_per_step < pace.high


def test_restarts_equal_steps_and_missing_times_are_not_intervals():
    steps, wall_times = paced(2.0)
    wall_times[100:] += 500
    assert pace_of(steps, wall_times, np.array([100])).count == 198
    wall_times[5] = NAN
    assert pace_of(steps, wall_times, np.array([100])).count == 196
    assert pace_of(np.zeros(50, np.int64), wall_times[:50]) is None
    assert pace_of(steps, np.full(200, NAN)) is None
    assert pace_of(steps[:3], wall_times[:3]) is None


STEPS, TIMES = paced(2.0, count=101)
LAST = float(TIMES[-1])
KNOWN = ProgressInputs(points=101, step=100, first_step=0, total=1000, pace=pace_of(STEPS, TIMES), last_wall_time=LAST)


def test_running_run_has_an_eta():
    result = report(KNOWN, LAST + 1.0)
    assert result.state == "running"
    assert result.eta_seconds == pytest.approx(900 * 2.0 - 1.0)
    assert result.finish_time == pytest.approx(LAST + 1800)
    assert result.eta_range[0] <= result.eta_seconds <= result.eta_range[1]
    assert (result.age, result.seconds_per_step) == (1.0, 2.0)


def test_time_left_does_not_shrink_while_a_step_takes_longer_than_usual():
    assert report(KNOWN, LAST + 8).eta_seconds == pytest.approx(1800 - 8)
    assert report(KNOWN, LAST + 60).eta_seconds == pytest.approx(1800 - 8)
    paused = replace(KNOWN, pace=pace_of(*paced(2.0, count=101, pause=60.0, pause_every=20)))
    assert report(paused, LAST).eta_seconds - report(paused, LAST + 50).eta_seconds == pytest.approx(50)


@pytest.mark.parametrize(("step", "total", "text"), [(430, 600, "72 %"), (599, 600, "99 %"), (600, 600, "100 %")])
def test_percentage_of_the_header_and_of_the_line(step, total, text):
    assert percentage(step, total) == text


def test_total_from_epochs():
    result = report(replace(KNOWN, total=None, epoch=0.5, total_epochs=3.0), LAST)
    assert result.total == 600
    assert result.eta_seconds == pytest.approx(1000.0)
    assert report(replace(KNOWN, total=None), LAST).total is None


def test_no_eta_from_a_few_points():
    few = replace(KNOWN, pace=pace_of(*paced(2.0, count=5)))
    assert math.isnan(report(few, LAST).eta_seconds)


def test_inputs_are_gathered_from_a_run():
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    assert report(progress_inputs(store.snapshot().runs[0]), 1000.0).state == "unknown"
    store.apply(StreamFound(0, 0, "events", "/run/events", "tensorboard", 40, "", 0))
    store.apply(MetricsFound(0, 0, ("eval", "loss")))
    counts = np.array([1, len(STEPS)], np.uint32)
    steps, times = np.append(20, STEPS), np.append(TIMES[20], TIMES)
    store.apply(Columns(0, np.arange(2, dtype=np.uint32), counts, steps, steps.astype(float), times))
    store.apply(FactFound(0, Fact("config", {"trainer": {"total_training_steps": "400", "max_steps": -1}})))
    store.apply(StreamStatus(0, "current", "", 9, 9, LAST + 7, 0))
    known = progress_inputs(store.snapshot().runs[0])
    assert store.snapshot().runs[0].busiest_metric == "loss"
    assert (known.points, known.step, known.first_step, known.total) == (102, 100, 0, 400)
    assert configured_steps({"max_steps": 10**400}) is None, "no float holds it"
    assert (known.last_wall_time, known.last_change) == (LAST, LAST + 7)
    assert known.pace.seconds_per_step == pytest.approx(2.0)
    store.apply(FactFound(0, Fact("progress", {"step": 120, "total": 500, "epoch": 1.5})))
    store.apply(FactFound(0, Fact("progress", {"step": 130, "total": None})))
    store.apply(FactFound(0, Fact("state", {"state": "finished", "evidence": "exit code 0"}, wall_time=LAST + 9)))
    known = progress_inputs(store.snapshot().runs[0])
    assert (known.step, known.total, known.epoch) == (130, 500, 1.5)
    assert (known.logged_state, known.logged_evidence) == ("finished", "exit code 0")


def test_pace_without_wall_times_is_that_at_which_points_arrive():
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "log", "/run/log", "console", 10, "", 0))
    store.apply(MetricsFound(0, 0, ("loss",)))
    store.apply(FactFound(0, Fact("progress", {"step": 0, "total": 600})))

    def arrive(steps, grown, size):
        metrics, steps = np.zeros(1, np.uint32), np.array(steps, np.int64)
        counts = np.array([len(steps)], np.uint32)
        store.apply(Columns(0, metrics, counts, steps, steps.astype(float), np.full(len(steps), NAN)))
        store.apply(StreamStatus(0, "current", "", size, size, grown, 0, grown=grown))

    def header(now):
        view = header_panel().view(store.snapshot().runs[0], Size(160, 2), now, Symbols.BRAILLE)
        return "".join(part for part, _ in view.rows[1])

    arrive([10, 20, 30], NAN, 1)  # the history, all at once
    store.apply(StreamStatus(0, "current", "", 2, 2, LAST - 24.5, 0, grown=LAST - 24.5))  # a line without a point
    for number in range(6):
        assert "ETA unknown: no time stamps with a date" in header(LAST - 25 + 5 * number)
        arrive([40 + 10 * number], LAST - 25 + 5 * number, 3 + number)
    known = progress_inputs(store.snapshot().runs[0])
    assert known.pace_watched
    assert (known.pace.count, known.pace.seconds_per_step) == (5, pytest.approx(0.5))
    assert report(known, LAST).eta_seconds == pytest.approx((600 - 90) * 0.5)
    assert ", at the pace watched" in header(LAST)
    assert "unknown" not in header(LAST)
    store.apply(AttemptStarted(0, 10, 90, 10, (9,)))
    assert progress_inputs(store.snapshot().runs[0]).pace is None, "resumed"


def test_only_the_newest_of_many_positions_are_kept():
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "log", "/run/log", "console", 10, "", 0))
    store.apply(FactFound(0, Fact("progress", {"unit": "epoch"})))
    for step in range(3000):
        store.apply(FactFound(0, Fact("progress", {"step": step, "total": 5000})))
    [run] = store.snapshot().runs
    known = [fact.value for fact in run.facts("progress")]
    assert len(known) < 1500
    assert (known[0], known[-1]) == ({"unit": "epoch"}, {"step": 2999, "total": 5000})


def test_newest_logged_epoch_wins_over_older_saved_state():
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "runs", "/run/runs", "tensorboard", 40, "", 0))
    store.apply(MetricsFound(0, 0, ("train/epoch",)))
    store.apply(FactFound(0, Fact("progress", {"step": 20, "total": 80, "epoch": 0.05})))
    steps = np.arange(1, 37)
    counts, times = np.array([36], np.uint32), np.full(36, np.nan)
    store.apply(Columns(0, np.array([0], np.uint32), counts, steps, steps * 0.0025, times))
    assert progress_inputs(store.snapshot().runs[0]).epoch == 36 * 0.0025


def test_machine_metrics_are_not_progress():
    """A tracker samples the machine with its own clock, more often than an RL run steps."""
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "run.wandb", "/run/run.wandb", "wandb", 50, "", 0))
    store.apply(MetricsFound(0, 0, ("system/cpu", "gpu/0/memory_usage", "__swanlab__.cpu.pct", "train/loss", "eval")))
    store.apply(FactFound(0, Fact("metrics", {"gpu/0/memory_usage": {"system": True}})))
    steps, times = np.arange(20) * 5, 1.7e9 + np.arange(20) * 300.0
    samples, sampled = np.arange(400) * 15_000, 1.7e9 + np.arange(400) * 15.0
    for metric in range(3):
        store.apply(Columns(0, np.array([metric], np.uint32), np.array([400], np.uint32), samples, sampled, sampled))
    only_machine = progress_inputs(store.snapshot().runs[0])
    assert (only_machine.step, only_machine.pace) == (None, None)
    for metric in (3, 4):
        rows = slice(None) if metric == 3 else slice(0, 2)
        ids, counts = np.array([metric], np.uint32), np.array([len(steps[rows])], np.uint32)
        store.apply(Columns(0, ids, counts, steps[rows], times[rows], times[rows]))
    known = progress_inputs(store.snapshot().runs[0])
    assert (known.step, known.first_step) == (95, 0)
    assert known.pace.seconds_per_step == pytest.approx(60.0)


def timed_store(series, formats=("tensorboard",)):
    """Streams of one run by format; series: metric -> (stream, steps, wall times)."""
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    for stream, format in enumerate(formats):
        store.apply(StreamFound(stream, 0, f"{stream}", f"/run/{stream}", format, 40 - stream, "", stream))
        store.apply(MetricsFound(stream, 0, tuple(name for name, entry in series.items() if entry[0] == stream)))
        own = [entry for entry in series.values() if entry[0] == stream]
        for number, (_, steps, times) in enumerate(own):
            ids, counts = np.array([number], np.uint32), np.array([len(steps)], np.uint32)
            store.apply(Columns(stream, ids, counts, np.asarray(steps), np.ones(len(steps)), np.asarray(times, float)))
    return store


def test_continued_machine_samples_do_not_hide_a_stall():
    steps, times = np.arange(40), 1.7e9 + np.arange(40) * 10.0
    sampled = 1.7e9 + np.arange(400) * 15.0
    store = timed_store(
        {"train/loss": (0, steps, times), "system/cpu": (0, np.arange(400) * 15, sampled)}, formats=("wandb",)
    )
    store.apply(StreamStatus(0, "current", "", 9, 9, sampled[-1], 0))
    known = progress_inputs(store.snapshot().runs[0])
    assert known.last_wall_time == times[-1]
    assert report(known, sampled[-1] + 5).state in ("quiet", "ended")


def test_growing_text_is_not_a_step():
    steps, times = np.arange(40), 1.7e9 + np.arange(40) * 10.0
    store = timed_store({"train/loss": (0, steps, times)}, formats=("tensorboard", "console"))
    store.apply(StreamStatus(0, "current", "", 9, 9, times[-1], 0))
    store.apply(StreamStatus(1, "current", "", 9, 9, times[-1] + 1500, 0))
    store.apply(StreamFound(2, 0, "config.yaml", "/run/config.yaml", "config-yaml", 0, "", 2))
    store.apply(StreamStatus(2, "current", "", 9, 9, times[-1] + 1505, 0))  # a configuration is no log
    store.apply(FactFound(1, Fact("console", {"lines": ["loading", "  Saving   model shard 3 ", "-" * 100, ""]})))
    known = progress_inputs(store.snapshot().runs[0])
    assert (known.last_change, known.last_growth) == (times[-1], times[-1] + 1500)
    assert known.last_error == "", "no error"
    assert report(known, times[-1] + 1510).state in ("quiet", "ended")
    store.apply(FactFound(1, Fact("console", {"lines": ["step 3", "  ValueError:   no shard 3 ", "-" * 100, ""]})))
    assert progress_inputs(store.snapshot().runs[0]).last_error == "ValueError: no shard 3"


# ---------------------------------------------------------------- updates of the model and training steps


def rlinf(global_steps, config=None, console=False, minibatches=4):
    """Log as RLinf does: losses at each minibatch, timers and rewards once per global step, at its end."""
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "tensorboard", "/run/tensorboard", "tensorboard", 40, "", 0))
    store.apply(MetricsFound(0, 0, ("time/step", "rollout/rewards", "actor/training/actor/policy_loss")))
    if config:
        store.apply(FactFound(0, Fact("config", config)))
    if console:
        store.apply(StreamFound(1, 0, "run.log", "/run/run.log", "console", 10, "", 0))
        store.apply(MetricsFound(1, 0, ("reward", "loss")))
        store.apply(FactFound(1, Fact("progress", {"step": 1, "total": 60})))
    for number in range(global_steps):
        wall = 1.7e9 + number * 90.0
        for stream in range(1 + console):
            each = minibatches if stream == 0 else 1
            first = number * minibatches if stream == 0 else number + 1
            counts = np.array([1, 1, each] if stream == 0 else [1, 1], np.uint32)
            steps = np.array([first, first, *range(first, first + each)] if stream == 0 else [first, first])
            times = wall + np.arange(len(steps)) * 0.001
            store.apply(Columns(stream, np.arange(len(counts), dtype=np.uint32), counts, steps, steps * 1.0, times))
    return store.snapshot().runs[0]


@pytest.mark.parametrize("done", [2, 14, 15, 16, 30, 59, 60])
def test_updates_are_not_counted_as_training_steps(done):
    """The console's total counts global steps: the ETA must not be too early, and the step never 239 of 60."""
    run = rlinf(done, console=True)
    now = run.last_wall_time + 200  # the next global step may take a while
    result = report(progress_inputs(run), now)
    assert (result.step, result.total) == (done, 60)
    assert result.state == ("finished" if done == 60 else "running")
    if done > 5:
        assert result.seconds_per_step == pytest.approx(90.0, rel=0.01)
        assert (result.position_name, result.per_step) == ("global step", "a global step")
    if 5 < done < 60:
        assert result.eta_seconds == pytest.approx(max((60 - done) * 90.0 - 200, 0.0), rel=0.05)
    alone = report(progress_inputs(rlinf(done, {"runner": {"max_steps": 60}})), now)
    assert (alone.step, alone.total) == (4 * done - 1, None)


def test_total_that_the_run_has_passed_is_ignored():
    result = report(replace(KNOWN, step=239, total=60), LAST + 1)
    assert (result.total, result.state) == (None, "running")
    assert report(replace(KNOWN, step=60, total=60), LAST + 1).state == "finished"
    assert report(replace(KNOWN, step=61, total=60), LAST + 1).state == "finished", (
        "counted from 1, or one more at the end"
    )


def test_progress_is_counted_as_the_console_counts_it() -> None:
    known = replace(KNOWN, first_step=0, step=14, total=50, counted="epoch")
    now = report(known, KNOWN.last_wall_time + 1.0)
    assert (now.step, now.position, now.position_name, now.total) == (14, 15, "epoch", 50)
    done = report(replace(known, step=49), KNOWN.last_wall_time + 1.0)
    assert (done.state, done.place) == ("finished", "epoch 50 of 50")
    left = report(replace(known, counted=""), KNOWN.last_wall_time + 1.0).eta_seconds - now.eta_seconds
    assert left == pytest.approx(KNOWN.pace.seconds_per_step)


def test_keras_counts_epochs_from_1_in_its_console_and_from_0_in_its_table(tmp_path: Path) -> None:
    losses = [0.5 + 1 / epoch for epoch in range(1, 16)]
    bar = "8/8 - 0s - 4ms/step - loss: {:.4f}"
    console = [f"Epoch {epoch}/50\n{bar.format(loss)}\n" for epoch, loss in enumerate(losses, 1)]
    (tmp_path / "fit.log").write_text("".join([*console, "Epoch 15: early stopping\n"]))
    (tmp_path / "log.csv").write_text("epoch,loss\n" + "".join(f"{step},{loss}\n" for step, loss in enumerate(losses)))
    snapshot = open_run(tmp_path)
    summary = "\n".join(as_text(snapshot, time.time()))
    assert "state        finished: Epoch 15: early stopping\n  epoch        15 of 50\n" in summary
    assert "15 entries, the last at step 14\n" in summary, "as logged"
    described = plain(summary_of(snapshot, time.time()))["runs"][0]
    assert (described["step"], described["total_steps"]) == (14, 50)
    header = header_panel().view(snapshot.runs[0], Size(120, 2), time.time(), Symbols.BRAILLE)
    assert isinstance(header, TextView)
    assert "epoch 15 of 50 30 %" in "".join(part for part, _ in header.rows[1])


@pytest.mark.parametrize(
    ("rate", "seconds", "row"),
    [("1.60s/it", 1.6, ""), ("2.50it/s", 0.4, ""), ("?it/s", math.nan, ""), ("2.50it/s", 0.4, "{'loss': 0.5}\n")],
)
def test_rate_of_the_progress_bar_is_the_pace_of_a_log_without_times(
    tmp_path: Path, rate: str, seconds: float, row: str
) -> None:
    name, inside = ("", "") if row else ("steps: ", ", loss=0.5")
    bar = "\r{0}  5%|#   | {1}/200 [00:10<01:30,  {2}{3}]"
    text = "".join(bar.format(name, done, rate, inside) + f"\n{row}" * bool(row) for done in (5, 10))
    path = tmp_path / "train.log"
    with path.open("w") as file:
        file.write(text + bar.format(name, 10, rate, inside))
        file.flush()
        snapshot = open_run(tmp_path)
        known = replace(progress_inputs(snapshot.runs[0]), last_change=path.stat().st_mtime, writer="open")
        progress = report(known, known.last_change)
    assert progress.seconds_per_step == pytest.approx(seconds, nan_ok=True)
    assert progress.eta_seconds == pytest.approx(190 * seconds, nan_ok=True)
    assert progress.pace_of_bar == math.isfinite(seconds)
    assert ("the rate of its progress bar" in "".join(as_text(snapshot, LAST))) == math.isfinite(seconds)


def test_steps_of_a_console_without_times_have_the_pace_of_several_rows_each(tmp_path: Path) -> None:
    """RLinf logs a row for each minibatch to its trackers, and the console counts the steps."""
    start = 1.79e9
    rows = [json.dumps({"step": row, "actor/loss": 1 / (row + 1), "timestamp": start + row}) for row in range(120)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    lines = "".join(f"global_step {step}/60 rollout_time 0.1s reward {step / 100}\n" for step in range(1, 31))
    (tmp_path / "train.log").write_text(lines)
    known = progress_of(open_run(tmp_path).runs[0], start + 120)
    assert (known.step, known.total) == (30, 60)
    assert known.seconds_per_step == pytest.approx(4)
    assert known.eta_seconds == pytest.approx(120, rel=0.05)
