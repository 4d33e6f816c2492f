"""Console texts beside metric files become runs of their own if they are of another training."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.event_points import event, records, scalar, version
from support.event_reading import read_all

from tuimon.model.events import Event
from tuimon.reader import Collector
from tuimon.store import Run, Store


class Job(NamedTuple):
    """The values that a training logs, a row for each entry."""

    loss: list[float]
    grad_norm: list[float]
    reward: list[float]


def job(seed: int, count: int, top: float, start: float) -> Job:
    """A training whose loss falls from `start` and whose reward rises to `top`."""
    rng, part = np.random.default_rng(seed), np.arange(1, count + 1) / count
    return Job(
        (start * np.exp(-3 * part) + rng.normal(0.1, 0.01, count)).round(6).tolist(),
        rng.normal(1.5, 0.3, count).round(6).tolist(),
        (top * part**0.5 + rng.normal(0, 0.01, count)).round(6).tolist(),
    )


A, B, C = job(1, 150, 0.4, 1.0), job(2, 80, 0.9, 3.0), job(3, 120, 0.2, 2.0)
Writer = Callable[[Job], str]
FileWriter = Callable[[Path, Job], None]


def rows(values: Job, every: int = 1) -> list[tuple[int, dict[str, float]]]:
    """Return (number of the entry, values by metric) of each `every`th entry."""
    entries = enumerate(zip(*values, strict=True), 1)
    return [(number, dict(zip(Job._fields, row, strict=True))) for number, row in entries if number % every == 0]


def dicts(values: Job, digits: int = 4, every: int = 1) -> str:
    """TRL's entries: without steps, and an epoch."""
    return "".join(
        str({**{n: round(v, digits) for n, v in row.items()}, "learning_rate": 1e-05, "epoch": number / 100}) + "\n"
        for number, row in rows(values, every)
    )


def pairs(values: Job, digits: int = 4, every: int = 1) -> str:
    """Lines of key=value with steps."""
    return "".join(
        f"step={10 * number} " + " ".join(f"{n}={v:.{digits}f}" for n, v in row.items()) + " lr=1e-05\n"
        for number, row in rows(values, every)
    )


def bars(values: Job, digits: int = 4, every: int = 1) -> str:
    """A bar of tqdm, whose steps are those of the file divided by 10."""
    count = len(values.loss)
    return "".join(
        f"Training: {100 * number // count:3d}%|###   | {number}/{count} [00:{number % 60:02}<01:00,  1.00it/s, "
        + ", ".join(f"{n}={v:.{digits}f}" for n, v in row.items())
        + "]\r"
        for number, row in rows(values, every)
    )


def write_table(directory: Path, values: Job) -> None:
    text = "".join(f"{10 * number},{','.join(map(str, row.values()))}\n" for number, row in rows(values))
    (directory / "results.csv").write_text(f"step,{','.join(Job._fields)}\n{text}")


def write_lines(directory: Path, values: Job, name: str = "metrics.jsonl") -> None:
    text = "".join(json.dumps({"step": 10 * number, **row}) + "\n" for number, row in rows(values))
    (directory / name).write_text(text)


def write_events(directory: Path, values: Job, number: int = 0) -> None:
    (directory / "tb").mkdir(exist_ok=True)
    messages = [version()]
    for entry, row in rows(values):
        messages.append(event(10 * entry, *(scalar(f"Train/{n}", v) for n, v in row.items())))
    (directory / "tb" / f"events.out.tfevents.1795224526.host.1.{number}").write_bytes(b"".join(records(messages)))


TABLE = write_table, "results.csv"
LINES = write_lines, "metrics.jsonl"
EVENTS = write_events, "events.out.tfevents.1795224526.host.1.0"


def part_of(values: Job, entries: slice) -> Job:
    return Job(*(column[entries] for column in values))


def runs_in(directory: Path) -> dict[frozenset[str], Run]:
    """Return the runs by the names of their files."""
    collector, store = Collector([str(directory)]), Store()
    for item in read_all(collector):
        store.apply(item)
    return {
        frozenset(
            Path(view.info.path).name
            for view in run.streams
            if view.status is None or view.status.state != "superseded"
        ): run
        for run in store.snapshot().runs
    }


def loss_of(run: Run) -> list[float]:
    name = next(name for name in run.metrics if name.endswith("loss"))
    return [*map(float, run.curve(name).values)]


@pytest.mark.parametrize("owner", ["a", "b", "c"])
@pytest.mark.parametrize(
    ("text", "write", "file"),
    [(dicts, *TABLE), (dicts, *LINES), (dicts, *EVENTS), (pairs, *EVENTS), (bars, *LINES)],
)
def test_texts_of_two_jobs_beside_the_file_of_a_job(
    tmp_path: Path, text: Writer, write: FileWriter, file: str, owner: str
) -> None:
    jobs = {"job_a.log": A, "job_b.log": B}
    for name, values in jobs.items():
        (tmp_path / name).write_text(text(values))
    write(tmp_path, {"a": A, "b": B, "c": C}[owner])
    runs = runs_in(tmp_path)
    expected = {
        frozenset({name, file} if f"job_{owner}.log" == name else {name}): values for name, values in jobs.items()
    }
    expected |= {frozenset({file}): C} if owner == "c" else {}
    assert runs.keys() == expected.keys()
    for files, run in runs.items():
        assert loss_of(run) == pytest.approx(expected[files].loss, abs=1e-4)


def test_texts_of_two_jobs_beside_a_file_with_other_metrics_are_runs(tmp_path: Path) -> None:
    for name, values in {"job_a.log": A, "job_b.log": B}.items():
        (tmp_path / name).write_text(dicts(values))
    rows = "".join(f"{10 * number},{1.0 - number / 15}\n" for number in range(1, 16))
    (tmp_path / "results.csv").write_text(f"step,val_loss\n{rows}")
    assert set(runs_in(tmp_path)) == {frozenset({name}) for name in ("job_a.log", "job_b.log", "results.csv")}


@pytest.mark.parametrize(("text", "write", "file"), [(dicts, *TABLE), (pairs, *LINES), (bars, *EVENTS)])
@pytest.mark.parametrize(("job_of_text", "digits", "every"), [(A, 4, 1), (A, 3, 10), (A, 2, 1), (B, 4, 1), (B, 3, 1)])
def test_a_text_is_in_the_run_of_the_file_of_its_own_job_only(
    tmp_path: Path, text: Callable[[Job, int, int], str], write: FileWriter, file: str,
    job_of_text: Job, digits: int, every: int,
) -> None:  # fmt: skip
    (tmp_path / "console.log").write_text(text(job_of_text, digits, every))
    write(tmp_path, A)
    one, two = {frozenset({"console.log", file})}, {frozenset({"console.log"}), frozenset({file})}
    assert set(runs_in(tmp_path)) == (one if job_of_text is A else two)


def test_texts_of_the_attempts_of_a_job_stay_with_its_file(tmp_path: Path) -> None:
    for number, entries in ((1, slice(0, 75)), (2, slice(75, 150))):
        (tmp_path / f"slurm-100{number}.out").write_text(dicts(part_of(A, entries)))
    write_lines(tmp_path, A)
    assert len(runs_in(tmp_path)) == 1


def test_a_text_of_another_job_becomes_a_run_with_its_first_values(tmp_path: Path) -> None:
    write_lines(tmp_path, A)
    store, collector = Store(), Collector([str(tmp_path)])
    counts = []
    for count in (0, 4, 12, 80):
        (tmp_path / "console.log").write_text(f"Starting\n{dicts(part_of(B, slice(count)))}")
        for item in read_all(collector):
            store.apply(item)
        counts.append(len(store.snapshot().runs))
    assert counts == [1, 1, 2, 2]
    (run,) = [run for run in store.snapshot().runs if run.name == "console.log"]
    assert loss_of(run) == pytest.approx(B.loss, abs=1e-4)


@pytest.mark.parametrize("texts", [{"console.log": A}, {"console.log": B}, {"job_a.log": A, "job_b.log": B}])
def test_the_dashboard_shows_metric_files_before_texts_are_compared(tmp_path: Path, texts: dict[str, Job]) -> None:
    write_lines(tmp_path, A)
    for name, values in texts.items():
        (tmp_path / name).write_text(dicts(values))
    collector, store = Collector([str(tmp_path)]), Store()

    def apply(events: Iterable[Event]) -> list[list[str]]:
        for item in events:
            store.apply(item)
        return [[Path(view.info.path).name for view in run.streams] for run in store.snapshot().runs]

    apply(collector.find(hurry=True))
    assert apply(collector.read()) == [["metrics.jsonl"]]
    assert loss_of(store.snapshot().runs[0]) == A.loss
    apply(collector.add_texts())
    files = apply(collector.read())
    assert not collector.behind
    whole = runs_in(tmp_path)
    assert {*map(frozenset, files)} == whole.keys()  # no text was in another run before
    for names, run in whole.items():
        (shown,) = (run for run, own in zip(store.snapshot().runs, files, strict=True) if set(own) == names)
        assert (shown.name, loss_of(shown)) == (run.name, loss_of(run))
    assert apply(collector.find()) == files


def test_event_files_of_a_directory_are_in_the_runs_whose_values_they_have(tmp_path: Path) -> None:
    for number, values in enumerate((A, B)):
        write_events(tmp_path, values, number)
        write_lines(tmp_path, values, f"history_{number}.jsonl")
    name = "events.out.tfevents.1795224526.host.1."
    runs = runs_in(tmp_path)
    assert runs.keys() == {frozenset({name + "0", "history_0.jsonl"}), frozenset({name + "1", "history_1.jsonl"})}
    for files, run in runs.items():
        assert loss_of(run) == pytest.approx((A if "history_0.jsonl" in files else B).loss, rel=1e-6)


@pytest.mark.parametrize("other", [A, C])
def test_event_files_that_one_training_or_none_has_stay_together(tmp_path: Path, other: Job) -> None:
    for number, values in enumerate((A, other)):
        write_events(tmp_path, values, number)
    write_lines(tmp_path, A, "history_0.jsonl")
    write_lines(tmp_path, B, "history_1.jsonl")
    assert {len([name for name in files if "tfevents" in name]) for files in runs_in(tmp_path)} == {0, 2}


def test_the_event_file_of_a_second_training_moves_to_its_run(tmp_path: Path) -> None:
    store, collector = Store(), Collector([str(tmp_path)])
    counts = []
    for first, second in ((150, 0), (150, 2), (150, 20), (150, 80)):
        for number, values in enumerate((part_of(A, slice(first)), part_of(B, slice(second)))):
            if values.loss:
                write_events(tmp_path, values, number)
                write_lines(tmp_path, values, f"history_{number}.jsonl")
        for item in read_all(collector):
            store.apply(item)
        counts.append([run.point_count for run in store.snapshot().runs])
    assert counts[0] == [900]
    assert sorted(counts[-1]) == [480, 900]
