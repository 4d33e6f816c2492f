"""Cadence and progress: pace, ETA and state of a run."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.stores import Log

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.configured_length import configured_steps
from tuimon.analysis.pace import pace_of
from tuimon.analysis.progress import ProgressInputs, report
from tuimon.analysis.progress_inputs import progress_inputs, progress_of
from tuimon.exports.documents import plain
from tuimon.exports.summary import summary_of
from tuimon.exports.summary_text import as_text
from tuimon.model.events import AttemptStarted
from tuimon.model.views import Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import header_panel

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


PAUSED = {"pace": pace_of(*paced(2.0, count=101, pause=60.0, pause_every=20))}
EPOCHS = {"first_step": 0, "step": 14, "total": 50, "counted": "epoch"}


@pytest.mark.parametrize(
    ("facts", "age", "fields"),
    [
        ({}, 1, {"state": "running", "age": 1, "seconds_per_step": 2, "eta_seconds": 1799, "finish_time": LAST + 1800}),
        # the time left does not shrink while a step takes longer than usual
        ({}, 8, {"eta_seconds": 1800 - 8}),
        ({}, 60, {"eta_seconds": 1800 - 8}),
        (PAUSED, 50, {"eta_seconds": report(replace(KNOWN, **PAUSED), LAST).eta_seconds - 50}),
        ({"pace": pace_of(*paced(2.0, count=5))}, 0, {"eta_seconds": NAN}),  # too few points
        # the total
        ({"total": None, "epoch": 0.5, "total_epochs": 3.0}, 0, {"total": 600, "eta_seconds": 1000}),
        ({"total": None}, 0, {"total": None}),
        ({"step": 239, "total": 60}, 1, {"total": None, "state": "running"}),
        ({"step": 60, "total": 60}, 1, {"state": "finished"}),
        ({"step": 61, "total": 60}, 1, {"state": "finished"}),  # counted from 1, or one more at the end
        # counted as the console counts
        (EPOCHS, 1, {"step": 14, "position": 15, "position_name": "epoch", "total": 50, "eta_seconds": 35 * 2 - 1}),
        (EPOCHS | {"counted": ""}, 1, {"eta_seconds": 36 * 2 - 1}),
        (EPOCHS | {"step": 49}, 1, {"state": "finished", "place": "epoch 50 of 50"}),
    ],
)
def test_fields_of_progress(facts: dict[str, Any], age: float, fields: dict[str, Any]) -> None:
    result = report(replace(KNOWN, **facts), LAST + age)
    for name, value in fields.items():
        number = isinstance(value, float | int)
        assert getattr(result, name) == (pytest.approx(value, nan_ok=True) if number else value), name
    assert math.isnan(result.eta_seconds) or result.eta_range[0] <= result.eta_seconds <= result.eta_range[1]


def test_inputs_are_gathered_from_a_run():
    log = Log()
    assert report(progress_inputs(log.run), 1000.0).state == "unknown"
    log.add(0, [20], [20], TIMES[20:21], metric="eval").add(0, STEPS, STEPS, TIMES)
    log.fact(0, "config", {"trainer": {"total_training_steps": "400", "max_steps": -1}}).status(0, LAST + 7)
    known = progress_inputs(log.run)
    assert log.run.busiest_metric == "loss"
    assert (known.points, known.step, known.first_step, known.total) == (102, 100, 0, 400)
    assert configured_steps({"max_steps": 10**400}) is None, "no float holds it"
    assert (known.last_wall_time, known.last_change) == (LAST, LAST + 7)
    assert known.pace.seconds_per_step == pytest.approx(2.0)
    log.fact(0, "progress", {"step": 120, "total": 500, "epoch": 1.5}).fact(0, "progress", {"step": 130, "total": None})
    log.fact(0, "state", {"state": "finished", "evidence": "exit code 0"}, LAST + 9)
    known = progress_inputs(log.run)
    assert (known.step, known.total, known.epoch) == (130, 500, 1.5)
    assert (known.logged_state, known.logged_evidence) == ("finished", "exit code 0")


def test_pace_without_wall_times_is_that_at_which_points_arrive():
    log = Log().stream(0, "log", 10, format="console").fact(0, "progress", {"step": 0, "total": 600})

    def header(now):
        view = header_panel().view(log.run, Size(160, 2), now, Symbols.BRAILLE)
        return "".join(part for part, _ in view.rows[1])

    log.add(0, [10, 20, 30]).status(0, NAN, 1)  # the history, all at once
    log.status(0, LAST - 24.5, 2, grown=LAST - 24.5)  # a line without a point
    for number in range(6):
        now = LAST - 25 + 5 * number
        assert "ETA unknown: no time stamps with a date" in header(now)
        log.add(0, [40 + 10 * number]).status(0, now, 3 + number, grown=now)
    known = progress_inputs(log.run)
    assert known.pace_watched
    assert (known.pace.count, known.pace.seconds_per_step) == (5, pytest.approx(0.5))
    assert report(known, LAST).eta_seconds == pytest.approx((600 - 90) * 0.5)
    assert ", at the pace watched" in header(LAST)
    assert "unknown" not in header(LAST)
    log.store.apply(AttemptStarted(0, 10, 90, 10, (9,)))
    assert progress_inputs(log.run).pace is None, "resumed"


def test_only_the_newest_of_many_positions_are_kept():
    log = Log().stream(0, "log", 10, format="console").fact(0, "progress", {"unit": "epoch"})
    for step in range(3000):
        log.fact(0, "progress", {"step": step, "total": 5000})
    known = [fact.value for fact in log.run.facts("progress")]
    assert len(known) < 1500
    assert (known[0], known[-1]) == ({"unit": "epoch"}, {"step": 2999, "total": 5000})


def test_newest_logged_epoch_wins_over_older_saved_state():
    log = Log().stream(0).fact(0, "progress", {"step": 20, "total": 80, "epoch": 0.05})
    steps = np.arange(1, 37)
    assert progress_inputs(log.add(0, steps, steps * 0.0025, metric="train/epoch").run).epoch == 36 * 0.0025


def test_machine_metrics_are_not_progress():
    """A tracker samples the machine with its own clock, more often than an RL run steps."""
    log = Log().stream(0, "run.wandb", 50).fact(0, "metrics", {"gpu/0/memory_usage": {"system": True}})
    steps, times = np.arange(20) * 5, 1.7e9 + np.arange(20) * 60.0
    samples, sampled = np.arange(400) * 15_000, 1.7e9 + np.arange(400) * 15.0
    log.add_row(0, dict.fromkeys(("system/cpu", "gpu/0/memory_usage", "__swanlab__.cpu.pct"), (samples, 1.0)), sampled)
    only_machine = progress_inputs(log.run)
    assert (only_machine.step, only_machine.pace) == (None, None)
    log.add(0, steps, 1.0, times, "train/loss").add(0, steps[:2], 1.0, times[:2], "eval")
    known = progress_inputs(log.run)
    assert (known.step, known.first_step) == (95, 0)
    assert known.pace.seconds_per_step == pytest.approx(12.0)
    log.status(0, sampled[-1])  # continued samples do not hide a stall
    known = progress_inputs(log.run)
    assert known.last_wall_time == times[-1]
    assert report(known, sampled[-1] + 5).state in ("quiet", "ended")


def test_growing_text_is_not_a_step():
    times = 1.7e9 + np.arange(40) * 10.0
    log = Log().add("events", range(40), 1.0, times, "train/loss").stream("text", "text", 39, format="console")
    log.status("events", times[-1]).status("text", times[-1] + 1500)
    log.stream("config", "config.yaml", 0, format="config-yaml").status("config", times[-1] + 1505)  # no log
    log.fact("text", "console", {"lines": ["loading", "  Saving   model shard 3 ", "-" * 100, ""]})
    known = progress_inputs(log.run)
    assert (known.last_change, known.last_growth) == (times[-1], times[-1] + 1500)
    assert known.last_error == "", "no error"
    assert report(known, times[-1] + 1510).state in ("quiet", "ended")
    log.fact("text", "console", {"lines": ["step 3", "  ValueError:   no shard 3 ", "-" * 100, ""]})
    assert progress_inputs(log.run).last_error == "ValueError: no shard 3"


# ---------------------------------------------------------------- updates of the model and training steps


def rlinf(global_steps, config=None, console=False):
    """Log as RLinf does: losses at each of four minibatches, timers and rewards once per global step, at its end."""
    log = Log().stream(0).fact(0, "config", config or {})
    if console:
        log.stream(1, "run.log", 10, format="console").fact(1, "progress", {"step": 1, "total": 60})
    for number in range(global_steps):
        wall, first = 1.7e9 + number * 90.0, number * 4
        rows = {"time/step": [first], "rollout/rewards": [first], "actor/loss": range(first, first + 4)}
        log.add_row(0, {name: (steps, 1.0) for name, steps in rows.items()}, wall + np.arange(6) * 0.001)
        if console:
            log.add_row(1, dict.fromkeys(("reward", "loss"), ([number + 1], 1.0)), [wall, wall + 0.001])
    return log.run


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


def test_keras_counts_epochs_from_1_in_its_console_and_from_0_in_its_table(tmp_path: Path) -> None:
    losses = [0.5 + 1 / epoch for epoch in range(1, 16)]
    console = [f"Epoch {epoch}/50\n8/8 - 0s - 4ms/step - loss: {loss:.4f}\n" for epoch, loss in enumerate(losses, 1)]
    (tmp_path / "fit.log").write_text("".join([*console, "Epoch 15: early stopping\n"]))
    (tmp_path / "log.csv").write_text("epoch,loss\n" + "".join(f"{step},{loss}\n" for step, loss in enumerate(losses)))
    snapshot = open_run(tmp_path)
    progress = progress_of(snapshot.runs[0], time.time())
    assert (progress.state, progress.place, progress.fact) == ("finished", "epoch 15 of 50", "Epoch 15: early stopping")
    described = plain(summary_of(snapshot, time.time()))["runs"][0]
    assert (described["step"], described["total_steps"]) == (14, 50), "as logged"
    header = header_panel().view(snapshot.runs[0], Size(120, 2), time.time(), Symbols.BRAILLE)
    assert (progress.position_name, progress.per_step) == ("epoch", "an epoch")
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


def test_console_that_counts_epochs_beside_steps_of_a_tracker_gives_its_position_in_epochs(tmp_path: Path) -> None:
    start = 1.79e9
    rows = [json.dumps({"step": row, "train/loss": 1 / (row + 1), "timestamp": start + row}) for row in range(600)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    lines = [f"Epoch {epoch}/10 - val_loss: {1 / epoch:.4f} - val_acc: 0.{epoch}\n" for epoch in range(1, 7)]
    (tmp_path / "train.log").write_text("".join(lines))
    run = open_run(tmp_path).runs[0]
    progress = progress_of(run, start + 600)
    assert (progress.position, progress.total, progress.position_name, progress.per_step) == (
        6,
        10,
        "epoch",
        "an epoch",
    )
    assert step_name(run) == "step", "of the charts"


def test_epochs_that_a_loop_counts_from_0_are_not_past_their_total(tmp_path: Path) -> None:
    lines = [f"Epoch {epoch}/24\n----------\ntrain Loss: {1 / (epoch + 1):.4f}\n" for epoch in range(25)]
    (tmp_path / "train.log").write_text("".join(lines))
    progress = progress_of(open_run(tmp_path).runs[0], time.time())
    assert (progress.state, progress.position, progress.total, progress.position_name) == ("finished", 24, 24, "epoch")
