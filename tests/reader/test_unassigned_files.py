"""Files without metrics among runs that have metrics: they never become empty runs and are never lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.event_reading import Watched

from tuimon.model.points import Points
from tuimon.reader import Collector, assembly
from tuimon.reader.assembly import TEXT_WITHOUT_RUN
from tuimon.store import Run


def text_of(watched: Watched) -> dict[str, list[str]]:
    """Return the console text of each run, by its directory."""
    return {
        name: [line for fact in run.facts("console") for line in fact.value["lines"]]
        for name, run in by_directory(watched).items()
    }


def by_directory(watched: Watched) -> dict[str, Run]:
    return {os.path.basename(run.path): run for run in watched.runs.values()}


def metrics(path: Path, *steps: int, age: float = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"step": step, "loss": 0.5}) + "\n" for step in steps))
    stamp = path.stat().st_mtime - age
    os.utime(path, (stamp, stamp))


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(line + "\n" for line in lines)


POINT = "step:7 - actor/loss:0.25 - critic/score/mean:0.5"  # verl's console logger


def test_text_whose_points_come_with_its_last_record_becomes_a_run_with_them(tmp_path: Path) -> None:
    for seed in (0, 1):
        metrics(tmp_path / f"seed{seed}" / "metrics.jsonl", 0)
    bar = "\rEpoch 0:  {}%|█     | {}/50 [00:00<00:00, 502.64it/s, v_num=0, train_loss={}]"
    bars = bar.format(20, 10, 1.5), bar.format(40, 20, 1.25), bar.format(60, 30, 0.75)
    (tmp_path / "console.log").write_text("".join(("Seed set to 0\n", *bars, "\n")))
    watched = Watched(tmp_path)
    curve = by_directory(watched)[tmp_path.name].curve("train_loss")
    assert list(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))[:2] == [(10, 1.5), (20, 1.25)]


def test_text_above_several_runs_is_of_none_and_a_run_once_it_has_a_point(tmp_path: Path) -> None:
    for seed in (0, 1):
        metrics(tmp_path / f"seed{seed}" / "metrics.jsonl", 0)
    write(tmp_path / "train.log", "loading")
    watched = Watched(tmp_path)
    assert text_of(watched) == {"seed0": [], "seed1": []}
    assert [(Path(path).name, reason) for path, reason in watched.collector.skipped] == [
        ("train.log", TEXT_WITHOUT_RUN)
    ]
    for step in (7, 8):
        write(tmp_path / "train.log", POINT.replace("7", str(step)))
        watched.look()
        assert text_of(watched)["seed0"] == []
        assert text_of(watched)[tmp_path.name][0] == "loading"
        assert by_directory(watched)[tmp_path.name].curve("actor/loss").steps.tolist() == list(range(7, step + 1))
    assert not watched.collector.skipped


def test_texts_without_a_run_are_unreported_until_one_has_a_point(tmp_path: Path) -> None:
    metrics(tmp_path / "a" / "metrics.jsonl", 0)
    write(tmp_path / "b" / "stderr.log", "a warning")
    write(tmp_path / "b" / "stdout.log", "listening")
    watched = Watched(tmp_path)
    assert set(by_directory(watched)) == {"a"}
    assert {(Path(path).name, reason) for path, reason in watched.collector.skipped} == {
        ("stdout.log", TEXT_WITHOUT_RUN), ("stderr.log", TEXT_WITHOUT_RUN),
    }  # fmt: skip
    write(tmp_path / "b" / "stdout.log", POINT)
    watched.apply(watched.collector.read())
    texts = text_of(watched)
    assert (texts["a"], sorted(texts["b"])) == ([], sorted(["a warning", "listening", POINT]))
    assert not watched.collector.skipped


def test_texts_below_a_run_are_runs_once_they_have_points(tmp_path: Path) -> None:
    metrics(tmp_path / "evaluation" / "metrics.jsonl", 0)
    jobs = [tmp_path / "sweep" / f"job_{index}" / "train.log" for index in range(3)]
    for job in jobs:
        write(job, f"loading {job.parent.name}")
    watched = Watched(tmp_path)
    assert text_of(watched) == {tmp_path.name: []}
    for index, job in enumerate(jobs):
        write(job, POINT.replace("0.25", f"0.{index}5"))
    watched.look()
    assert set(by_directory(watched)) == {tmp_path.name, "job_0", "job_1", "job_2"}
    losses = [by_directory(watched)[f"job_{index}"].curve("actor/loss").values.tolist() for index in range(3)]
    assert losses == [[0.05], [0.15], [0.25]]
    assert by_directory(watched)[tmp_path.name].metrics == ("loss",)


def test_text_without_a_run_joins_metrics_in_its_directory(tmp_path: Path) -> None:
    metrics(tmp_path / "a" / "metrics.jsonl", 0)
    write(tmp_path / "b" / "train.log", "loading")
    watched = Watched(tmp_path)
    metrics(tmp_path / "b" / "metrics.jsonl", 3)
    watched.look()
    assert text_of(watched) == {"a": [], "b": ["loading"]}
    assert not watched.collector.skipped


def test_an_export_has_the_points_of_unreported_text(tmp_path: Path) -> None:
    metrics(tmp_path / "a" / "metrics.jsonl", 0)
    write(tmp_path / "b" / "train.log", "loading", POINT)
    collector = Collector([str(tmp_path)])
    list(collector.find())
    steps = {source: item.steps.tolist() for source, item in collector.in_file_order() if isinstance(item, Points)}
    assert steps == {"a/metrics.jsonl": [0], "b/train.log": [7, 7]}


def test_a_description_beside_text_that_becomes_a_run_belongs_to_it(tmp_path: Path) -> None:
    metrics(tmp_path / "seed0" / "metrics.jsonl", 0)
    files = tmp_path / "wandb" / "run-20260101_000000-abcdefgh" / "files"
    write(files / "output.log", "loading")
    write(files / "wandb-metadata.json", '{"host": "node3"}')
    watched = Watched(tmp_path)
    assert set(by_directory(watched)) == {"seed0"}
    write(files / "output.log", POINT)
    watched.look()
    run = by_directory(watched)["run-20260101_000000-abcdefgh"]
    assert "actor/loss" in run.metrics
    assert [fact.value["host"] for fact in run.facts("writer")] == ["node3"]
    assert not watched.collector.skipped


def test_many_texts_that_become_runs_are_grouped_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grouping goes through all files, so once for each of them would grow with their square."""
    metrics(tmp_path / "evaluation" / "metrics.jsonl", 0)
    for job in range(40):
        write(tmp_path / "sweep" / f"job_{job}" / "train.log", "loading", POINT)
    calls: list[int] = []
    really_group = assembly.group_runs
    monkeypatch.setattr(assembly, "group_runs", lambda *given: calls.append(1) or really_group(*given))  # type: ignore[func-returns-value]
    assert len(Watched(tmp_path).runs) == 41
    assert len(calls) <= 3
