"""Checkpoints and evaluations: from directories on disk to marks and words on a chart."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.made_run import START, run_of, text
from support.programs import write_rows

from tuimon import draw
from tuimon.analysis.progress_inputs import progress_of
from tuimon.draw.frames import GUTTER
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.panels import ChartOptions, metric_panel, overlay_lines
from tuimon.store import Run


def log(directory: Path, last: int = 100) -> None:
    rows = ({"step": step, "reward": step / 100, **evaluated(step)} for step in range(last + 1))
    write_rows(directory, rows)


def evaluated(step: int) -> dict[str, float]:
    return {"eval/reward": step / 90} if step % 50 == 0 else {}


def test_each_run_has_the_checkpoints_in_its_directory_as_they_appear_and_disappear(tmp_path: Path) -> None:
    log(tmp_path / "a")
    log(tmp_path / "b" / "log")
    for name in ("a/checkpoint-40", "a/output/checkpoint-20", "b/ckpts/global_step_60", "b/ckpts/best", "c/step_5"):
        (tmp_path / name).mkdir(parents=True)
    files = ("epoch=1-step=30.ckpt", "weights/checkpoint_60.pt", "weights/model-step-60.safetensors", "last.ckpt")
    for name in (*files, "model-00001-of-00002.safetensors", "step_80.npz"):
        (tmp_path / "a" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "a" / name).touch()
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    before = monitor.snapshot()
    assert {run.name: run.checkpoints for run in before.runs} == {"a": (20, 30, 40, 60), "b": (60,)}
    (tmp_path / "a" / "checkpoint-80").mkdir()
    shutil.rmtree(tmp_path / "a" / "checkpoint-40")
    (tmp_path / "a" / "epoch=1-step=30.ckpt").unlink()
    (tmp_path / "a" / "epoch=2-step=90.ckpt").touch()
    assert monitor.update()
    assert {run.name: run.checkpoints for run in monitor.snapshot().runs} == {"a": (20, 60, 80, 90), "b": (60,)}
    assert before.runs[0].checkpoints == (20, 30, 40, 60), "a snapshot stays as it is"
    assert not monitor.update()


def save(directory: Path, number: int, epoch: float, rows: int, when: float) -> None:
    """As transformers does it, at a step at which nothing need have been logged."""
    path = directory / f"checkpoint-{number}" / "trainer_state.json"
    path.parent.mkdir(parents=True)
    history = [{"epoch": 0.5 * row, "loss": 1 / row, "step": 10 * row} for row in range(1, rows + 1)]
    state = {"epoch": epoch, "global_step": number, "log_history": history, "max_steps": 100}
    path.write_text(json.dumps(state, indent=2, sort_keys=True) + "\n")
    os.utime(path, (when, when))


@pytest.mark.parametrize("apart", [0.0, 5.0, 59.0, 61.0])
@pytest.mark.parametrize("live", [True, False])
def test_the_later_of_two_recent_checkpoints_gives_the_step_of_the_run(
    tmp_path: Path, live: bool, apart: float
) -> None:
    """The state at the end is the shorter of the two: epoch 2.9985, then 3.0, and not a row more."""
    save(tmp_path, 99, 2.99850937, 9, START)
    monitor = LocalMonitor([tmp_path])
    if live:
        monitor.update()
    save(tmp_path, 100, 3.0, 9, START + apart)
    monitor.update()
    [run] = monitor.snapshot().runs
    assert progress_of(run, START + 70).fact == "step 100 of 100 reached"
    assert run.checkpoints == (99, 100)
    assert run.curve("loss").steps.tolist() == list(range(10, 91, 10))


def test_files_saved_beside_the_checkpoints_at_the_end_have_the_last_rows(tmp_path: Path) -> None:
    save(tmp_path, 90, 2.7, 9, START)
    save(tmp_path / "end", 100, 3.0, 10, START + 1)
    (tmp_path / "end" / "checkpoint-100" / "trainer_state.json").rename(tmp_path / "trainer_state.json")
    [run] = open_run(tmp_path).runs
    assert run.curve("loss").steps.tolist() == list(range(10, 101, 10))


def chart(
    run: Run, options: ChartOptions, metric: str, height: int = 20, symbols: Symbols = Symbols.BRAILLE
) -> ChartView:
    return metric_panel(metric).view(run, Size(GUTTER + 101, height), START, symbols, options)


def test_a_full_screen_chart_marks_checkpoints_and_evaluations_and_has_a_legend(tmp_path: Path) -> None:
    log(tmp_path)
    for step in (20, 40, 500):
        (tmp_path / f"checkpoint-{step}").mkdir()
    [run] = open_run(tmp_path).runs
    view = chart(run, ChartOptions(fullscreen=True), "reward")
    width = (view.x.high - view.x.low) / view.columns
    result = {kind: [m.x for m in view.marks if m.kind == kind] for kind in ("checkpoint", "evaluation")}
    assert result["checkpoint"] == pytest.approx([20, 40], abs=width), "500 lies outside"
    assert result["evaluation"] == pytest.approx([0, 50, 100], abs=width)
    rows = ["".join(part for part, _ in row) for row in draw.render(view, Size(GUTTER + 101, 20), Symbols.BRAILLE)]
    assert [rows[1].index("◇") - GUTTER, rows[1].rindex("◇") - GUTTER] == pytest.approx([20, 40], abs=1)
    assert rows[-1].rstrip() == "◇ 3 checkpoints, the last at 500   △ 3 evaluations, the last at 100"
    assert chart(run, ChartOptions(), "reward").marks == ()
    assert [mark.kind for mark in chart(run, ChartOptions(fullscreen=True), "eval/reward").marks] == [
        "checkpoint",
        "checkpoint",
    ]


def test_an_overlay_has_the_marks_of_the_displayed_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log(tmp_path / name)
        for step in (20, 40):
            (tmp_path / name / f"checkpoint-{step}").mkdir()
    with (tmp_path / "b" / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps({"step": step, "reward": step / 120}) + "\n" for step in range(60, 101))
    a, b = sorted(open_run(tmp_path).runs, key=lambda run: run.name)
    over = overlay_lines((b, a), (), False)
    view = chart(b, ChartOptions(fullscreen=True, overlay=over), "reward")
    width = (view.x.high - view.x.low) / view.columns
    result = {kind: [m.x for m in view.marks if m.kind == kind] for kind in ("checkpoint", "evaluation")}
    assert result["checkpoint"] == pytest.approx([20, 40], abs=width), "those of one run"
    assert result["evaluation"] == pytest.approx([0, 50], abs=width), "not the one of the attempt that was given up"
    words = text(view.table[-1])
    assert words.startswith(f"{over[0].marker} ◇ 2 checkpoints, the last at 40   △ 2 evaluations, the last at 50")
    small = chart(b, ChartOptions(overlay=over), "reward")
    assert [mark.label for mark in small.marks] == ["resumed from 59"]


def test_a_run_without_checkpoints_and_evaluations_has_no_legend() -> None:
    run = run_of({"m": ([1, 2, 3], [1.0, 2.0, 3.0])})
    assert len(chart(run, ChartOptions(fullscreen=True), "m").table) == 2
