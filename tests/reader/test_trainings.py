"""Files of one directory become one run for each training."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from support.event_reading import read_all

from tuimon.reader import Collector
from tuimon.store import Run, Store

Curve = Callable[[int], float]


class Watched:
    """A collector, and a store of its events."""

    def __init__(self, *roots: Path) -> None:
        self._collector = Collector([str(root) for root in roots])
        self._store = Store()
        self.look()

    def look(self) -> None:
        for event in read_all(self._collector):
            self._store.apply(event)

    @property
    def runs(self) -> dict[str, Run]:
        return {run.name: run for run in self._store.snapshot().runs}

    @property
    def files(self) -> set[frozenset[str]]:
        """Names of the files of each run that are still read."""
        return {
            frozenset(
                os.path.basename(view.info.path)
                for view in run.streams
                if view.status is None or view.status.state != "superseded"
            )
            for run in self._store.snapshot().runs
        } - {frozenset()}


def steady(rate: float) -> Curve:
    return lambda step: round(3 / (1 + rate * step) + step % 7 * 0.001, 4)


def lines(steps: Iterable[int], loss: Curve, total: int = 100) -> str:
    return "".join(f"step {step}/{total} loss={loss(step):.4f} reward={1 - loss(step) / 3:.4f}\n" for step in steps)


def rows(steps: Iterable[int], loss: Curve) -> str:
    return "".join(json.dumps({"step": step, "loss": loss(step)}) + "\n" for step in steps)


def table(steps: Iterable[int], loss: Curve, *names: str) -> str:
    """A table in which all metrics have the same values."""
    return "".join(
        ",".join(row) + "\n" for row in [("epoch", *names), *((str(s), *[str(loss(s))] * len(names)) for s in steps)]
    )


def one_run_each(*names: str) -> set[frozenset[str]]:
    return {frozenset({name}) for name in names}


SLOW, MEDIUM, FAST = steady(0.02), steady(0.06), steady(0.2)


@pytest.mark.parametrize("names", [("slurm-1001.out", "slurm-1002.out", "slurm-1003.out"), ("a.log", "b.log", "c.log")])
def test_logs_of_different_trainings_are_runs_of_their_own(tmp_path: Path, names: tuple[str, str, str]) -> None:
    for name, loss, last in zip(names, (SLOW, MEDIUM, FAST), (100, 80, 60), strict=True):
        (tmp_path / name).write_text(f"Starting job on node01\n{lines(range(1, last + 1), loss)}")
    watched = Watched(tmp_path)
    assert watched.files == one_run_each(*names)
    last = [run.curve("loss").steps[-1] for _, run in sorted(watched.runs.items())]
    assert last == [100, 80, 60]


@pytest.mark.parametrize("text", [rows, lambda steps, loss: "step,loss\n" + "".join(f"{s},{loss(s)}\n" for s in steps)])
def test_metric_files_of_different_trainings_are_runs_of_their_own(
    tmp_path: Path, text: Callable[[Iterable[int], Curve], str]
) -> None:
    suffix = "jsonl" if text is rows else "csv"
    names = [f"train_{number}.{suffix}" for number in (1001, 1002, 1003)]
    for name, loss in zip(names, (SLOW, MEDIUM, FAST), strict=True):
        (tmp_path / name).write_text(text(range(1, 21), loss))
    assert Watched(tmp_path).files == one_run_each(*names)


@pytest.mark.parametrize("name", ["attempt{}.jsonl", "attempt_{}.jsonl", "slurm-991-attempt{}.jsonl", "try{}.jsonl"])
def test_files_named_as_attempts_are_one_run_if_they_continue_one_another(tmp_path: Path, name: str) -> None:
    first, second = name.format(0), name.format(1)
    (tmp_path / first).write_text(rows(range(1, 51), SLOW))
    (tmp_path / second).write_text(rows(range(41, 101), lambda step: SLOW(step) + 0.002))
    watched = Watched(tmp_path)
    assert watched.files == {frozenset({first, second})}
    (run,) = watched.runs.values()
    assert (run.curve("loss").superseded, run.curve("loss").steps[-1]) == (10, 100)
    (tmp_path / second).write_text(rows(range(1, 21), FAST))
    assert Watched(tmp_path).files == one_run_each(first, second)


def test_files_named_as_runs_stay_apart_beside_another_training(tmp_path: Path) -> None:
    curves = {"ppo_seed1.jsonl": SLOW, "ppo_seed2.jsonl": MEDIUM, "warmup.jsonl": FAST}
    for name, loss in curves.items():
        (tmp_path / name).write_text(rows(range(1, 21), loss))
    assert Watched(tmp_path).files == one_run_each(*curves)


def test_output_and_errors_of_a_job_are_one_run(tmp_path: Path) -> None:
    for number, loss in ((1001, SLOW), (1002, FAST)):
        (tmp_path / f"slurm-{number}.out").write_text(lines(range(1, 21), loss))
        (tmp_path / f"slurm-{number}.err").write_text("UserWarning: something\n")
    assert Watched(tmp_path).files == {
        frozenset({"slurm-1001.out", "slurm-1001.err"}),
        frozenset({"slurm-1002.out", "slurm-1002.err"}),
    }


@pytest.mark.parametrize("first", [51, 41])
def test_a_job_that_resumes_another_continues_its_run(tmp_path: Path, first: int) -> None:
    (tmp_path / "slurm-1001.out").write_text(lines(range(1, 51), SLOW))
    (tmp_path / "slurm-1002.out").write_text(lines(range(first, 101), lambda step: SLOW(step) + 0.002))
    watched = Watched(tmp_path)
    assert watched.files == {frozenset({"slurm-1001.out", "slurm-1002.out"})}
    (run,) = watched.runs.values()
    assert run.curve("loss").steps[-1] == 100


def test_a_resumed_job_continues_its_run_beside_another_training(tmp_path: Path) -> None:
    (tmp_path / "slurm-1001.out").write_text(lines(range(1, 51), SLOW))
    (tmp_path / "slurm-1002.out").write_text(lines(range(41, 101), SLOW))
    (tmp_path / "slurm-1003.out").write_text(lines(range(1, 101), FAST))
    assert Watched(tmp_path).files == {frozenset({"slurm-1001.out", "slurm-1002.out"}), frozenset({"slurm-1003.out"})}


def stamped(steps: Iterable[int], loss: Curve, hour: int) -> str:
    """Lines with a time: a row each second."""
    return "".join(
        f"[2026-11-25 {hour:02}:{step // 60:02}:{step % 60:02}] step {step} | loss {loss(step):.3f} | lr 1e-3\n"
        for step in steps
    )


@pytest.mark.parametrize("with_times", [True, False])
@pytest.mark.parametrize("first", [451, 501])
def test_a_resumed_job_continues_its_run_beside_a_job_array(tmp_path: Path, with_times: bool, first: int) -> None:
    curves = [lambda step, rate=rate: round(3 / (1 + rate * step), 4) for rate in (0.0102, 0.0098, 0.0099, 0.0101)]
    jobs: dict[str, tuple[range, Curve, int]] = {
        "123": (range(1, 501), steady(0.01), 9),
        "124": (range(first, 901), lambda step: steady(0.01)(step) + 0.002, 12),
        **{f"200_{task}": (range(1, 601), curve, 13) for task, curve in enumerate(curves)},
        "201_2": (range(601, 701), lambda step: curves[2](step) + 0.001, 15),
    }
    for job, (steps, loss, hour) in jobs.items():
        text = stamped(steps, loss, hour) if with_times else lines(steps, loss)
        (tmp_path / f"slurm-{job}.out").write_text(text)
    expected = {frozenset({"slurm-123.out", "slurm-124.out"}), frozenset({"slurm-200_2.out", "slurm-201_2.out"})}
    assert Watched(tmp_path).files == expected | one_run_each("slurm-200_0.out", "slurm-200_1.out", "slurm-200_3.out")


@pytest.mark.parametrize("names", [("console.log", "copy.log"), ("rank_0.log", "rank_1.log"), ("train.log", "val.log")])
def test_files_of_one_training_are_one_run(tmp_path: Path, names: tuple[str, str]) -> None:
    equal = names[1] == "copy.log"
    for name, loss in zip(names, (SLOW, SLOW if equal else steady(0.021)), strict=True):
        (tmp_path / name).write_text(lines(range(1, 31), loss))
    assert Watched(tmp_path).files == {frozenset(names)}


def test_files_with_other_metrics_are_one_run(tmp_path: Path) -> None:
    (tmp_path / "trainer.log").write_text(lines(range(1, 31), SLOW))
    (tmp_path / "orchestrator.log").write_text("".join(f"step {n}/100 tokens={n * 7} tps={n % 5}\n" for n in range(30)))
    assert len(Watched(tmp_path).files) == 1


@pytest.mark.parametrize("suffix", ["csv", "log"])
def test_values_of_epochs_and_those_of_steps_are_one_run(tmp_path: Path, suffix: str) -> None:
    rows_of = {
        "steps.csv": ["step,loss,lr,grad_norm", *(f"{s},{SLOW(s)},1e-3,{s % 7}" for s in range(1, 100))],
        "epochs.csv": ["epoch,train_loss,val_loss", *(f"{s},{FAST(s)},{FAST(s) + 0.1}" for s in range(1, 40))],
        "steps.log": [f"step {s}/4000 loss={SLOW(s)} lr=1e-3 gnorm={s % 7}" for s in range(1, 100)],
        "epochs.log": [
            f"[09:00:{s}] Epoch {s}/40: train_loss={FAST(s)} val_loss={FAST(s) + 0.1}" for s in range(1, 40)
        ],
    }
    names = [f"steps.{suffix}", f"epochs.{suffix}"]
    for name in names:
        (tmp_path / name).write_text("\n".join(rows_of[name]) + "\n")
    assert Watched(tmp_path).files == {frozenset(names)}


def test_a_second_job_becomes_a_run_with_its_first_points(tmp_path: Path) -> None:
    first, second = tmp_path / "slurm-1001.out", tmp_path / "slurm-1002.out"
    first.write_text(lines(range(1, 31), SLOW))
    watched = Watched(tmp_path)
    (run,) = watched.runs.values()
    second.write_text("Starting job 1002\n")
    watched.look()
    assert [same.id for same in watched.runs.values()] == [run.id]
    for count in range(1, 12):
        second.write_text(f"Starting job 1002\n{lines(range(1, count + 1), FAST)}")
        watched.look()
    assert watched.files == one_run_each("slurm-1001.out", "slurm-1002.out")
    assert list(watched.runs) == ["slurm-1001.out", "slurm-1002.out"]
    assert watched.runs["slurm-1001.out"].id == run.id
    assert [len(run.curve("loss")) for run in watched.runs.values()] == [30, 11]


def test_a_second_job_that_resumes_stays_in_the_run(tmp_path: Path) -> None:
    first, second = tmp_path / "slurm-1001.out", tmp_path / "slurm-1002.out"
    first.write_text(lines(range(1, 31), SLOW))
    watched = Watched(tmp_path)
    second.write_text("Starting job 1002\n")
    for count in range(1, 12):
        second.write_text(f"Starting job 1002\n{lines(range(28, 28 + count), SLOW)}")
        watched.look()
        assert len(watched.runs) == 1
    (run,) = watched.runs.values()
    assert run.curve("loss").steps.tolist() == list(range(1, 39))


def noisy(seed: int) -> Curve:
    """A metric whose values differ from step to step by more than they change in the course of the training."""
    values = np.random.default_rng(seed).normal(1.0, 0.3, 400).round(4).tolist()
    return lambda step: values[step]


def table_of_steps(steps: Iterable[int], loss: Curve) -> str:
    return "step,loss\n" + "".join(f"{step},{loss(step)}\n" for step in steps)


TEXTS = [("out", lines), ("jsonl", rows), ("csv", table_of_steps)]


@pytest.mark.parametrize(("suffix", "text"), TEXTS)
def test_a_resumed_job_supersedes_the_steps_that_it_repeats(
    tmp_path: Path, suffix: str, text: Callable[[Iterable[int], Curve], str]
) -> None:
    first, second = noisy(1), noisy(2)
    (tmp_path / f"log-1001.{suffix}").write_text(text(range(50), first))
    (tmp_path / f"log-1002.{suffix}").write_text(text(range(45, 90), second))
    (run,) = Watched(tmp_path).runs.values()
    curve = run.curve("loss")
    assert curve.steps.tolist() == list(range(90))
    assert curve.values.tolist() == [*map(first, range(45)), *map(second, range(45, 90))]
    assert curve.superseded == 5
    assert curve.sources == (f"log-1001.{suffix}",)


def test_a_job_that_resumes_from_an_earlier_step_than_the_one_before_supersedes_both(tmp_path: Path) -> None:
    curves = [noisy(seed) for seed in range(3)]
    for number, start, stop in ((0, 0, 50), (1, 45, 90), (2, 40, 120)):
        (tmp_path / f"slurm-100{number}.out").write_text(lines(range(start, stop), curves[number]))
    (run,) = Watched(tmp_path).runs.values()
    expected = [*map(curves[0], range(40)), *map(curves[2], range(40, 120))]
    assert run.curve("loss").values.tolist() == expected


def test_a_job_that_resumes_a_long_log_supersedes_its_end(tmp_path: Path) -> None:
    text = "".join(f"{line}{'.' * 300}\n" for line in lines(range(300), noisy(1)).splitlines())
    (tmp_path / "slurm-1001.out").write_text(text)
    (tmp_path / "slurm-1002.out").write_text(lines(range(297, 340), noisy(2)))
    (run,) = Watched(tmp_path).runs.values()
    assert run.curve("loss").superseded == 3
    assert len(run.curve("loss")) == 340


@pytest.mark.parametrize("first", [45, 50])
def test_a_job_that_resumes_while_it_is_watched_is_never_a_run_of_its_own(tmp_path: Path, first: int) -> None:
    before, after = noisy(1), noisy(2)
    (tmp_path / "slurm-1001.out").write_text(lines(range(50), before))
    watched = Watched(tmp_path)
    for count in range(1, 15):
        (tmp_path / "slurm-1002.out").write_text("Resumed\n" + lines(range(first, first + count), after))
        watched.look()
        assert len(watched.runs) == 1
    (run,) = watched.runs.values()
    assert run.curve("loss").values.tolist() == [*map(before, range(first)), *map(after, range(first, first + 14))]


def test_the_attempts_of_a_training_keep_their_order_when_an_earlier_log_is_copied_last(tmp_path: Path) -> None:
    before, after = noisy(1), noisy(2)
    (tmp_path / "slurm-1002.out").write_text(lines(range(45, 90), after))
    watched = Watched(tmp_path)
    (tmp_path / "slurm-1001.out").write_text(lines(range(50), before))
    watched.look()
    (run,) = watched.runs.values()
    assert run.curve("loss").values.tolist() == [*map(before, range(45)), *map(after, range(45, 90))]


def test_output_and_errors_of_resumed_jobs_are_not_attempts_of_one_another(tmp_path: Path) -> None:
    curves = {("out", 1001): noisy(1), ("out", 1002): noisy(2)}
    for number, steps in ((1001, range(50)), (1002, range(45, 90))):
        (tmp_path / f"slurm-{number}.out").write_text(lines(steps, curves["out", number]))
        (tmp_path / f"slurm-{number}.err").write_text(lines(steps, curves["out", number]))
    (run,) = Watched(tmp_path).runs.values()
    assert set(run.curve("loss").sources) == {"slurm-1001.out", "slurm-1001.err"}
    assert run.curve("loss").superseded == 5


def test_logs_of_different_trainings_beside_other_runs(tmp_path: Path) -> None:
    for name in ("ppo", "grpo"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text(rows(range(10), steady(len(name))))
    for number, loss in ((1001, SLOW), (1002, MEDIUM), (1003, FAST)):
        (tmp_path / f"slurm-{number}.out").write_text(lines(range(1, 21), loss))
    expected = [*one_run_each("slurm-1001.out", "slurm-1002.out", "slurm-1003.out")]
    assert Watched(tmp_path).files == {*expected, frozenset({"metrics.jsonl"})}


@pytest.mark.parametrize(
    ("names", "others"),
    [
        (("loss", "lr"), ("loss", "val_loss")),  # steps and epochs
        (("loss", "val_loss"), ("loss", "val_loss", "acc", "val_acc")),  # a copy with another metric
        (("loss", "val_loss"), ("gpu", "ram")),
        (("loss", "val_loss"), ("dice", "val_dice")),
    ],
)
def test_tables_that_may_be_of_one_training_are_one_run(
    tmp_path: Path, names: tuple[str, ...], others: tuple[str, ...]
) -> None:
    (tmp_path / "x.csv").write_text(table(range(20), SLOW, *names))
    (tmp_path / "y.csv").write_text(table(range(20), SLOW, *others))
    assert Watched(tmp_path).files == {frozenset({"x.csv", "y.csv"})}


def test_files_given_by_name_are_runs_of_their_own(tmp_path: Path) -> None:
    paths = [tmp_path / "b.out", tmp_path / "a.out"]
    for path in paths:
        path.write_text(lines(range(1, 21), SLOW))
    assert sorted(Watched(*paths).runs) == ["a.out", "b.out"]


def test_a_file_given_by_name_beside_those_of_other_directories_is_named_after_its_directory(tmp_path: Path) -> None:
    paths = [tmp_path / "first" / "log.jsonl", tmp_path / "second" / "log.jsonl"]
    for path in paths:
        path.parent.mkdir()
        path.write_text(rows(range(10), SLOW))
    assert sorted(Watched(*paths).runs) == ["first", "second"]


@pytest.mark.parametrize(
    ("given", "others", "name"),
    [
        ("slurm-123.out", ("slurm-124.out",), "slurm-123.out"),
        ("ppo.jsonl", (), "ppo.jsonl"),
        ("train.log", ("titan.log",), "mine"),
        ("rank_0.log", ("rank_1.log",), "mine"),
        ("progress.csv", ("eval.csv",), "mine"),
        ("console_output.txt", (), "mine"),
    ],
)
def test_a_file_given_by_name_is_named_by_it_unless_its_name_says_nothing(
    tmp_path: Path, given: str, others: tuple[str, ...], name: str
) -> None:
    texts = {".jsonl": rows, ".csv": table_of_steps}
    (tmp_path / "mine").mkdir()
    for file in (given, *others):
        text = texts.get(os.path.splitext(file)[1], lines)
        (tmp_path / "mine" / file).write_text(text(range(1, 21), SLOW))
    assert [*Watched(tmp_path / "mine" / given).runs] == [name]


def test_files_of_ranks_given_by_name_are_one_run(tmp_path: Path) -> None:
    paths = [tmp_path / f"rank_{rank}.log" for rank in range(4)]
    for path in paths:
        path.write_text(lines(range(1, 21), SLOW))
    assert len(Watched(*paths).runs) == 1


def test_texts_of_ranks_beside_other_runs_are_a_run(tmp_path: Path) -> None:
    for name in ("ppo", "grpo"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text(rows(range(10), steady(len(name))))
    (tmp_path / "live").mkdir()
    for rank in range(4):
        text = "".join(
            f"[2026-11-25 06:54:{s}] rank {rank} step {s} loss {SLOW(s) + rank / 1000}\n" for s in range(10, 20)
        )
        (tmp_path / "live" / f"rank_{rank:02}.log").write_text(f"node01 rank {rank} of 4 starting\n{text}")
    watched = Watched(tmp_path)
    assert sorted(watched.runs) == ["grpo", "live", "ppo"]
    assert watched.runs["live"].point_count == 40
