"""The last line of a log that has ended without a newline: read once the file has not changed for long."""

from __future__ import annotations

import os
import time
from collections.abc import Container
from pathlib import Path

import pytest

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


BUFFER = "x" * (4096 - len(LOGS["train.log"] + LAST["train.log"]) - 1) + "\n"
FULL = ["0.41589", "0.6931471805599453", "0.5493061443340549", "0.46249812"]
LINES, ROWS = ("".join(form.format(*row) for row in enumerate(FULL)) for form in ("step {} loss {}\n", "{},{}\n"))
FORMS = "step 0 lr 2.5e-06 loss 0.000\nstep 1 lr 2.1e-06 loss 0.125\n"


@pytest.mark.parametrize(
    ("name", "text", "age", "points", "last"),
    [
        *((name, LOGS[name] + LAST[name], 3600, 9, 0.75) for name in LOGS),
        *((name, LOGS[name] + LAST[name], 5, 8, 1.0) for name in LOGS),  # perhaps it is being written
        # as long as the shortest number before it; one that is shorter than all of them may be cut
        ("train.log", LINES + "step 4 loss 0.40547", 3600, 5, 0.40547),
        ("train.log", LINES + "step 4 loss 0.4054", 3600, 4, 0.46249812),
        ("train.csv", f"step,loss\n{ROWS}4,0.40547", 3600, 5, 0.40547),
        ("train.csv", f"step,loss\n{ROWS}4,0.4054", 3600, 4, 0.46249812),
        ("train.log", FORMS + "step 2 lr 1e-07 loss 0.062", 3600, 3, 0.062),  # another number has another form
        *(("train.log", LOGS["train.log"] + "step 9 loss" + torn, 3600, 8, 1.0) for torn in (" 0.", " 1e-", "", "=")),
        ("train.log", BUFFER + LOGS["train.log"] + LAST["train.log"], 3600, 8, 1.0),  # cut where a buffer was written
        ("metrics.csv", "step,loss,lr\n1,0.5,0.1\n2,0.25,0.1\n3,0.12", 3600, 2, 0.25),
    ],
)
def test_last_line_is_read_once_it_is_sure_to_be_whole(
    tmp_path: Path, name: str, text: str, age: float, points: int, last: float
) -> None:
    write(tmp_path / name, text, age)
    curve = open_run(tmp_path).runs[0].curve("loss")
    assert (len(curve), curve.values[-1]) == (points, last)


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


def test_rows_that_wait_for_a_bar_are_read_once_the_log_has_ended(tmp_path: Path) -> None:
    bar = "\r 10%|#   | {}/40 [00:10<01:30, 10.00it/s]\n"
    rows = "".join(f"{{'loss': {step / 8}}}\n{bar.format(step)}" for step in (10, 20))
    path = tmp_path / "train.log"
    write(path, bar.format(0) + rows + "{'loss': 3.75}\n{'loss': 5.0}\n", 5)
    assert open_run(tmp_path).runs[0].curve("loss").steps.tolist() == [10, 20]
    write(path, path.read_text(), 3600)
    assert open_run(tmp_path).runs[0].curve("loss").steps.tolist() == [10, 20, 30, 40]
