"""Files without metrics among runs that have metrics: they never become empty runs and are never lost."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from support.event_reading import Watched

from tuimon.model.points import Points
from tuimon.reader import Collector, assembly
from tuimon.reader.assembly import TEXT_WITHOUT_RUN
from tuimon.store import Run


def by_directory(watched: Watched) -> dict[str, Run]:
    return {os.path.basename(run.path): run for run in watched.runs.values()}


def append(directory: Path, files: dict[str, list[str]]) -> None:
    """Append lines to files."""
    for name, lines in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        with (directory / name).open("a") as file:
            file.writelines(f"{line}\n" for line in lines)


def point(step: int, loss: float = 0.25) -> str:
    return f"step:{step} - actor/loss:{loss} - critic/score/mean:0.5"  # verl's console logger


ROW = '{"step": 0, "loss": 0.5}'
SEEDS = {"seed0/metrics.jsonl": [ROW], "seed1/metrics.jsonl": [ROW]}
ONE = {"a/metrics.jsonl": [ROW]}
Look = tuple[dict[str, list[str]], dict[str, list[str]], set[str]]
"""Lines that are appended to files, the console text of each run afterwards, and the files that are of no run."""
LOOKS: dict[str, list[Look]] = {
    "above several runs": [
        (SEEDS | {"train.log": ["loading"]}, {"seed0": [], "seed1": []}, {"train.log"}),
        ({"train.log": [point(7)]}, {"seed0": [], "seed1": [], "root": ["loading", point(7)]}, set()),
        ({"train.log": [point(8)]}, {"seed0": [], "seed1": [], "root": ["loading", point(7), point(8)]}, set()),
    ],
    "two of a directory": [
        (ONE | {"b/stderr.log": ["a warning"], "b/stdout.log": ["listening"]}, {"a": []}, {"stderr.log", "stdout.log"}),
        ({"b/stdout.log": [point(7)]}, {"a": [], "b": ["a warning", "listening", point(7)]}, set()),
    ],
    "below a run": [
        (
            {"evaluation/metrics.jsonl": [ROW], **{f"sweep/job_{n}/train.log": [f"job {n}"] for n in range(3)}},
            {"root": []}, {"train.log"},
        ),
        (
            {f"sweep/job_{n}/train.log": [point(7, n + 0.5)] for n in range(3)},
            {"root": [], **{f"job_{n}": [f"job {n}", point(7, n + 0.5)] for n in range(3)}}, set(),
        ),
    ],
    "joined by metrics": [
        (ONE | {"b/train.log": ["loading"]}, {"a": []}, {"train.log"}),
        ({"b/metrics.jsonl": [ROW]}, {"a": [], "b": ["loading"]}, set()),
    ],
}  # fmt: skip


@pytest.mark.parametrize("looks", LOOKS.values(), ids=LOOKS)
def test_text_is_of_no_run_until_it_has_a_point(tmp_path: Path, looks: list[Look]) -> None:
    root = tmp_path / "root"
    append(root, looks[0][0])
    watched = Watched(root)
    for number, (files, expected, skipped) in enumerate(looks):
        if number:
            append(root, files)
            watched.look()
        runs = by_directory(watched)
        texts = {
            name: sorted(line for fact in run.facts("console") for line in fact.value["lines"])
            for name, run in runs.items()
        }
        assert texts == {name: sorted(lines) for name, lines in expected.items()}
        assert {(Path(path).name, reason) for path, reason in watched.collector.skipped} == {
            (name, TEXT_WITHOUT_RUN) for name in skipped
        }
        for name, lines in expected.items():
            losses = [float(re.findall(r"loss:(\S+)", line)[0]) for line in lines if "loss:" in line]
            assert ("actor/loss" in runs[name].metrics) == bool(losses)
            if losses:
                assert runs[name].curve("actor/loss").values.tolist() == losses


def test_text_whose_points_come_with_its_last_record_becomes_a_run_with_them(tmp_path: Path) -> None:
    append(tmp_path, SEEDS)
    bar = "\rEpoch 0:  {}%|█     | {}/50 [00:00<00:00, 502.64it/s, v_num=0, train_loss={}]"
    bars = bar.format(20, 10, 1.5), bar.format(40, 20, 1.25), bar.format(60, 30, 0.75)
    (tmp_path / "console.log").write_text("".join(("Seed set to 0\n", *bars, "\n")))
    watched = Watched(tmp_path)
    curve = by_directory(watched)[tmp_path.name].curve("train_loss")
    assert list(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))[:2] == [(10, 1.5), (20, 1.25)]


def test_an_export_has_the_points_of_unreported_text(tmp_path: Path) -> None:
    append(tmp_path, ONE | {"b/train.log": ["loading", point(7)]})
    collector = Collector([str(tmp_path)])
    list(collector.find())
    steps = {source: item.steps.tolist() for source, item in collector.in_file_order() if isinstance(item, Points)}
    assert steps == {"a/metrics.jsonl": [0], "b/train.log": [7, 7]}


def test_a_description_beside_text_that_becomes_a_run_belongs_to_it(tmp_path: Path) -> None:
    files = "wandb/run-20260101_000000-abcdefgh/files"
    description = {f"{files}/output.log": ["loading"], f"{files}/wandb-metadata.json": ['{"host": "node3"}']}
    append(tmp_path, {"seed0/metrics.jsonl": [ROW], **description})
    watched = Watched(tmp_path)
    assert set(by_directory(watched)) == {"seed0"}
    append(tmp_path, {f"{files}/output.log": [point(7)]})
    watched.look()
    run = by_directory(watched)["run-20260101_000000-abcdefgh"]
    assert "actor/loss" in run.metrics
    assert [fact.value["host"] for fact in run.facts("writer")] == ["node3"]
    assert not watched.collector.skipped


def test_many_texts_that_become_runs_are_grouped_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grouping goes through all files, so once for each of them would grow with their square."""
    jobs = {f"sweep/job_{job}/train.log": ["loading", point(7)] for job in range(40)}
    append(tmp_path, {"evaluation/metrics.jsonl": [ROW], **jobs})
    calls: list[int] = []
    really_group = assembly.group_runs
    monkeypatch.setattr(assembly, "group_runs", lambda *given: calls.append(1) or really_group(*given))  # type: ignore[func-returns-value]
    assert len(Watched(tmp_path).runs) == 41
    assert len(calls) <= 3
