"""Files of one directory become one run for each training."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from support.event_reading import Watched

Curve = Callable[[int], float]


def files_of(watched: Watched) -> set[frozenset[str]]:
    """Return the names of the files of each run that are still read."""
    return {
        frozenset(
            os.path.basename(view.info.path)
            for view in run.streams
            if view.status is None or view.status.state != "superseded"
        )
        for run in watched.runs.values()
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


File = tuple[Callable[..., str], range, Curve]
"""How a file is written, its steps and its curve."""


def later(loss: Curve) -> Curve:
    return lambda step: round(loss(step) + 0.002, 4)


def tokens(steps: Iterable[int], _: Curve) -> str:
    return "".join(f"step {n}/100 tokens={n * 7} tps={n % 5}\n" for n in steps)


def warning(*_: object) -> str:
    return "UserWarning: something\n"


def started(steps: Iterable[int], loss: Curve) -> str:
    return f"Starting job on node01\n{lines(steps, loss)}"


def buffered(steps: Iterable[int], loss: Curve) -> str:
    """Rows of a trainer whose output came after all of its bars, each of which is drawn again below a row."""
    bars = "".join(f"\r 10%|#   | {step}/20 [00:01<00:19, 1.00it/s]\n" * 2 for step in steps)
    return bars + "".join(f"{{'loss': {loss(step)}, 'epoch': {step / 100}}}\n" for step in steps)


def of_epochs(steps: Iterable[int], loss: Curve) -> str:
    """Lines of epochs."""
    return "".join(f"[09:00:{s}] Epoch {s}/40: train_loss={loss(s)} val_loss={loss(s) + 0.1}\n" for s in steps)


def named(*names: str) -> Callable[[Iterable[int], Curve], str]:
    return lambda steps, loss: table(steps, loss, *names)


def table_of_steps(steps: Iterable[int], loss: Curve) -> str:
    return "step,loss\n" + "".join(f"{step},{loss(step)}\n" for step in steps)


def write(directory: Path, files: Mapping[str, File]) -> list[Path]:
    paths = []
    for name, (text, steps, loss) in files.items():
        paths.append(directory / name)
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(text(steps, loss))
    return paths


TWENTY, WHOLE = range(1, 21), range(1, 101)
THREE = (SLOW, MEDIUM, FAST)
SEVERAL: dict[str, dict[str, File]] = {
    "jobs": {f"slurm-100{n}.out": (started, range(1, 101 - 20 * n), loss) for n, loss in enumerate(THREE)},
    "texts": {name: (lines, TWENTY, loss) for name, loss in zip(("a.log", "b.log", "c.log"), THREE, strict=True)},
    "buffered rows": {f"gate_{n}.log": (buffered, TWENTY, loss) for n, loss in enumerate(THREE)},
    "rows": {f"train_100{n}.jsonl": (rows, TWENTY, loss) for n, loss in enumerate(THREE)},
    "tables": {f"train_100{n}.csv": (table_of_steps, TWENTY, loss) for n, loss in enumerate(THREE)},
    "seeds": {
        "ppo_seed1.jsonl": (rows, TWENTY, SLOW), "ppo_seed2.jsonl": (rows, TWENTY, MEDIUM),
        "warmup.jsonl": (rows, TWENTY, FAST),
    },
    "from scratch": {"attempt0.jsonl": (rows, range(1, 51), SLOW), "attempt1.jsonl": (rows, TWENTY, FAST)},
    "beside other runs": {
        **{f"slurm-100{n}.out": (lines, TWENTY, loss) for n, loss in enumerate(THREE)},
        **{f"{name}/metrics.jsonl": (rows, range(10), steady(len(name))) for name in ("ppo", "grpo")},
    },
}  # fmt: skip
"""Files that are a run each."""
ONE: dict[str, dict[str, File]] = {
    **{
        name: {name.format(0): (rows, range(1, 51), SLOW), name.format(1): (rows, range(41, 101), later(SLOW))}
        for name in ("attempt{}.jsonl", "attempt_{}.jsonl", "slurm-991-attempt{}.jsonl", "try{}.jsonl")
    },
    "resumed at once": {"slurm-1001.out": (lines, range(1, 51), SLOW), "slurm-1002.out": (lines, range(51, 101), SLOW)},
    "resumed": {"slurm-1001.out": (lines, range(1, 51), SLOW), "slurm-1002.out": (lines, range(41, 101), later(SLOW))},
    "copies": {"console.log": (lines, TWENTY, SLOW), "copy.log": (lines, TWENTY, SLOW)},
    "ranks": {f"rank_{n}.log": (lines, TWENTY, steady(0.02 + n / 1000)) for n in range(2)},
    "roles": {"train.log": (lines, TWENTY, SLOW), "val.log": (lines, TWENTY, steady(0.021))},
    "other metrics": {"trainer.log": (lines, TWENTY, SLOW), "orchestrator.log": (tokens, range(30), SLOW)},
    "lines of epochs": {"steps.log": (lines, WHOLE, SLOW), "epochs.log": (of_epochs, range(1, 40), FAST)},
    "steps and epochs": {"x.csv": (named("loss", "lr"), TWENTY, SLOW), "y.csv": (named("loss", "val"), TWENTY, SLOW)},
    "a copy with another metric": {
        "x.csv": (named("loss", "val_loss"), TWENTY, SLOW), "y.csv": (named("loss", "val_loss", "acc"), TWENTY, SLOW),
    },
    "the machine": {"x.csv": (named("loss", "val"), TWENTY, SLOW), "y.csv": (named("gpu", "ram"), TWENTY, SLOW)},
}  # fmt: skip
"""Files that are one run."""


TRAININGS: dict[str, tuple[dict[str, File], list[set[str]]]] = {
    "output and errors": (
        {f"slurm-100{n}.{suffix}": (text, TWENTY, loss) for n, loss in enumerate((SLOW, FAST))
         for suffix, text in (("out", lines), ("err", warning))},
        [{"slurm-1000.out", "slurm-1000.err"}, {"slurm-1001.out", "slurm-1001.err"}],
    ),
    "a job beside a resumed one": (
        {"slurm-1001.out": (lines, range(1, 51), SLOW), "slurm-1002.out": (lines, range(41, 101), later(SLOW)),
         "slurm-1003.out": (lines, WHOLE, FAST)},
        [{"slurm-1001.out", "slurm-1002.out"}, {"slurm-1003.out"}],
    ),
    **{name: (files, [{os.path.basename(path)} for path in files]) for name, files in SEVERAL.items()},
    **{name: (files, [{*files}]) for name, files in ONE.items()},
}  # fmt: skip
"""Files, and the names of those of each run."""


@pytest.mark.parametrize(("files", "expected"), TRAININGS.values(), ids=TRAININGS)
def test_files_of_trainings_are_runs(tmp_path: Path, files: dict[str, File], expected: list[set[str]]) -> None:
    write(tmp_path, files)
    assert files_of(Watched(tmp_path)) == set(map(frozenset, expected))


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
    assert files_of(Watched(tmp_path)) == expected | one_run_each(
        "slurm-200_0.out", "slurm-200_1.out", "slurm-200_3.out"
    )


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
    assert files_of(watched) == one_run_each("slurm-1001.out", "slurm-1002.out")
    assert list(watched.runs) == ["slurm-1001.out", "slurm-1002.out"]
    assert watched.runs["slurm-1001.out"].id == run.id
    assert [len(run.curve("loss")) for run in watched.runs.values()] == [30, 11]


def noisy(seed: int) -> Curve:
    """A metric whose values differ from step to step by more than they change in the course of the training."""
    values = np.random.default_rng(seed).normal(1.0, 0.3, 400).round(4).tolist()
    return lambda step: values[step]


@pytest.mark.parametrize(("suffix", "text"), [("out", lines), ("jsonl", rows), ("csv", table_of_steps)])
@pytest.mark.parametrize("spans", [[(0, 50), (45, 90)], [(0, 50), (45, 90), (40, 120)], [(0, 300), (297, 340)]])
def test_a_resumed_job_supersedes_the_steps_that_it_repeats(
    tmp_path: Path, suffix: str, text: Callable[[Iterable[int], Curve], str], spans: list[tuple[int, int]]
) -> None:
    """Also those of two jobs before it, and of a log that is longer than what is compared."""
    wanted: dict[int, float] = {}
    for number, (first, end) in enumerate(spans):
        loss = noisy(number)
        long = "".join(f"{line}{'.' * 300}\n" for line in text(range(first, end), loss).splitlines())
        is_long = suffix == "out" and end == 300
        (tmp_path / f"log-100{number}.{suffix}").write_text(long if is_long else text(range(first, end), loss))
        wanted = {step: value for step, value in wanted.items() if step < first}
        wanted |= {step: loss(step) for step in range(first, end)}
    (run,) = Watched(tmp_path).runs.values()
    curve = run.curve("loss")
    assert dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == wanted
    assert len(curve) + curve.superseded == sum(end - first for first, end in spans)
    assert curve.sources == (f"log-1000.{suffix}",)


@pytest.mark.parametrize(
    ("first", "before", "after"), [(45, noisy(1), noisy(2)), (50, noisy(1), noisy(2)), (48, SLOW, SLOW)]
)
def test_a_job_that_resumes_while_it_is_watched_is_never_a_run_of_its_own(
    tmp_path: Path, first: int, before: Curve, after: Curve
) -> None:
    (tmp_path / "slurm-1001.out").write_text(lines(range(50), before))
    watched = Watched(tmp_path)
    for count in range(15):
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


@pytest.mark.parametrize(
    ("given", "others", "names"),
    [
        ("slurm-123.out", "slurm-124.out", ["slurm-123.out"]),
        ("ppo.jsonl", "", ["ppo.jsonl"]),
        ("train.log", "titan.log", ["mine"]),
        ("rank_0.log", "rank_1.log", ["mine"]),
        ("progress.csv", "eval.csv", ["mine"]),
        ("console_output.txt", "", ["mine"]),
        ("b.out a.out", "", ["a.out", "b.out"]),
        ("first/log.jsonl second/log.jsonl", "", ["first", "second"]),
        ("rank_0.log rank_1.log rank_2.log rank_3.log", "", ["mine"]),
    ],
)
def test_files_given_by_name_name_their_runs_unless_their_names_say_nothing(
    tmp_path: Path, given: str, others: str, names: list[str]
) -> None:
    texts = {".jsonl": rows, ".csv": table_of_steps}
    files = [*given.split(), *others.split()]
    paths = write(tmp_path / "mine", {file: (texts.get(Path(file).suffix, lines), TWENTY, SLOW) for file in files})
    assert sorted(Watched(*paths[: len(given.split())]).runs) == names


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
