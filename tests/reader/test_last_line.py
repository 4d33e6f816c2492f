"""The end of a log: a last line without a newline, and half a record. More of them: directories/last_lines.toml."""

from __future__ import annotations

import os
import time
from collections.abc import Container
from pathlib import Path

import pytest

from tuimon.analysis.log_files import damage_of
from tuimon.model.points import Points
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.reader import Collector
from tuimon.sources import writers

LOGS = {
    "train.log": "".join(f"step {step} loss {step / 8}\n" for step in range(1, 9)),
    "metrics.csv": "step,loss\n" + "".join(f"{step},{step / 8}\n" for step in range(1, 9)),
}
LAST = {"train.log": "step 9 loss 0.75", "metrics.csv": "9,0.75"}


def write(path: Path, text: str, age: float) -> None:
    path.write_text(text)
    os.utime(path, times=(time.time() - age,) * 2)


@pytest.mark.parametrize("name", LOGS)
def test_line_that_goes_on_after_all_is_read_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, LOGS[name] + LAST[name], 100)
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    path.write_text(LOGS[name] + LAST[name] + "25\n" + LAST[name].replace("9", "10", 1) + "\n")
    for _ in range(3):
        monitor.update()
    curve = monitor.snapshot().runs[0].curve("loss")
    assert curve.steps.tolist() == list(range(1, 11))
    assert curve.values.tolist()[7:] == [1.0, 0.7525, 0.75]


@pytest.mark.parametrize("name", LOGS)
def test_last_line_of_a_log_that_is_held_open_is_not_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, LOGS[name] + LAST[name], 3600)
    with path.open("a"):
        os.utime(path, times=(time.time() - 3600,) * 2)
        monitor = LocalMonitor([tmp_path])
        for _ in range(2):
            monitor.update()
            assert len(monitor.snapshot().runs[0].curve("loss")) == 8


def test_writers_of_all_logs_are_searched_for_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[set[str]] = []

    search_of = writers._open_files

    def search(process: str, by_name: Container[str]) -> list[tuple[tuple[int, int], str]]:
        if os.path.basename(process) == str(os.getpid()):
            searches.append(set(by_name))
        return search_of(process, by_name)

    monkeypatch.setattr(writers, "_open_files", search)
    paths = {str(tmp_path / str(run) / "train.log") for run in range(3)}
    for path in map(Path, paths):
        path.parent.mkdir()
        write(path, LOGS["train.log"] + LAST["train.log"], 3600)
    runs = open_run(tmp_path).runs
    assert [run.curve("loss").values.tolist()[-1] for run in runs] == [0.75] * 3
    assert len(searches) == 1
    searches.clear()
    collector = Collector([str(tmp_path)])
    assert list(collector.find())
    items = [item for _, item in collector.in_file_order() if isinstance(item, Points)]
    assert sum(9 in item.steps for item in items) == 3
    assert len(searches) == 1


DATA = Path(__file__).parent.parent / "data"


@pytest.mark.parametrize(
    "source",
    ["tensorboard/lightning", "wandb/python_0_17.wandb", "swanlab/gpu_0_10.swanlab", "visualdl/run/train"],
)
def test_file_that_ends_within_a_record(tmp_path: Path, source: str) -> None:
    given = DATA / source
    original = given if given.is_file() else next(given.glob("*.*"))
    log = tmp_path / original.name

    def damage_of_first(size: int, age: float) -> str:
        log.write_bytes(original.read_bytes()[:size])
        os.utime(log, times=(time.time() - age,) * 2)
        return damage_of(open_run(tmp_path).runs[0])

    size = original.stat().st_size
    assert damage_of_first(size, 7200) == ""
    assert damage_of_first(size - 3, 60) == "", "it may be renewed"
    assert damage_of_first(size - 3, 7200).startswith("ends within a record, ")
    with log.open("ab"):
        assert damage_of(open_run(tmp_path).runs[0]) == "", "a process holds it open"
