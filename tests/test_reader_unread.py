"""What is recognised but cannot be read says so, with what to do: in the status, in a notice, on the screen."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from event_reading import Heard, everything

from tuimon.errors import NothingFound
from tuimon.formats import all_formats, recognise
from tuimon.model.views import Role
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.reader import Collector
from tuimon.tui.bars import AlertBar
from tuimon.tui.screens import NotesScreen

CLOUD = Path("cloud") / "wandb" / "run-20261121_014500-a1b2c3d4" / "files" / "wandb-metadata.json"
ADVICE = next(f for f in all_formats() if f.id == "aim").unsupported


def put(path: Path, content: bytes, age: float = 3600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.fixture
def aim(tmp_path: Path, data: Path) -> Path:
    """A project with an Aim repository that aim wrote."""
    content = gzip.decompress((data / "aim" / ".aim" / "run_metadata.sqlite.gz").read_bytes())
    put(tmp_path / "project" / ".aim" / "run_metadata.sqlite", content)
    return tmp_path / "project"


def metrics(path: Path) -> None:
    put(path, b'{"step": 1, "loss": 0.5}\n')


def test_alone_it_is_what_there_is_to_see(aim: Path) -> None:
    heard = Heard().feed(everything(Collector([str(aim)])))
    assert [run.path for run in heard.runs.values()] == [str(aim)]
    [status] = heard.status.values()
    assert (status.state, status.message) == ("unsupported", ADVICE)
    [notice] = heard.notices
    assert (notice.level, notice.hint) == ("warning", ADVICE)
    assert notice.message.endswith("Aim repository, not read")


def test_beside_a_run_it_is_one_of_its_files(aim: Path) -> None:
    metrics(aim / "metrics.jsonl")
    heard = Heard().feed(everything(Collector([str(aim)])))
    assert len(heard.runs) == 1
    assert {status.state for status in heard.status.values()} == {"unsupported", "current"}
    assert len(heard.notices) == 1


def test_above_several_runs_it_is_no_run_and_still_said(aim: Path) -> None:
    for seed in range(2):
        metrics(aim / f"seed{seed}" / "metrics.jsonl")
    collector = Collector([str(aim)])
    heard = Heard().feed(everything(collector))
    assert sorted(Path(run.path).name for run in heard.runs.values()) == ["seed0", "seed1"]
    assert [notice.hint for notice in heard.notices] == [ADVICE]
    assert [reason for _, reason in collector.skipped] == [ADVICE]
    assert collector.partly_unreadable
    assert not Heard().feed(collector.find()).notices


def test_several_of_a_kind_are_said_once(aim: Path) -> None:
    for name in ("one", "two", "three"):
        put(aim.parent / name / ".aim" / "run_metadata.sqlite", (aim / ".aim" / "run_metadata.sqlite").read_bytes())
    assert len(Heard().feed(everything(Collector([str(aim.parent)]))).notices) == 1


def test_the_screen_says_so(aim: Path) -> None:
    metrics(aim / "metrics.jsonl")
    monitor = LocalMonitor([aim])
    monitor.update()
    snapshot = monitor.snapshot()
    [run] = snapshot.runs
    rows = ["".join(text for text, _ in row) for row in NotesScreen(snapshot, run, "dark").rows]
    assert sum(ADVICE in row for row in rows) == 2  # under the notices, and at the file
    assert any("unsupported" in row and ".aim/run_metadata.sqlite" in row for row in rows)
    bar = AlertBar()._content(snapshot, run)
    assert bar[1][1] is Role.WARNING
    assert "Aim repository, not read" in bar[1][0]
    done = subprocess.run(
        [sys.executable, "-m", "tuimon", "doctor", "--strict", str(aim)], capture_output=True, text=True
    )
    assert done.returncode == 5
    assert ADVICE in done.stdout


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Path:
    """A W&B run of which only files/ is left."""
    put(tmp_path / CLOUD, (data / CLOUD).read_bytes())
    return (tmp_path / CLOUD).parents[1]


def test_a_run_whose_metrics_are_on_a_server(run: Path, data: Path) -> None:
    with pytest.raises(NothingFound, match="its metrics are on W&B's server alone"):
        open_run(run)
    metrics(run.parents[1] / "other" / "metrics.jsonl")
    heard = Heard().feed(everything(Collector([str(run.parents[1])])))
    assert [Path(found.path).name for found in heard.runs.values()] == ["other"]
    [notice] = heard.notices
    assert "W&B run without its metrics, not read" in notice.message
    found = recognise(
        "/x/swanlog/run-20261121_014524-37c89120/files/swanlab-metadata.json",
        next((data / "cloud" / "swanlog").rglob("*.json")).read_bytes(),
    )
    assert found is not None
    assert "cloud mode" in found.unsupported


def test_nothing_is_said_of_a_run_that_has_its_metrics(run: Path, data: Path) -> None:
    put(run / "run-a1b2c3d4.wandb", (data / "wandb" / "core_0_17.wandb").read_bytes())
    collector = Collector([str(run)])
    heard = Heard().feed(everything(collector))
    assert heard.points
    assert not heard.notices
    assert not collector.partly_unreadable


def test_a_run_that_has_just_begun_gets_its_time(run: Path, data: Path) -> None:
    os.utime(run / "files" / "wandb-metadata.json")
    metrics(run.parents[1] / "other" / "metrics.jsonl")
    collector = Collector([str(run.parents[1])])
    heard = Heard().feed(everything(collector))
    assert not heard.notices
    put(run / "run-a1b2c3d4.wandb", (data / "wandb" / "core_0_17.wandb").read_bytes(), age=0)
    heard.feed(everything(collector))
    assert not heard.notices
    assert not collector.partly_unreadable
    assert any(".wandb::" in name for name in heard.points)
