"""Tables through the Arrow PyCapsule interface, read by pyarrow, pandas, polars and duckdb."""

from __future__ import annotations

import gc
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tuimon

pyarrow = pytest.importorskip("pyarrow")
Row = tuple[Any, ...]


@pytest.fixture
def runs(tmp_path: Path) -> tuimon.Snapshot:
    for name, count in (("a", 30), ("b", 20)):
        (tmp_path / name).mkdir()
        rows = [{"step": s, "timestamp": 1.7e9 + s, "loss": s / 7, "reward": -s / 3} for s in range(count)]
        text = "".join(json.dumps(row) + "\n" for row in rows) + '{"step": 99, "loss": NaN}\n'
        (tmp_path / name / "metrics.jsonl").write_text(text)
    return tuimon.read(tmp_path)


def expected(run: tuimon.Run) -> list[Row]:
    return [
        (name, *map(repr, point))
        for name, metric in run.items()
        for point in zip(*(column.tolist() for column in metric), strict=True)
    ]


def as_rows(columns: list[list[Any]]) -> list[Row]:
    return [(str(row[0]), *map(repr, row[1:])) for row in zip(*columns, strict=True)]


def test_pyarrow_reads_every_point_without_a_copy(runs: tuimon.Snapshot) -> None:
    run = runs["a"]
    table = pyarrow.table(run.table())
    assert as_rows([table[name].to_pylist() for name in ("metric", "step", "value", "wall_time")]) == expected(run)
    assert table.schema == pyarrow.schema(run.table())
    for number, (_, metric) in enumerate(run.items()):
        for name, column in zip(("step", "value", "wall_time"), metric, strict=True):
            assert table[name].chunk(number).buffers()[1].address == column.ctypes.data


def test_other_libraries_read_every_point(runs: tuimon.Snapshot) -> None:
    wanted = expected(runs["a"])
    pandas = pytest.importorskip("pandas", "3")
    frame = pandas.DataFrame.from_arrow(runs["a"].table())
    assert as_rows([frame[name].tolist() for name in frame]) == wanted
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(runs["a"].table())
    assert as_rows([frame[name].to_list() for name in frame.columns]) == wanted
    duckdb = pytest.importorskip("duckdb")
    points = runs["a"].table()
    with duckdb.connect() as connection:
        connection.register("points", points)
        rows = connection.sql("select * from points").fetchall()
        assert sorted((name, *map(repr, rest)) for name, *rest in rows) == sorted(wanted)
        connection.register("again", runs["a"].table())
        assert connection.sql("select count(*) from again where value < -1").fetchall() == [(26,)]


def test_points_outlive_the_runs(runs: tuimon.Snapshot, tmp_path: Path) -> None:
    wanted = expected(runs["a"])
    other = tuimon.read(tmp_path)
    table = pyarrow.table(other["a"].table())
    del other
    gc.collect()
    assert as_rows([table[name].to_pylist() for name in table.column_names]) == wanted


def test_a_table_of_some_metrics_or_of_all_runs(runs: tuimon.Snapshot) -> None:
    assert [len(runs["a"].table(names)) for names in (["reward"], "reward", ())] == [30, 30, 0]
    assert pyarrow.table(runs["a"].table(())).num_rows == 0
    assert set(pyarrow.table(runs["a"].table(["reward"]))["metric"].to_pylist()) == {"reward"}
    for of in (runs["a"], runs):
        with pytest.raises(KeyError, match="kl"):
            of.table(["loss", "kl"])
    table = pyarrow.table(runs.table(["loss"]))
    assert table.column_names == ["run", "metric", "step", "value", "wall_time"]
    assert sorted(table["run"].to_pylist()) == ["a"] * 31 + ["b"] * 21
    assert sum(map(math.isnan, table["value"].to_pylist())) == 2
    again = runs["a"].table()
    assert repr(pyarrow.table(again).to_pylist()) == repr(pyarrow.table(again).to_pylist())
    assert repr(again) == "<Table of 61 rows in 2 batches>"


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n')
    code = "import sys; sys.modules['pyarrow'] = None\nimport tuimon\n"
    code += f"try: tuimon.read({str(tmp_path)!r})[0].table().__arrow_c_stream__()\n"
    code += "except tuimon.TuimonError as error: print(error, error.hint)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Arrow tables need pyarrow Run: pip install 'tuimon[arrow]'\n"
