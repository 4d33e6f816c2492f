"""SwanLab: run files of versions 0, 1 and 2, local logs, and runs.swanlab, which holds their names."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_reading import EventLog, read_all
from support.json_points import facts, series
from support.log_writer import SWANLAB, damage, decode, field, framed, number, wall_times

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import recognise
from tuimon.formats.swanlab.run_file import SwanLabStoreDecoder
from tuimon.reader import Collector, naming
from tuimon.reader.naming import LogPath, SwanLabNames, log_path, swanlab_names
from tuimon.sources.sqlite_copy import database_signature, private_copy

DATA = Path(__file__).parent.parent / "data" / "swanlab"
CASES = ("swanlab_local", "swanlab_0_7_local")
V2 = SWANLAB + b"\x02"


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A directory with a swanlog/, and the true points of its files."""
    root = tmp_path_factory.mktemp(request.param)
    with tarfile.open(DATA / f"{request.param}.tar.gz") as archive:
        archive.extractall(root, filter="data")
    with gzip.open(DATA / f"{request.param}.json.gz", "rt", encoding="utf-8") as file:
        return root, json.load(file)


@cache
def archived(name: str, ending: str) -> bytes:
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        member = next(member for member in archive.getmembers() if member.name.endswith(ending))
        file = archive.extractfile(member)
        assert file is not None
        return file.read()


def killed() -> bytes:
    """A version 2 file of a killed run: it ends with the header of a chunk without content."""
    return archived("swanlab_local", "run-2cwy8zz8.swanlab")


def backup() -> bytes:
    """A version 1 file."""
    return archived("swanlab_0_7_local", "backup.swanlab")


def oldest() -> bytes:
    """A version 0 file of 0.6.4, offline mode."""
    return gzip.decompress((DATA / "swanlab_0_6_4_backup.swanlab.gz").read_bytes())


def true_points(points: list[Any]) -> list[tuple[int, str]]:
    return [(step, repr(number(value))) for step, value, _ in points]


def test_run_files_equal_swanlabs_own_reader(case: tuple[Path, dict[str, Any]]) -> None:
    root, truth = case
    for source in {key.partition("::")[0] for key in truth if ".swanlab::" in key}:
        items = decode(SwanLabStoreDecoder(), (root / source).read_bytes())
        wanted = {key.partition("::")[2]: points for key, points in truth.items() if key.startswith(source + "::")}
        assert series(items) == {metric: true_points(points) for metric, points in wanted.items()}
        assert not damage(items)
        times = wall_times(items)
        for metric, points in wanted.items():
            if points[0][2] is not None:
                assert times[metric] == pytest.approx([time for _, _, time in points], abs=1e-3)
            assert all(1.79e9 < time < 1.8e9 for time in times[metric])


def test_every_series_of_real_runs_is_read_under_its_name(case: tuple[Path, dict[str, Any]]) -> None:
    root, truth = case
    heard = EventLog().feed(read_all(Collector([str(root)])))
    assert heard.points == {key: true_points(points) for key, points in truth.items()}


def test_run_facts_from_runs_swanlab(case: tuple[Path, dict[str, Any]]) -> None:
    runs = swanlab_names(case[0] / "swanlog" / "runs.swanlab")
    assert {(run.name, run.state) for run in runs.values()} in (
        {("run-local", "finished"), ("run-local-killed", "running")},
        {("run-07-local", "finished")},
    )
    with pytest.raises(FileNotFoundError):
        swanlab_names(case[0] / "runs.swanlab")


def path_of(root: Path, folder: str) -> LogPath:
    found = log_path(f"{root}/run-a/logs/{folder}/1000.log")
    assert found is not None
    return found


def test_names_come_from_the_database_and_remain_if_it_becomes_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows are only in the WAL. A damaged database is copied once."""
    database = tmp_path / "runs.swanlab"
    loss, later = path_of(tmp_path, "1"), path_of(tmp_path, "2")
    names = SwanLabNames()
    assert names.metric(path_of(tmp_path, "critic%2Fscore%20mean")) == ("critic/score mean", True)
    assert log_path("/somewhere/else/1000.log") is None
    database.write_bytes(b"not a database, but long enough to be looked at as one" * 20)
    assert names.metric(loss) == ("logs/1", False)
    database.unlink()
    with sqlite3.connect(database) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute("create table experiment (id integer, run_id text, name text, status integer)")
        writer.execute("create table tag (experiment_id integer, name text, folder text)")
        writer.commit()
        writer.execute("pragma wal_checkpoint")
        writer.execute("insert into experiment values (1, 'run-a', 'first', 0)")
        writer.execute("insert into tag values (1, 'train/loss', '1')")
        writer.commit()
        assert names.metric(loss) == ("train/loss", True)
        assert names.metric(later) == ("logs/2", False)
        run = names.run(loss)
        assert run is not None
        assert (run.name, run.state) == ("first", "running")
        writer.execute("insert into tag values (1, 'eval/acc', '2')")
        writer.commit()
        assert names.metric(later) == ("eval/acc", True)
    writer.close()
    read: list[Any] = []
    monkeypatch.setattr(naming, "swanlab_names", lambda where: read.append(where) or swanlab_names(where))
    database.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    os.utime(database, (1, 1))
    assert [names.metric(loss) for _ in range(3)] == [("train/loss", True)] * 3
    assert len(read) == 1


def test_a_copy_of_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "runs.swanlab"
    path.write_bytes(b"")
    with pytest.raises(Unfinished), private_copy(str(path)):
        pass
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(FormatError), private_copy(str(path)) as connection:
        connection.execute("select * from tag")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="FIFO"), private_copy(str(fifo)):
        pass


def test_a_half_written_change_is_undone_in_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    with sqlite3.connect(path) as setup:
        setup.execute("create table t (x text)")
        setup.executemany("insert into t values (?)", [("old" * 300,)] * 200)
    setup.close()
    writer = sqlite3.connect(path)
    writer.execute("pragma cache_size = 2")  # so that changed pages reach the file before the commit
    writer.execute("update t set x = 'new'")
    assert database_signature(str(path))[2] is not None  # there is a journal
    try:
        with private_copy(str(path)) as connection:
            assert {row[0][:3] for row in connection.execute("select x from t")} == {"old"}
    finally:
        writer.rollback()
        writer.close()


def test_facts_of_run_files() -> None:
    """Of versions 2 and 1, whose records name the folders of their metrics, and of a killed run."""
    items = decode(SwanLabStoreDecoder(), (DATA / "gpu_0_10.swanlab").read_bytes())
    [writer], [metrics] = facts(items, "writer"), facts(items, "metrics")
    wanted = {"version": "0.10.3", "project": "tuimon-gpu", "run_name": "gpu-run", "run_id": "8ts3rniv"}
    assert wanted.items() <= writer.items()
    memory = {"title": "GPU 1", "range": [0.0, 144384.0], "system": True}
    assert metrics["__swanlab__.gpu.1.mem.value"] == memory
    assert [state["state"] for state in facts(items, "state")] == ["finished"]
    assert len(series(items)["loss"]) == 14
    assert series(items)["__swanlab__.gpu.0.pct"][0][0] == 0
    assert "swanlab: Tracking run with swanlab version 0.10.3" in facts(items, "console")[0]["lines"]
    items = decode(SwanLabStoreDecoder(), backup())
    [writer], [metrics] = facts(items, "writer"), facts(items, "metrics")
    assert (metrics["__swanlab__.cpu.pct"]["folder"], metrics["train/loss"]["folder"]) == ("0", "11")
    assert writer["version"] == "0.7.20"
    assert [state["state"] for state in facts(items, "state")] == ["finished"]
    assert not facts(decode(SwanLabStoreDecoder(), killed()), "state")


def test_every_point_of_a_store_of_version_0_is_what_was_logged() -> None:
    """0.6.4 writes nested names with dots, the first value of a step that was logged twice, and infinities without
    their sign."""
    assert oldest()[:7] == b":SWL\xd6\xe1\x00"
    logged = json.loads(gzip.decompress((DATA / "swanlab_0_6_4_backup.json.gz").read_bytes()))
    items = decode(SwanLabStoreDecoder(), oldest())
    training = {name: points for name, points in series(items).items() if not name.startswith("__swanlab__.")}
    assert training == {
        name: [(position, "inf" if value == "-inf" else value) for position, value in of] for name, of in logged.items()
    }
    [writer] = facts(items, "writer")
    assert (writer["version"], writer["run_name"]) == ("0.6.4", "v0")
    assert [state["state"] for state in facts(items, "state")] == ["finished"]
    version_0 = backup()[:6] + b"\x00" + backup()[7:]  # 0.6.2
    assert series(decode(SwanLabStoreDecoder(), version_0)) == series(decode(SwanLabStoreDecoder(), backup()))


def scalar(key: str, step: int, value: float) -> bytes:
    """A scalar as proto3 writes it: step 0 and value 0.0 have no field."""
    body = field(1, key) + (field(2, step) if step else b"") + field(4, field(1, 1_700_000_000) + field(2, 5 * 10**8))
    return field(1, 7) + field(13, body + field(5, field(1, value) if value else b""))


def json_scalar(key: str, step: int, value: Any) -> bytes:
    metric = {"index": step, "data": value, "create_time": "2026-11-21T01:41:46.5+00:00"}
    record = {"model_type": "Scalar", "data": {"metric": metric, "key": key, "step": step, "epoch": 1}}
    return json.dumps(record).encode() + b"\n"


def test_two_threads_writing_over_each_other() -> None:
    """SwanLab does not lock between its threads: parts of one record may be inside another."""
    data = framed(V2, [scalar("loss", step, step + 0.5) for step in range(2000)])
    for position in range(9000, 9100, 7):
        mixed = data[:position] + scalar("other", 1, 2.0)[:40] + data[position:]
        items = decode(SwanLabStoreDecoder(), mixed, range(0, len(mixed), 5000))
        actual = series(items)["loss"]
        assert len(actual) >= 1999
        assert len(damage(items)) == 1


def test_values_of_records() -> None:
    """Proto3 omits zeros; each version writes other words for non-finite numbers in JSON."""
    items = decode(SwanLabStoreDecoder(), framed(V2, [scalar("a", 0, 0.0), scalar("a", -3, -0.5)]))
    assert series(items) == {"a": [(0, "0.0"), (-3, "-0.5")]}
    assert wall_times(items) == {"a": [1_700_000_000.5] * 2}
    words = {"NaN": "nan", "INF": "inf", "Infinity": "inf", "-Infinity": "-inf", 3: "3.0", float("nan"): "nan"}
    items = decode(SwanLabStoreDecoder(), framed(V2, [json_scalar("x", 1, written) for written in words]))
    assert series(items) == {"x": [(1, value) for value in words.values()]}


@st.composite
def odd_and_usual_scalars(draw: st.DrawFn) -> bytes:
    """A scalar record with absent fields, another order of fields, or unexpected bytes between them."""
    number = st.integers(-(2**63), 2**63 - 1)
    seconds, nanos = draw(st.integers(0, 2**33)), draw(st.integers(0, 999_999_999))
    stamp = field(1, seconds) + (field(2, nanos) if nanos else b"")
    key = field(1, draw(st.text(max_size=70)))
    step = draw(st.sampled_from([b"", field(2, draw(number))]))
    kind = draw(st.sampled_from([field(3, 1), field(3, 300), b""]))
    time = field(4, draw(st.sampled_from([stamp, stamp, b""])))
    value = draw(st.sampled_from([field(5, field(1, draw(st.floats()))), field(5, b""), b""]))
    parts = [key, step, kind, time, value]
    if draw(st.integers(0, 9)) == 0:
        parts = draw(st.permutations([*parts, draw(st.binary(max_size=4))]))
    return field(1, draw(st.integers(1, 2**31))) + field(2, stamp) + field(13, b"".join(parts))


@given(st.lists(odd_and_usual_scalars(), min_size=20, max_size=30))
def test_scalars_decoded_together_equal_those_decoded_singly(records: list[bytes]) -> None:
    ends = [len(framed(V2, records[:count])) for count in range(len(records))]
    together, alone = (
        decode(SwanLabStoreDecoder(), framed(V2, records)),
        decode(SwanLabStoreDecoder(), framed(V2, records), ends),
    )
    assert series(together) == series(alone)
    assert repr(wall_times(together)) == repr(wall_times(alone))
    assert damage(together) == damage(alone)


def test_bad_records_are_counted_and_their_neighbours_kept() -> None:
    bad = [b"{not json", b'{"model_type": "Scalar", "data": {"metric": 3}}', b'["list"]', b'{"data": []}', b"\xff" * 30]
    bad += [json_scalar("x", 1, "text"), json_scalar("x", 2**70, 1), field(13, field(2, 1)), b""]
    records = [part for record in bad for part in (scalar("loss", 1, 1.0), record)]
    items = decode(SwanLabStoreDecoder(), framed(V2, records))
    assert series(items) == {"loss": [(1, "1.0")] * len(bad)}
    assert len(damage(items)) == len(bad) - 1  # an empty record is an empty message


def test_stores_are_recognised_by_their_first_bytes() -> None:
    actual = recognise("any.swanlab", killed()[:4096])
    assert actual is not None
    assert actual.id == "swanlab"
    assert recognise("runs.swanlab", b"SQLite format 3\0" + bytes(100)) is None
