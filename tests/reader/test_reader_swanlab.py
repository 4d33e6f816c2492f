"""SwanLab's local logs: each metric has its name, whenever the name appears in the database."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tarfile
from pathlib import Path

import pytest
from support.event_reading import EventLog, read_all
from support.log_writer import number

from tuimon.model.points import Points
from tuimon.monitor.local import open_run
from tuimon.reader import Collector

DATA = Path(__file__).parent.parent / "data" / "swanlab"
RUN = "run-20261121_013717-7f3mn2nk"


def rows(*points: tuple[int, float]) -> str:
    written = ({"index": step, "data": value, "create_time": "2026-11-21T01:37:20Z"} for step, value in points)
    return "".join(json.dumps(row) + "\n" for row in written)


@pytest.fixture
def swanlog(tmp_path: Path) -> Path:
    """A swanlog directory with an active run that has no metric yet."""
    with sqlite3.connect(tmp_path / "runs.swanlab") as database:
        database.execute("create table experiment (id integer, run_id text, name text, status integer)")
        database.execute("create table tag (experiment_id integer, name text, folder text)")
        database.execute("insert into experiment values (1, ?, 'first', 0)", [RUN])
    database.close()
    return tmp_path


def tag(swanlog: Path, name: str, folder: str) -> None:
    with sqlite3.connect(swanlog / "runs.swanlab") as database:
        database.execute("insert into tag values (1, ?, ?)", [name, folder])
    database.close()


def log(swanlog: Path, folder: str, name: str = "1000.log") -> Path:
    path = swanlog / RUN / "logs" / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def in_file_order(collector: Collector) -> list[tuple[str, Points]]:
    return [(source, item) for source, item in collector.in_file_order() if isinstance(item, Points)]


@pytest.fixture(params=["swanlab_local", "swanlab_0_7_local"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, list[tuple[int, str]]]]:
    with tarfile.open(DATA / f"{request.param}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    with gzip.open(DATA / f"{request.param}.json.gz", "rt", encoding="utf-8") as file:
        truth = json.load(file)
    return tmp_path, {key: [(step, repr(number(value))) for step, value, _ in truth[key]] for key in truth}


def test_every_series_of_real_runs_is_read_under_its_name(
    case: tuple[Path, dict[str, list[tuple[int, str]]]],
) -> None:
    root, truth = case
    collector = Collector([str(root)])
    assert EventLog().feed(read_all(collector)).points == truth


def test_files_of_a_metric_are_one_series_in_the_order_of_their_numbers(swanlog: Path) -> None:
    tag(swanlog, "loss", "1")
    for name, step in (("10000.log", 9999), ("2000.log", 1000), ("1000.log", 0)):
        log(swanlog, "1", name).write_text(rows((step, 0.5), (step + 1, 1.5)))
    collector = Collector([str(swanlog)])
    heard = EventLog().feed(read_all(collector))
    wanted = [(0, "0.5"), (1, "1.5"), (1000, "0.5"), (1001, "1.5"), (9999, "0.5"), (10000, "1.5")]
    assert heard.points == {f"{RUN}/logs::loss": wanted}
    collector = Collector([str(swanlog)])
    list(collector.find())
    assert [step for _, item in in_file_order(collector) for step in item.steps.tolist()] == [s for s, _ in wanted]


def test_an_early_name_is_corrected(swanlog: Path) -> None:
    path = log(swanlog, "1")
    path.write_text(rows((0, 0.5)))
    collector = Collector([str(swanlog)])
    heard = EventLog().feed(read_all(collector))
    assert heard.points == {f"{RUN}/logs::logs/1": [(0, "0.5")]}
    export = Collector([str(swanlog)])
    list(export.find())
    exported = [(source, item.names[0], item.steps.tolist()) for source, item in in_file_order(export)]
    assert exported == [(f"{RUN}/logs", "logs/1", [0])], "an export does not wait for a name"
    tag(swanlog, "loss", "1")
    with path.open("a") as file:
        file.write(rows((1, 1.5)))
    heard.feed(collector.read())
    assert heard.points == {f"{RUN}/logs::loss": [(0, "0.5"), (1, "1.5")]}
    assert heard.replaced == 1
    assert [run.name for run in open_run(str(swanlog)).runs] == ["first"], "the name of the experiment"


def test_a_step_logged_twice_replaces_the_first(swanlog: Path) -> None:
    """SwanLab since 0.8 writes a new file next to the old one and renames it."""
    tag(swanlog, "loss", "1")
    path = log(swanlog, "1")
    points = [(step, step / 8) for step in range(100)]
    path.write_text(rows(*points))
    collector = Collector([str(swanlog)])
    heard = EventLog().feed(read_all(collector))
    points[50] = (50, 7.25)  # as long as before, so head, tail and size are the same
    temporary = path.with_name("temporary")
    temporary.write_text(rows(*points))
    temporary.replace(path)
    with path.open("a") as file:
        file.write(rows((100, 2.5)))
    heard.feed(collector.read())
    points.append((100, 2.5))
    assert heard.points == {f"{RUN}/logs::loss": [(step, repr(value)) for step, value in points]}


def test_a_single_folder_can_be_opened_and_one_with_media_has_no_metric(swanlog: Path) -> None:
    tag(swanlog, "loss", "1")
    tag(swanlog, "samples", "2")
    media = log(swanlog, "2")
    media.write_text('{"index": 0, "data": ["000.txt"], "create_time": "2026-11-21T01:37:20Z"}\n')
    heard = EventLog().feed(read_all(Collector([str(media)])))
    assert not heard.points
    assert [status.state for status in heard.status.values()] == ["current"]
    path = log(swanlog, "1")
    path.write_text(rows((3, 0.5)))
    for asked, source in ((path, "1000.log"), (path.parent, ".")):
        assert EventLog().feed(read_all(Collector([str(asked)]))).points == {f"{source}::loss": [(3, "0.5")]}
