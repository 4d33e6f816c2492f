"""Wall times of runs whose clock was set back while they were logged."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.comparison import compare
from tuimon.exports.summary import facts_of
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels.curves import LOSS
from tuimon.store import Run

BEGIN = 1764086400.0


def run_of(path: Path, rows: Iterable[tuple[int, float]], name: str = "metrics.jsonl") -> Run:
    path.mkdir(exist_ok=True)
    lines = (json.dumps({"step": step, "time": BEGIN + time, "loss": 2 - step / 200}) for step, time in rows)
    (path / name).write_text("\n".join(lines) + "\n")
    return open_run(path).runs[0]


def set_back(count: int = 200, at: int = 100, by: float = 1800.0) -> list[tuple[int, float]]:
    return [(step, 5.0 * step - (by if step >= at else 0)) for step in range(count)]


@pytest.mark.parametrize("count", [120, 200, 2000])  # 2000: the last point has the highest wall time again
def test_a_clock_that_is_set_back(tmp_path: Path, count: int) -> None:
    run = run_of(tmp_path / "run", set_back(count))
    assert [(jump.step, jump.seconds) for jump in run.clock_jumps] == [(100, 1800.0)]
    last = BEGIN + 5.0 * (count - 1) - 1800
    assert (run.first_wall_time, run.last_wall_time, run.duration) == (BEGIN, last, 5.0 * (count - 1))
    assert run.wall_time_range == (BEGIN + min(0, 500 - 1800), max(BEGIN + 495, last))
    progress = progress_of(run, last + 20)
    assert (progress.last_wall_time, progress.seconds_per_step) == (last, 5.0)
    facts = dict(facts_of(run, last + 20))
    assert facts["clock"] == "wall time goes back by 30 m at step 100"


def test_a_gap_in_the_points_is_named_as_a_part_of_the_duration(tmp_path: Path) -> None:
    """A clock that is set forward looks like a job that was suspended."""
    rows = [(step, 5.0 * step + 30 * (step // 20)) for step in range(200)]
    whole = dict(facts_of(run_of(tmp_path / "whole", rows), BEGIN + 1300))
    assert whole["first point"].endswith(", 21 m 5 s before the last")
    for gap, text in (
        (86400.0, ", 1 d before the last, 1 d of it a gap before step 101"),
        (300.0, ", 26 m 5 s before the last"),
    ):
        forward = [(step, time + gap * (step > 100)) for step, time in rows]
        facts = dict(facts_of(run_of(tmp_path / f"{gap}", forward), BEGIN + gap + 1300))
        assert facts["first point"].endswith(text)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_clock_that_is_set_when_the_machine_has_started(tmp_path: Path, at: int) -> None:
    run = run_of(tmp_path / "run", set_back(at=at, by=7200.0))
    assert [(jump.step, jump.seconds) for jump in run.clock_jumps] == [(at, 7200.0)]
    assert (run.first_wall_time, run.duration) == (BEGIN, 995.0)


def test_the_times_are_those_of_the_first_and_the_last_step_of_any_metric(tmp_path: Path) -> None:
    rows = [json.dumps({"step": step, "time": BEGIN + time, "loss": 1.0}) for step, time in set_back()]
    rows.insert(1, json.dumps({"step": 0, "time": BEGIN + 1, "eval/loss": 1.0}))
    rows.append(json.dumps({"step": 199, "time": BEGIN + 995 - 1800 + 3, "eval/loss": 1.0}))
    (tmp_path / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    run = open_run(tmp_path).runs[0]
    assert (run.first_wall_time, run.last_wall_time) == (BEGIN, BEGIN + 995 - 1800 + 3)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(s, 5.0 * s - 30 * (s >= 100)) for s in range(200)], id="threads of a writer"),
        pytest.param([*set_back()[100:], *set_back()[:100]], id="older rows last"),
        pytest.param([*set_back(100), *((s, 5.0 * s - 3600) for s in range(50, 200))], id="attempt of another host"),
        pytest.param([row for s in range(50) for row in ((s, 5.0 * s), (s, 9000 + 5.0 * s))], id="two writers"),
        pytest.param([(s, 5.0 * s + 9000 * (s % 2)) for s in range(50)], id="workers with clocks of their own"),
        pytest.param([*set_back(100), (100, -9000.0), *((s, 5.0 * s) for s in range(101, 200))], id="one wrong time"),
    ],
)
def test_other_disorder_is_no_jump(tmp_path: Path, rows: list[tuple[int, float]]) -> None:
    run = run_of(tmp_path / "run", rows)
    times = [time for _, time in rows]
    assert run.clock_jumps == ()
    assert (run.first_wall_time, run.last_wall_time) == (BEGIN + min(times), BEGIN + max(times))


def test_an_attempt_in_another_file_is_no_jump(tmp_path: Path) -> None:
    run_of(tmp_path / "run", [(s, 9000 + 5.0 * s) for s in range(100)], "metrics.jsonl")
    run = run_of(tmp_path / "run", [(s, 5.0 * s) for s in range(100, 200)], "metrics-2.jsonl")
    assert len(np.unique(run.curve("loss").steps)) in (100, 200)
    assert run.clock_jumps == ()


@pytest.mark.parametrize("by", [1800.0, 200.0])  # 200: the times of both parts overlap
def test_a_duration_goes_on_where_the_clock_was_set_back(tmp_path: Path, by: float) -> None:
    """Points are at the times of a clock that was not set back; their wall times are those of the log."""
    run = run_of(tmp_path / "run", set_back(by=by))
    curve, scale = run.curve("loss"), run.scale("duration")
    assert curve.x_of_rows(np.arange(200), scale).tolist() == (5.0 * np.arange(200)).tolist()
    assert curve.limits(scale) == (0.0, 995.0) == (0.0, run.duration)
    assert [curve.row_near(x, scale) for x in (0.0, 494.0, 501.0, 2000.0)] == [0, 98, 100, 199]
    assert curve.x_of_step(150, scale) == 750.0
    part = curve.within(490.0, 510.0, scale)
    assert part is not None
    assert part.steps.tolist() == [98, 99, 100, 101, 102]
    assert part.wall_times.tolist() == curve.wall_times[98:103].tolist()
    envelope = curve.envelope(0.0, 1000.0, 10, scale)
    assert envelope.high.tolist() == [curve.values[20 * bin] for bin in range(10)]
    times = [BEGIN + time for _, time in set_back(by=by)]
    assert curve.wall_times.tolist() == times
    assert curve.x_of_rows(np.arange(200), "time").tolist() == times


def test_the_time_axis_says_that_the_clock_was_set_back(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", set_back())
    for axis, note in (("time", "wall time goes back by 30 m at step 100"), ("duration", ""), ("step", "")):
        view = LOSS.view(run, Size(80, 20), BEGIN, Symbols.BRAILLE, ChartOptions(axis=axis))
        assert isinstance(view, ChartView)
        assert view.note == note
        assert axis != "duration" or (view.x.low, view.extent) == (0.0, (0.0, 995.0))


def test_runs_are_compared_by_the_time_that_passed(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / "back", set_back()), run_of(tmp_path / "usual", set_back(150, by=0.0))]
    [metric] = compare(runs).metrics
    assert metric.common_seconds == 745.0
    assert [entry and entry.at_time for entry in metric.entries] == [2 - 149 / 200] * 2
