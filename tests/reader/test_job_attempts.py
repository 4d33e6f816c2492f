"""A job that Slurm preempts and that goes on in the log of another job."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.event_points import event, records, scalar, version

from tuimon.analysis.attempts import attempts_of, lost_at_restarts
from tuimon.exports.summary_text import as_text
from tuimon.model.ranks import JobRanks
from tuimon.monitor.local import LocalMonitor, open_run


def _lines(rank: int, steps: range, seed: int) -> str:
    values = np.random.default_rng(seed).normal(1.0, 0.3, 1000)
    return "".join(f"[rank{rank}] step:{step} - reward:{values[step]:.5f} - kl:{values[-step]:.5f}\n" for step in steps)


def _stop(job: int, hour: int) -> str:
    return f"slurmstepd: error: *** JOB {job} ON node01 CANCELLED AT 2026-03-05T{hour:02}:00:00 DUE TO PREEMPTION ***\n"


def _write(directory: Path, last_attempt: bool, errors_apart: bool = False) -> None:
    """Write the logs of a job that was preempted at steps 220 and 415, and resumed at 201 and, perhaps, at 401."""
    for job, rank, steps, hour in ((1001, 0, range(1, 221), 9), (1002, 3, range(201, 416), 11)):
        text, stop = _lines(rank, steps, job), _stop(job, hour)
        (directory / f"slurm-{job}.out").write_text(text if errors_apart else text + stop)
        if errors_apart:
            (directory / f"slurm-{job}.err").write_text(stop)
    if last_attempt:
        begin = "  Continuing training from global step 400\n"
        (directory / "slurm-1003.out").write_text(begin + _lines(0, range(401, 601), 1003))


def _ranks(monitor: LocalMonitor) -> JobRanks:
    monitor.update()
    (run,) = monitor.snapshot().runs
    assert run.ranks is not None
    return run.ranks


@pytest.mark.parametrize("errors_apart", [False, True])
def test_a_preemption_after_which_a_later_attempt_went_on_is_over(tmp_path: Path, errors_apart: bool) -> None:
    _write(tmp_path, True, errors_apart)
    monitor = LocalMonitor([tmp_path])
    ranks = _ranks(monitor)
    assert [alert for alert in monitor.snapshot().alerts if alert.rule == "rank_failure"] == []
    assert ranks.restart == "failed 2 times: the last time it was stopped from outside; the job went on"


def test_the_last_preemption_is_reported_until_the_next_attempt_has_points(tmp_path: Path) -> None:
    _write(tmp_path, False)
    monitor = LocalMonitor([tmp_path])
    (problem,) = _ranks(monitor).problems
    assert "JOB 1002" in problem.message
    assert "(slurm-1002.out:216)" in problem.message
    (tmp_path / "slurm-1003.out").write_text(_lines(0, range(401, 410), 1003))
    for watching in (monitor, LocalMonitor([tmp_path])):
        assert _ranks(watching).problems == ()
        assert [alert for alert in watching.snapshot().alerts if alert.rule == "rank_failure"] == []


def test_steps_lost_do_not_count_the_steps_between_two_rows(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(1.0, 0.3, 1000)
    for job, steps in ((1001, range(10, 230, 10)), (1002, range(210, 420, 10))):
        rows = (f"[rank{job % 2}] step:{step} - reward:{values[step] + job / 1e5:.5f}\n" for step in steps)
        (tmp_path / f"slurm-{job}.out").write_text("".join(rows) + (_stop(job, 9) if job == 1001 else ""))

    def lost() -> list[tuple[int, int | None, int | None]]:
        (run,) = open_run(tmp_path).runs
        return [(own.last_step, own.checkpoint, own.steps) for own in lost_at_restarts(run)]

    assert lost() == [(220, None, None)]
    log = tmp_path / "slurm-1002.out"
    log.write_text("INFO resuming from checkpoint step_205\n" + log.read_text())
    assert lost() == [(220, 205, 15)]


def test_each_attempt_is_listed_with_its_steps_and_its_end(tmp_path: Path) -> None:
    _write(tmp_path, True)
    (run,) = open_run(tmp_path).runs
    attempts = attempts_of(run)
    assert [(a.name, a.first_step, a.last_step, a.superseded) for a in attempts] == [
        ("slurm-1001.out", 1, 220, 20),
        ("slurm-1002.out", 201, 415, 15),
        ("slurm-1003.out", 401, 600, 0),
    ]
    assert [attempt.resumed_from for attempt in attempts] == [None, 200, 400]
    assert ["JOB 1001" in attempts[0].end, "JOB 1002" in attempts[1].end, attempts[2].end] == [True, True, ""]
    text = [line.split() for line in as_text(open_run(tmp_path), 0.0)]
    assert ["slurm-1003.out", "401", "600", "400"] in text
    assert ["3", "attempts", "first", "step", "last", "step", "resumed", "from", "superseded", "steps", "end"] in text


@pytest.mark.parametrize(
    ("files", "superseded"),
    [
        ({"slurm-1.out": [range(50), range(45, 90)]}, 5),
        ({"train.log.1": [range(1, 51)], "train.log": [range(51, 101)]}, 0),
    ],
)
def test_a_restarted_or_rotated_log_is_one_attempt(
    tmp_path: Path, files: dict[str, list[range]], superseded: int
) -> None:
    for name, parts in files.items():
        (tmp_path / name).write_text("".join(_lines(0, steps, number) for number, steps in enumerate(parts)))
    (run,) = open_run(tmp_path).runs
    assert len(run.curve("reward")) + superseded == sum(len(steps) for parts in files.values() for steps in parts)
    assert run.curve("reward").superseded == superseded
    assert attempts_of(run) == ()


def _write_state(directory: Path, kept: range, resumed: range) -> None:
    """Write a file with the last attempts' exact values of all steps, as the Trainer does at each checkpoint."""
    rows = []
    for job, steps in ((1001, kept), (1002, resumed)):
        values = np.random.default_rng(job).normal(1.0, 0.3, 1000)
        rows += [{"step": s, "reward": values[s], "kl": values[-s]} for s in steps]
    (directory / "trainer_state.json").write_text(json.dumps({"global_step": rows[-1]["step"], "log_history": rows}))


@pytest.mark.parametrize("logs", ["", "logs"])
def test_a_file_that_each_attempt_writes_anew_is_drawn_once(tmp_path: Path, logs: str) -> None:
    (tmp_path / logs).mkdir(exist_ok=True)
    _write(tmp_path / logs, False)
    _write_state(tmp_path, range(1, 201), range(201, 416))
    (run,) = open_run(tmp_path).runs
    curve = run.curve("reward")
    assert (curve.sources[0], len(curve)) == ("trainer_state.json", 415)
    assert run.disagreements("reward") == ()
    assert [(a.name, a.first_step, a.last_step, a.superseded) for a in attempts_of(run)] == [
        ("slurm-1001.out", 1, 220, 20),
        ("slurm-1002.out", 201, 415, 0),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_directories_of_a_trainers_starts_are_attempts_of_one_run(tmp_path: Path, seed: int) -> None:
    """runs/<stamp>_host/ of each start, beside the trainer_state.json of each checkpoint."""
    rng = np.random.default_rng(seed)
    month = ["Nov", "Dec", "Jan", "Feb"]  # the names are not in the order of the starts
    saved, first, wall, drawn, spans = 0, 1, 1.7e9, dict[int, float](), list[list[int]]()
    for number in range(int(rng.integers(2, 5))):
        last = first + int(rng.integers(21, 60))
        values = {step: float(np.float32(rng.normal())) for step in range(first, last + 1)}
        drawn = {step: value for step, value in drawn.items() if step < first} | values
        folder = tmp_path / "runs" / f"{month[number]}01_10-11-12_node1"
        folder.mkdir(parents=True)
        rows = [event(step, scalar("train/loss", value), wall=wall + step) for step, value in values.items()]
        (folder / f"events.out.tfevents.{wall:.0f}.node1.7.0").write_bytes(b"".join(records([version(), *rows])))
        for saved in range(20 * (first // 20 + 1), last + 1, 20):
            rows = [{"step": step, "loss": value} for step, value in drawn.items() if step <= saved]
            (state := tmp_path / f"checkpoint-{saved}").mkdir(exist_ok=True)
            (state / "trainer_state.json").write_text(json.dumps({"global_step": saved, "log_history": rows}))
        if spans:
            spans[-1].append(max(spans[-1][1] - first + 1, 0))
        spans.append([first, last])
        first, wall = int(rng.choice([saved + 1, last + 1])), wall + 7200
    spans[-1].append(0)
    (run,) = open_run(tmp_path).runs
    curve = run.curve("train/loss")
    assert dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == drawn
    assert [[own.first_step, own.last_step, own.superseded] for own in attempts_of(run)] == spans


def test_the_attempts_are_known_once_the_second_one_has_points(tmp_path: Path) -> None:
    _write(tmp_path, False)
    (second := tmp_path / "slurm-1002.out").rename(text := tmp_path.parent / "second")
    _write_state(tmp_path, range(1, 201), range(0))
    monitor = LocalMonitor([tmp_path])
    counts = []
    for lines in (0, 1, 30, 100):
        if lines:
            second.write_text("".join(text.read_text().splitlines(keepends=True)[:lines]))
        monitor.update()
        (run,) = monitor.snapshot().runs
        counts.append((len(run.curve("reward")), len(attempts_of(run))))
    assert counts[0] == (220, 0)
    assert counts[2:] == [(230, 2), (300, 2)]
