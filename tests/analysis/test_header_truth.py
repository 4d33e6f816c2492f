"""Facts in the header compared with what the run really did, for any meaning of "step" in its tracker."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from support.stores import Log

from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_inputs, progress_of, steps_left
from tuimon.model.events import Progress
from tuimon.model.views import Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import header_panel
from tuimon.panels.lists.run_selection import totals
from tuimon.panels.lists.runs import Listing
from tuimon.store import Store

START = 1.7e9
NAN = math.nan
Point = tuple[int, float, float]
"""(step, value, wall time)."""
COUNTED = ("train/loss", "train/global_step")


def log_of(metrics: Mapping[str, Iterable[Point]], **config: object) -> Log:
    """Return a log with one W&B file and settings."""
    return add(Log().stream(0, "wandb", 50), 0, metrics).fact(0, "config", config)


def add(log: Log, stream: int, metrics: Mapping[str, Iterable[Point]]) -> Log:
    for name, points in metrics.items():
        log.add(stream, *zip(*points, strict=True), metric=name)
    return log


def rows_of_log(every: int, evaluate: int, until: int, seconds: float) -> dict[str, list[Point]]:
    """Return the rows that transformers passes to W&B: one every `every` steps and one after each evaluation."""
    rows: dict[str, list[Point]] = {"train/loss": [], "eval/loss": [], "train/global_step": [], "train/epoch": []}
    row = 0
    for step in range(every, until + 1, every):
        names = ["train/loss", "eval/loss"] if step % evaluate == 0 else ["train/loss"]
        for name in names:
            time = START + step * seconds
            rows[name].append((row, 1 / step, time))
            rows["train/global_step"].append((row, float(step), time))
            rows["train/epoch"].append((row, step / 133, time))
            row += 1
    return rows


# ---------------------------------------------------------------- rows of a tracker


@pytest.mark.parametrize(("every", "evaluate"), [(10, 50), (10, 10), (1, 20), (25, 100)])
def test_tracker_rows_are_not_counted_as_training_steps(every: int, evaluate: int) -> None:
    run = log_of(rows_of_log(every, evaluate, 200, 3.0), max_steps=400).run
    progress = progress_of(run, START + 600 + 1)
    assert (progress.step, progress.total, progress.state) == (200, 400, "running")
    assert (progress.position_name, progress.per_step) == ("global step", "a global step"), "charts count rows"
    assert progress.seconds_per_step == pytest.approx(3.0)
    assert progress.eta_seconds == pytest.approx(200 * 3.0 - 1)
    logged = run.curve("train/global_step")
    assert steps_left(run) == pytest.approx((len(logged) - 1) / (200 - every) * 200, abs=1), "in rows"


def test_resumed_run_with_renumbered_rows_has_its_own_step() -> None:
    points = [(row, 100.0 + row + 1, START + row) for row in range(100)]
    progress = progress_of(log_of(dict.fromkeys(COUNTED, points), max_steps=400).run, START + 100)
    assert (progress.step, progress.total, progress.state) == (200, 400, "running")
    assert progress.eta_seconds == pytest.approx(200 - 1, abs=1)


def test_resumed_run_with_continued_rows_is_at_its_checkpoint() -> None:
    """W&B continues to count the rows of a resumed run, but the training is back at its last checkpoint."""
    training_steps = [*range(10, 301, 10), *range(210, 261, 10)]
    points = [(row, float(step), START + 30.0 * row) for row, step in enumerate(training_steps)]
    progress = progress_of(log_of(dict.fromkeys(COUNTED, points), max_steps=400).run, points[-1][2] + 1)
    assert (progress.step, progress.total, progress.state) == (260, 400, "running")
    assert progress.seconds_per_step == pytest.approx(3.0)


@pytest.mark.parametrize(
    "counter",
    [lambda row: row * 7919 % 100, lambda row: row + 1, lambda row: 10 * row if row != 50 else NAN],
    ids=["erratic", "equal to the step", "with NaN"],
)
def test_counter_that_is_no_training_step_is_ignored(counter: Callable[[int], float]) -> None:
    points = [(row, float(counter(row)), START + row) for row in range(100)]
    assert progress_of(log_of(dict.fromkeys(COUNTED, points)).run, START + 100).step == 99


# ---------------------------------------------------------------- metrics against samples


def test_metrics_plotted_against_samples_do_not_set_the_step() -> None:
    """Megatron writes every scalar twice: at its iteration, and "vs samples" at the number of consumed samples."""
    metrics: dict[str, list[Point]] = {}
    for name in ("learning-rate", "lm loss", "grad-norm"):
        metrics[f"{name} vs samples"] = [(256 * step, 1.0, START + step) for step in range(1, 101)]
        metrics[name] = [(step, 1.0, START + step) for step in range(1, 101)]
    run = log_of(metrics, train_iters=1000).run
    progress = progress_of(run, START + 101)
    assert (progress.step, progress.total, progress.state) == (100, 1000, "running")
    assert run.main_metrics == {"learning-rate", "lm loss", "grad-norm"}
    assert run.curve("lm loss vs samples").steps[-1] == 25600, "as it was logged"


# ---------------------------------------------------------------- totals


# ---------------------------------------------------------------- restarts


def attempt(path: Path, steps: range, wrote: float, end: str = "") -> None:
    path.write_text("".join(f"step {step}/100 loss {1 / step:.4f} reward 0.5\n" for step in steps) + end)
    os.utime(path, (wrote, wrote))


CRASH = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nRuntimeError: NCCL error\n'


def progress_at(directory: Path, now: float) -> ProgressReport:
    (run,) = open_run(directory).runs
    return progress_of(run, now)


def test_run_restarted_after_a_crash_is_running(tmp_path: Path) -> None:
    attempt(tmp_path / "attempt1.log", range(1, 21), START, CRASH)
    assert progress_at(tmp_path, START + 60).state == "crashed"
    attempt(tmp_path / "attempt2.log", range(16, 41), START + 4000)
    progress = progress_at(tmp_path, START + 4010)
    assert (progress.step, progress.total, progress.state) == (40, 100, "running")
    attempt(tmp_path / "attempt2.log", range(16, 41), START + 4000, CRASH)
    progress = progress_at(tmp_path, START + 4010)
    assert (progress.state, progress.fact) == ("crashed", "NCCL error after step 40: RuntimeError: NCCL error")


def test_points_after_a_finished_attempt_belong_to_the_next() -> None:
    log = log_of({"loss": [(step, 0.5, START + 5.0 * step) for step in range(20)]})
    log.fact(0, "state", {"state": "finished", "evidence": "wandb wrote exit code 0"}).status(0, START + 130)
    assert progress_of(log.run, START + 140).state == "finished"
    later = [(step, 0.5, START + 600 + 5.0 * step) for step in range(20, 40)]
    assert progress_of(add(log.stream(1, "wandb-1", 50), 1, {"loss": later}).run, START + 800).state == "running"


# ---------------------------------------------------------------- clocks


def test_clock_ahead_does_not_hide_a_stall(tmp_path: Path) -> None:
    """Points in local time of another zone, or of a machine whose clock is wrong."""
    path = tmp_path / "metrics.jsonl"
    ahead = 8 * 3600.0
    path.write_text(
        "".join(json.dumps({"step": n, "loss": 0.5, "timestamp": START + ahead + 5.0 * n}) + "\n" for n in range(100))
    )
    os.utime(path, (START + 500, START + 500))
    assert progress_at(tmp_path, START + 505).state == "running"
    progress = progress_at(tmp_path, START + 3 * 3600)
    assert progress.state == "ended", "not running"
    assert progress.age == pytest.approx(3 * 3600 - 500)
    (run,) = open_run(tmp_path).runs
    rows = header_panel().view(run, Size(160, 2), START + 505, Symbols.ASCII).rows
    assert "log changed" in "".join(text for text, _ in rows[0])


def test_header_shows_the_age_of_the_training() -> None:
    """A tracker continues to measure the machine when the training hangs."""
    machine = [(step, 50.0, START + 5.0 * step) for step in range(900)]
    run = log_of({"loss": [(step, 0.5, at) for step, _, at in machine[:100]], "system/gpu.0.temp": machine}).run
    rows = header_panel().view(run, Size(300, 1), START + 4500, Symbols.ASCII).rows
    progress = progress_of(run, START + 4500)
    assert progress.last_wall_time == START + 495
    assert "last point 1 h 6 m ago" in "".join(text for text, _ in rows[0])
    assert rows[0][-2][0] == "since "


def test_newest_rows_of_a_long_run_are_sufficient() -> None:
    rows = 40_000  # more than are examined
    counter = [(row, float(3 * row + 5), START + row) for row in range(rows)]
    run = log_of({"train/loss": [(row, 1.0, when) for row, _, when in counter], "train/global_step": counter}).run
    known = progress_inputs(run)
    assert (known.step, known.first_step, known.stride) == (3 * rows + 2, 5, 3)
    assert known.rows_per_step == pytest.approx(1 / 3)
    assert known.pace.seconds_per_step == pytest.approx(1 / 3)


def test_no_state_is_shown_before_the_history_has_been_read() -> None:
    log = add(Log(Store(is_reading=True)), 0, {"loss": [(step, 0.5, START + step) for step in range(100)]})
    for caught_up, state, counts in ((False, "reading", "1 being read"), (True, "quiet", "1 quiet")):
        log.store.apply(Progress(1, 1, caught_up))
        assert progress_of(log.run, START + 1000).state == state
        assert totals((log.run,), Listing(START + 1000, Symbols.ASCII))[0] == counts
    log.store.apply(Progress(1, 2, False))  # it grows
    assert progress_of(log.run, START + 1000).state == "quiet"
