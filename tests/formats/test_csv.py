"""Separated tables: points and steps of cells, recognition, growth and rewrites."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import damage, facts, feed, rows, series

from tuimon.formats import recognise
from tuimon.formats.tables import csv as csv_table
from tuimon.formats.tables import dvclive, headerless, sb3_monitor
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.model.events import Columns, Event, MetricsFound, SegmentStarted, StreamFound, StreamReplaced, StreamStatus
from tuimon.model.points import Points, SegmentStart
from tuimon.monitor.local import open_run
from tuimon.reader import Collector

DATA = Path(__file__).parent.parent / "data" / "csv"
FILES = [path for path in sorted(DATA.rglob("*")) if path.suffix in (".csv", ".log", ".tsv")]


def truth(path: Path) -> dict[str, dict[str, list[tuple[int, str]]]]:
    with gzip.open(path, "rt") as file:
        logged: dict[str, dict[str, list[list[Any]]]] = json.load(file)
    return {
        source: {metric: [(int(step), repr(float(value))) for step, value in points] for metric, points in of.items()}
        for source, of in logged.items()
    }


def read(text: str | bytes) -> dict[str, list[tuple[int, str]]]:
    return series(feed(TableDecoder(), text.encode() if isinstance(text, str) else text))


def segments(items: list[Any]) -> int:
    return sum(isinstance(item, SegmentStart) for item in items)


# ---------------------------------------------------------------------- real files


@pytest.mark.parametrize("path", [name for name in truth(DATA / "truth.json.gz") if "sb3" not in name])
def test_every_logged_point_is_read(path: str) -> None:
    assert read((DATA / path).read_bytes()) == truth(DATA / "truth.json.gz")[path]


@pytest.mark.parametrize("path", ["sb3/progress.csv", "sb3/monitor.csv"])
def test_stable_baselines3_prints_short_float32(path: str) -> None:
    metrics, logged = read((DATA / path).read_bytes()), truth(DATA / "truth.json.gz")[path]
    assert metrics.keys() == logged.keys()
    for metric, points in logged.items():
        assert [step for step, _ in metrics[metric]] == [step for step, _ in points]
        for (_, ours), (_, theirs) in zip(metrics[metric], points, strict=True):
            assert math.isclose(float(ours), float(theirs), rel_tol=2e-7)


def test_monitor_episodes_have_wall_times() -> None:
    items = feed(TableDecoder(), b'#{"t_start": 1795224133.5, "env_id": "CartPole-v1"}\nr,l,t\n1.0,9,0.25\n2.0,8,1.5\n')
    assert rows(items) == [
        (name, step, value, time)
        for step, time, values in (
            (0, "1795224133.75", ("1.0", "9.0", "0.25")),
            (1, "1795224135.0", ("2.0", "8.0", "1.5")),
        )
        for name, value in zip("rlt", values, strict=True)
    ]


# ---------------------------------------------------------------------- cells, steps and rows

RAY = (
    "loss,timestamp,checkpoint_dir_name,done,training_iteration,trial_id,date,time_total_s,pid,hostname,node_ip,tag\n"
    "0.5,1795224133,checkpoint_000000,False,1,5b4f3_00000,2026-11-21_01-41-19,2.5,4711,vm,10.0.0.1,0_lr=0.1\n"
)

NUMBERS = st.one_of(
    st.floats(width=64).map(repr),
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(["nan", "NaN", "inf", "-inf", "+Infinity", "1e5", "1E-7", ".5", "5.", "+2", "007", " 1.5 ", "-0"]),
)
TEXTS = st.sampled_from(["", "NA", "N/A", "None", "abc", "1 2", "1_000", "true", "0x10", "2026-11-21", "é", "--"])
QUOTED = st.sampled_from(['"0.5"', '"a,b"', '"say ""hi"""', '"nan"'])
CELLS = st.one_of(NUMBERS, NUMBERS, TEXTS, QUOTED)


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """(separator, rows of cells that are not a header)"""
    separator = draw(st.sampled_from([",", ";", "\t"]))
    columns = draw(st.integers(1, 4))
    cells = st.lists(CELLS, min_size=columns, max_size=columns)
    return separator, draw(st.lists(cells, min_size=1, max_size=12))


def as_float(cell: str) -> float | None:
    """Parse a number as Python does, except that underscores are not allowed."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


@given(tables(), st.sampled_from(["\n", "\r\n"]), st.data())
def test_cells_are_read_as_pythons_own_readers_do(
    table: tuple[str, list[list[str]]], end: str, data: st.DataObject
) -> None:
    separator, body = table
    names = [f"m{index}" for index in range(len(body[0]))]
    lines = [separator.join(["step", *names])]
    lines += [separator.join([str(7 * number), *cells]) for number, cells in enumerate(body)]
    text = end.join([*lines, ""])
    wanted: dict[str, list[tuple[int, str]]] = {}
    for row in csv.DictReader(io.StringIO(text), delimiter=separator):
        for name in names:
            value = as_float(row[name])
            if value is not None:
                wanted.setdefault(name, []).append((int(row["step"]), repr(value + 0.0)))
    raw = text.encode()
    cuts = data.draw(st.lists(st.integers(1, len(raw)), max_size=8))
    assert series(feed(TableDecoder(), raw, cuts)) == wanted


def test_sparse_rows_share_a_step_and_keep_their_own_cells() -> None:
    assert read("epoch,step,lr,loss,val\n,4,0.1,,\n0,4,,1.5,\n0,4,,,nan\n") == {
        "lr": [(4, "0.1")],
        "epoch": [(4, "0.0"), (4, "0.0")],
        "loss": [(4, "1.5")],
        "val": [(4, "nan")],
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("epoch,loss\n0,1\n1,2\n", {"loss": [(0, "1.0"), (1, "2.0")]}),
        ("Epoch;Loss\n1;1\n", {"Loss": [(1, "1.0")]}),
        ("time/total_timesteps,x\n512,1\n", {"time/total_timesteps": [(512, "512.0")], "x": [(512, "1.0")]}),
        ("training_iteration,timesteps_total,x\n3,99,1\n", {"timesteps_total": [(3, "99.0")], "x": [(3, "1.0")]}),
        ("a,b\n5,6\n7,\n,8\n", {"a": [(0, "5.0"), (1, "7.0")], "b": [(0, "6.0"), (2, "8.0")]}),
        (",loss\n0,5\n1,6\n", {"loss": [(0, "5.0"), (1, "6.0")]}),
        ("step,loss\n3,5\n,6\n", {"loss": [(3, "5.0"), (3, "6.0")]}),
        (  # a float64 of 2**53 may be another integer: it is no step
            "step,loss\n9007199254740991,1\n9007199254740992,2\n",
            {
                "loss": [(2**53 - 1, "1.0"), (2**53 - 1, "2.0")],
                "step": [(2**53 - 1, "9007199254740992.0")],
            },
        ),
        ("epoch,loss\n0.5,1\n1.0,2\n", {"epoch": [(0, "0.5"), (1, "1.0")], "loss": [(0, "1.0"), (1, "2.0")]}),
        ("step,loss,loss\n1,2,3\n", {"loss": [(1, "2.0")], "loss.1": [(1, "3.0")]}),
        ("step,trial_id,date,loss\n1,12345,20261121,3\n", {"loss": [(1, "3.0")]}),
        ("    epoch,  train/loss\n        1,         0.5\n", {"train/loss": [(1, "0.5")]}),
        ('"Step","a, b - loss"\n"1","0.5"\n', {"a, b - loss": [(1, "0.5")]}),
        ("\ufeffstep,loss\r\n1,0.5\r\n", {"loss": [(1, "0.5")]}),
        ("step\tinf\n30\tinf\n31\t-inf\n", {"inf": [(30, "inf"), (31, "-inf")]}),
        ("step,loss\n\n1,0.5\n\0\0\0\n# note\n2,0.25\n", {"loss": [(1, "0.5"), (2, "0.25")]}),
        ("step,loss\n", {}),
        ("Schritt;Verlust\n0;3,5\n10;3,0\n", {"Verlust": [(0, "3.5"), (10, "3.0")]}),
        ("Unnamed: 0,step,loss\n0,5,1\n1,9,2\n", {"loss": [(5, "1.0"), (9, "2.0")]}),
        ("step,loss,status\n1,0.5,warmup\n2,0.25,7\n", {"loss": [(1, "0.5"), (2, "0.25")], "status": [(2, "7.0")]}),
        ("Upd,loss\n0,5\n20,6\n40,7\n", {"loss": [(0, "5.0"), (20, "6.0"), (40, "7.0")]}),
        ("Upd,loss\n0,5\n20,6\n", {}),
        ("Upd,loss\n20,5\n0,6\n", {"Upd": [(0, "20.0"), (1, "0.0")], "loss": [(0, "5.0"), (1, "6.0")]}),
        ("# step,loss\n3,1\n4,2\n", {"loss": [(3, "1.0"), (4, "2.0")]}),
        (
            "#  step    rmse   lr\n    0   1.5e+00  1e-3\n  100    nan 1e-4\n",
            {"rmse": [(0, "1.5"), (100, "nan")], "lr": [(0, "0.001"), (100, "0.0001")]},
        ),
        ("# a run, of mine\nstep,loss\n3,1\n", {"loss": [(3, "1.0")]}),
        (
            "Upd,loss\n0,5\n9,6\n8,7\n",
            {"Upd": [(0, "0.0"), (1, "9.0"), (2, "8.0")], "loss": [(0, "5.0"), (1, "6.0"), (2, "7.0")]},
        ),
    ],
)
def test_steps_and_names(text: str, wanted: dict[str, list[tuple[int, str]]]) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("epoch,loss\n0,2.5\n1,2.25\n", ["epoch"]),
        ("Epoch;time;loss\n1;3.5;2.5\n2;7;2.25\n", ["epoch"]),
        ("epoch,step,loss\n0,9,2.5\n0,19,2.25\n", []),
        ("epoch,loss\n0.5,2.5\n1.0,2.25\n", []),
        ("epoch,loss,lr\n0,2.5,1\nstep,loss,lr\n7,2.25,1\n", ["epoch", "step"]),
    ],
)
def test_steps_that_are_epochs_are_called_so(text: str, units: list[str]) -> None:
    data = text.encode()
    for size in (1, 7, len(data)):
        decoder = csv_table.FORMAT.decoder()
        items = [item for start in range(0, len(data), size) for item in decoder.feed(data[start : start + size])]
        assert [fact["unit"] for fact in facts([*items, *decoder.flush()], "progress")] == units


@pytest.mark.parametrize("first", ["", "0,1\n20,2\n"])
def test_a_header_after_few_rows_decides_about_their_table_only(first: str) -> None:
    decoder = TableDecoder()
    rows = "".join(f"{number},2,{number / 10}\n" for number in range(10, 100, 10))
    items = decoder.feed(f"Upd,loss\n{first}Upd,loss,acc\n{rows}".encode())
    assert [step for step, _ in series(items)["acc"]] == [*range(10, 100, 10)]


@pytest.mark.parametrize("third", [40, 30])
def test_first_column_that_rises_evenly_is_the_step(third: int) -> None:
    """Rows are read when three of them have decided it; a flush changes nothing."""
    first, more = "Upd,loss\n0,1\n20,2\n", f"{third},3\n60,4\n80,5\n"
    decoder = TableDecoder()
    assert [*decoder.feed(first.encode()), *decoder.flush()] == []
    assert "Upd" in decoder.remark
    points = series(decoder.feed(more.encode()))
    assert [step for step, _ in points["loss"]] == ([0, 20, 40, 60, 80] if third == 40 else [0, 1, 2, 3, 4])
    assert points == read(first + more)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_rows_too_few_to_decide_are_numbered_once_the_log_has_ended(end: bytes) -> None:
    decoder = TableDecoder()
    items = decoder.feed(b"Upd,loss\n0,1.5\n20,2.5" + end)
    assert series([*items, *decoder.end()])["loss"] == [(0, "1.5"), (1, "2.5")]


@pytest.mark.parametrize("cell", ["inf", "-inf", "nan", "1e300"])
def test_infinite_or_huge_numbers_are_not_a_first_column_of_steps(cell: str) -> None:
    text = f"Upd,loss\n{cell},1\n{cell},2\n40,3\n60,4\n80,5\n"
    assert [step for step, _ in read(text)["loss"]] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("step,loss\n0,1\n1,NA\n2,\n", ""),
        ("step,loss\n0,1\n1,OOM\n2,oom\n", "2 cells of loss are not numbers: OOM"),
        ("step,gpu,loss\n0,GPU0,1\n1,GPU0,x\n", "1 cell of loss is not a number: x"),
        ("step,loss,v\n0,1,1.2.3\n1,2,\n2,,4\n", "1 cell of v is not a number: 1.2.3"),
        ("a,loss\n5,1\n3,2\n", "no step recognised: 2 rows have their number as step"),
        ("r,l,t\n1,9,0.5\n", ""),
    ],
)
def test_remark_about_what_is_not_drawn(text: str, remark: str) -> None:
    decoder = TableDecoder()
    feed(decoder, text.encode())
    assert decoder.remark == remark


def test_times() -> None:
    text = "step,timestamp,time_s,loss\n1,1795224133,0.5,2\n2,,0.5,2\n"
    actual = rows(feed(TableDecoder(), text.encode()))
    assert [row for row in actual if row[0] == "loss"] == [
        ("loss", 1, "2.0", "1795224133.0"),
        ("loss", 2, "2.0", "nan"),
    ]
    assert {row[0] for row in actual} == {"time_s", "loss"}
    for first, second in (
        ("2026/11/21 10:00:00.5", "2026/11/21 10:00:01"),
        ("21.11.2026 10:00:00.5", "21.11.2026 10:00:01"),
        ("2026-11-21 10:00:00.5", "2026-11-21 10:00:01"),
    ):
        actual = rows(feed(TableDecoder(), f"\ufeffSchritt;loss;Zeit\n0;1;{first}\n1;2;{second}\n".encode()))
        begin = datetime(2026, 11, 21, 10).timestamp()
        assert actual == [("loss", 0, "1.0", repr(begin + 0.5)), ("loss", 1, "2.0", repr(begin + 1))]
    assert rows(feed(TableDecoder(), b"step,t,x\n1,1764060000.5,2\n")) == [("x", 1, "2.0", "1764060000.5")]
    assert [row[0] for row in rows(feed(TableDecoder(), b"step,t,x\n1,0.5,2\n2,1764060000,3\n"))] == ["t", "x"] * 2
    text = "Wall time,Step,Value\n2026-11-21T10:00:00+00:00,3,0.5\n"
    assert rows(feed(TableDecoder(), text.encode())) == [("Value", 3, "0.5", "1795255200.0")]


def test_rows_with_nul_bytes_in_or_around_them_are_damage() -> None:
    items = feed(TableDecoder(), b"step,loss\n0,0.5\n1,0\0\0.5\n\0\0\0002,0.25\0\n3,0.125\n")
    assert series(items) == {"loss": [(0, "0.5"), (3, "0.125")]}
    assert damage(items) == [(16, 8, "NUL bytes within a line"), (24, 11, "NUL bytes within a line")]


def test_row_of_another_length_is_damage_and_other_rows_are_kept() -> None:
    items = feed(TableDecoder(), b'step,loss\n1,0.5\n2,0.2,0.4\n3\n4,"0.1\n5,0.25\n')
    assert series(items) == {"loss": [(1, "0.5"), (5, "0.25")]}
    assert damage(items) == [
        (16, 10, "row with 3 cells instead of 2"),
        (26, 2, "row with 1 cells instead of 2"),
        (28, 7, "unclosed quote"),
    ]


def test_another_header_starts_a_segment() -> None:
    items = feed(TableDecoder(), b"step,loss,acc\n1,0.5,0\n2,0.25,0\nloss,step,acc,lr\n1,1,1,1\n")
    assert [type(item) for item in items] == [Points, SegmentStart, Points]
    assert series(items)["loss"] == [(1, "0.5"), (2, "0.25"), (1, "1.0")]


def test_second_header_without_a_first_name() -> None:
    """The form of pandas; rows below it have the new names, not those of the first header."""
    data = b",step,loss\n0,1,0.5\n,step,acc\n0,1,0.75\n"
    items = feed(TableDecoder(), data)
    assert [type(item) for item in items] == [Points, SegmentStart, Points]
    assert series(items) == {"loss": [(1, "0.5")], "acc": [(1, "0.75")]}


# ---------------------------------------------------------------------- rewritten tables


class Baselines3:
    """Writes a table as Stable-Baselines3's CSVOutputFormat does: a new key rewrites all in place, in 8 KiB pieces."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: list[str] = []
        self.rows: list[dict[str, float]] = []
        path.touch()

    def write(self, row: dict[str, float]) -> Iterator[None]:
        """Write a row; yield after each piece that has reached the disk."""
        fresh = [key for key in row if key not in self.keys]
        self.rows.append(row)
        if fresh:
            self.keys += fresh
            table = [
                self.keys,
                *(
                    [repr(logged_row[key]) if key in logged_row else "" for key in self.keys]
                    for logged_row in self.rows
                ),
            ]
            data, position = "".join(",".join(cells) + "\n" for cells in table).encode(), 0
        else:
            data, position = (
                (",".join(repr(row.get(key, "")) for key in self.keys) + "\n").encode(),
                self.path.stat().st_size,
            )
        with self.path.open("r+b", buffering=0) as file:
            for begin in range(0, len(data), 8192):
                file.seek(position + begin)
                file.write(data[begin : begin + 8192])
                yield


def series_of(events: list[Event]) -> dict[str, list[tuple[int, float]]]:
    """Return metric -> [(step, value)] of a single stream, as it is after all events."""
    names: dict[int, str] = {}
    result: dict[str, list[tuple[int, float]]] = {}
    for event in events:
        if isinstance(event, StreamReplaced):
            result.clear()
        elif isinstance(event, MetricsFound):
            names.update(enumerate(event.names, event.first))
        elif isinstance(event, Columns):
            position = 0
            for metric, count in zip(event.metric.tolist(), event.counts.tolist(), strict=True):
                part = slice(position, position + count)
                pairs = zip(event.steps[part].tolist(), event.values[part].tolist(), strict=True)
                result.setdefault(names[metric], []).extend(pairs)
                position += count
    return result


def test_reading_at_every_moment_of_a_growing_header(tmp_path: Path) -> None:
    """Includes moments within a rewrite, when the file holds new rows, half a row and old rows."""
    draw = random.Random(5)
    writer = Baselines3(tmp_path / "progress.csv")
    collector = Collector([str(tmp_path)])
    events: list[Event] = []
    keys = ["time/total_timesteps", "rollout/ep_rew_mean", "train/loss"]
    for number in range(600):
        if number in (3, 250, 420):
            keys.append(f"train/extra_{number}")
        row = {key: draw.random() for key in keys[1:]}
        for _ in writer.write({keys[0]: 512.0 * number, **row}):
            if number < 8 or number % 50 == 0 or number in (250, 420, 599):
                events += collector.find()
                events += collector.read()
    events += collector.flush()
    assert not any(isinstance(event, SegmentStarted) for event in events)
    wanted: dict[str, list[tuple[int, float]]] = {}
    for logged_row in writer.rows:
        for key, value in logged_row.items():
            wanted.setdefault(key, []).append((int(logged_row[keys[0]]), value))
    assert series_of(events) == wanted
    assert [event.damaged for event in events if isinstance(event, StreamStatus)][-1] == 0


def test_lightning_rewrites_and_restarts_in_the_same_version(tmp_path: Path) -> None:
    path = tmp_path / "version_0" / "metrics.csv"
    path.parent.mkdir()
    collector = Collector([str(tmp_path)])
    events: list[Event] = []
    for text in (
        "step,train_loss\n0,1.0\n1,0.9\n",
        "step,train_loss,val_loss\n0,1.0,\n1,0.9,\n1,,0.8\n",
        "step,train_loss,val_loss\n0,1.0,\n1,0.9,\n1,,0.8\n2,0.7,\n",
    ):
        path.write_text(text)
        events += [*collector.find(), *collector.read()]
    assert not any(isinstance(event, SegmentStarted) for event in events)
    path.unlink()
    events += collector.read()
    path.write_text("step,train_loss\n2,0.75\n")
    events += [*collector.read(), *collector.flush()]
    assert sum(isinstance(event, SegmentStarted) for event in events) == 1
    assert series_of(events) == {
        "train_loss": [(0, 1.0), (1, 0.9), (2, 0.7), (2, 0.75)],
        "val_loss": [(1, 0.8)],
    }


# ---------------------------------------------------------------------- which files are tables of metrics

PROMPTS = "step,prompt,completion,reward\n1,What?,That.,0.5\n"
HOUSES = "longitude,latitude,median_income\n-122.2,37.8,8.3\n-122.1,37.7,7.2\n"
LONG = "step,note,loss\n1," + "x" * 300 + ",0.5\n"
IRIS = "sepal_length,sepal_width,species\n5.1,3.5,setosa\n"
WIDE = "step," + ",".join(f"train/metric_{index}" for index in range(400)) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "is_table"),
    [
        ("metrics.csv", "epoch,step,loss\n0,4,1.5\n", True),
        ("metrics.csv", "epoch,step,loss\n", True),
        ("metrics.csv", WIDE, True),
        ("progress.csv", RAY, True),
        ("metrics.csv", "step,loss\n1,0.5\n2\n3,0.25\n", True),
        ("progress.csv", "rollout/ep_rew_mean,time/total_timesteps\n25,512\n", True),
        ("0.monitor.csv", '#{"t_start": 1795224133.4, "env_id": "X"}\nr,l,t\n', True),
        (
            "results.csv",
            "                  epoch,         train/box_loss\n                      1,                 0.5\n",
            True,
        ),
        ("export.csv", '"Step","run - train/loss"\n"1","0.5"\n', True),
        ("history.csv", ",loss,val_loss\n0,1.5,\n", True),
        ("losses.csv", "train_loss,val_loss\n0.5,0.25\n", True),
        ("training.log", "epoch,loss,val_loss\n0,1.5,NA\n", True),
        ("training.log", "epoch;loss\n0;1.5\n", True),
        ("training.log", "epoch,loss,val_loss\n", False),
        ("train.log", "Epoch 1, loss: 0.5\nEpoch 2, loss: 0.4\n", False),
        ("train.log", "INFO step,loss\n1,2\n", False),
        ("run.txt", "step,total\nstarting, now\n", False),
        ("lcurve.out", "#  step   rmse_val\n   0   1.05e+01\n  100  5.25e+00\n", True),
        ("np_savetxt.csv", "# step,loss\n0,1.5\n", True),
        ("data.csv", "# prices, of a shop\n0,1.5\n", False),
        ("results.csv", "epoch,loss\n1,0.5\n2,0.25\n" + "3,0.5,7,8\n" * 9, True),
        ("data.csv", PROMPTS, False),
        ("data.csv", LONG, False),
        ("data.csv", HOUSES, False),
        ("data.csv", "," + HOUSES.replace("\n", "\n0,", 2), False),
        ("data.csv", IRIS, False),
        ("a.csv", "Upd,loss,gpu\n0,1,GPU0\n10,2,GPU0\n20,3,GPU0\n", True),
        ("a.csv", "id,age,sex,name\n0,1,f,x\n10,2,m,y\n20,3,m,z\n", False),
        ("a.csv", "Upd,age,sex\n0,1,f\n10,2,m\n20,3,m\n", False),
        ("data.csv", "0,0.5\n1,0.25\n", False),
        ("data.csv", "", False),
        ("data.csv", "just text\n", False),
        ("data.csv", "step,question,answer,label\n1,a,b,c\n", False),
        ("notes.csv", "step,loss\n1,0.5,0.7\n", False),
        ("wrong.json", "epoch,loss\n0,1.5\n", False),
    ],
)
def test_recognition_of_metric_tables(name: str, text: str, is_table: bool) -> None:
    log_format = recognise(name, text.encode()[:4096])
    assert (log_format in (csv_table.FORMAT, sb3_monitor.FORMAT)) is is_table


@given(st.binary(max_size=300))
def test_recognition_never_raises(head: bytes) -> None:
    for name in ("x.csv", "x.log", "x.tsv"):
        csv_table.matches(name, head)
        csv_table.matches(name, b"step,loss\n" + head)


def test_metrics_named_like_runs_stay_in_one_run(tmp_path: Path) -> None:
    for name in ("lr_0", "lr_1"):
        path = tmp_path / "dvclive" / "plots" / "metrics" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"step\t{name}\n0\t0.5\n")
    events = list(Collector([str(tmp_path)]).find())
    assert [event.run for event in events if isinstance(event, StreamFound)] == [0, 0]
    assert dvclive.metric_name("/a/plots/metrics/lr_0.tsv") == "lr_0"
    assert dvclive.metric_name("/a/lr_0.tsv") is None


# ---------------------------------------------------------------------- tables of many hands


@pytest.mark.parametrize("count", [3, 100])
@pytest.mark.parametrize("first", ["epoch", ""])
def test_line_ends_of_csv_writer_on_windows(first: str, count: int) -> None:
    r"""A file opened without newline="" gets \r\r\n."""
    rows = [f"{epoch},{1 / (1 + epoch)},{2 + epoch}" for epoch in range(count)]
    data = "\r\r\n".join([f"{first},loss,val_loss", *rows, ""]).encode()
    assert recognise("training_history.csv", data[:4096]) is csv_table.FORMAT
    points = series(feed(TableDecoder(), data))
    assert points == {
        "loss": [(epoch, repr(1 / (1 + epoch))) for epoch in range(count)],
        "val_loss": [(epoch, repr(2.0 + epoch)) for epoch in range(count)],
    }


def test_numbers_with_units_and_thousands() -> None:
    data = (
        b'epoch,acc,time,tokens,memory,tag\n1,85.3%,18840ms,"1,055,123",12.5 GB,3d\n2,90 %,1.5s,"2,055,123",13GiB,4e\n'
    )
    assert recognise("log.csv", data) is csv_table.FORMAT
    assert series(feed(TableDecoder(), data)) == {
        "acc": [(1, "85.3"), (2, "90.0")],
        "time": [(1, "18840.0"), (2, "1.5")],
        "tokens": [(1, "1055123.0"), (2, "2055123.0")],
        "memory": [(1, "12.5"), (2, "13.0")],
    }


@given(
    st.lists(
        st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 4)), min_size=3, max_size=3),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([1, 2, 4, 5]),
    st.lists(st.integers(0, 900), max_size=4),
)
def test_decimal_commas_as_pandas_writes_them(rows: list[list[float]], digits: int, cuts: list[int]) -> None:
    names = ["train_loss", "val_loss", "lr"]
    written = pandas.DataFrame(rows, columns=names).to_csv(
        sep=";", decimal=",", index_label="epoch", float_format=f"%.{digits}f"
    )
    wanted = {
        name: [(epoch, repr(float(f"{row[column]:.{digits}f}") + 0.0)) for epoch, row in enumerate(rows)]
        for column, name in enumerate(names)
    }
    assert series(feed(TableDecoder(), written.encode(), cuts)) == wanted


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("step;loss;tokens\n1;2,613;1,055,123\n", [2.613, 1055123.0]),
        ("step;loss;tokens\n1;1.234,5;1,234.5\n", [1234.5, 1234.5]),
        ("step;acc;time\n1;85,3%;1,5 s\n", [85.3, 1.5]),
        ("step\tloss\tlr\n1\t2,613\t0,001\n", [2.613, 0.001]),
        ("step\tloss\ttokens\n1\t0.5\t1,024\n", [0.5, 1024.0]),
        ("step;loss;tokens\n1;4,970150;1.234.567\n", [4.97015, 1234567.0]),
        ("step;loss;tokens\n1;4,970150;1.234\n", [4.97015, 1234.0]),
        ("step;loss;x;y\n1;4,970150;1.234;0.5\n", [4.97015, 1.234, 0.5]),
        ("step;loss;tokens\n1;2,613;1.234\n", [2.613, 1.234]),
        ("step,loss,tokens\n1,0.5,1.234.567\n", [0.5, 1234567.0]),
        ('step,loss,lr,tokens\n1,"2,6136","0,001","1,024"\n', [2.6136, 0.001, 1024.0]),
    ],
)
def test_a_comma_in_a_number_separates_decimals_or_thousands(text: str, values: list[float]) -> None:
    assert recognise("log.csv", text.encode()) is csv_table.FORMAT
    read_values = series(feed(TableDecoder(), text.encode()))
    assert [points[0][1] for points in read_values.values()] == list(map(repr, values))


def test_header_repeated_for_every_append_is_skipped() -> None:
    """As a data frame that is appended row by row; the steps go on."""
    data = b"".join(b"step,loss\n%d,0.5\n" % step for step in range(5))
    items = feed(TableDecoder(), data)
    assert segments(items) == 0
    assert series(items) == {"loss": [(step, "0.5") for step in range(5)]}
    items = feed(TableDecoder(), b"".join(b"loss,acc\n0.5,1\n" for _ in range(3)))
    assert segments(items) == 0
    assert series(items)["loss"] == [(row, "0.5") for row in range(3)]


def test_steps_of_baselines_progress_csv() -> None:
    data = b"total/duration,rollout/return,total/steps,total/epochs\n1.5,-3.5,2000.0,1\n3.0,-2.5,4000.0,2\n"
    assert recognise("progress.csv", data) is csv_table.FORMAT
    assert series(feed(TableDecoder(), data))["rollout/return"] == [(2000, "-3.5"), (4000, "-2.5")]


def test_table_without_a_header() -> None:
    data = "".join(f"{1024 * row},{row / 8}\n" for row in range(1, 50)).encode()
    torchrl, own = headerless.FORMATS
    assert recognise("/csv_logs/ppo/scalars/train/reward.csv", data) is torchrl
    assert torchrl.metric_name is not None
    assert torchrl.metric_name("/csv_logs/ppo/scalars/train/reward.csv") == "train/reward"
    assert recognise("/x/loss.csv", data) is own
    assert recognise("/x/prices.csv", data) is None
    decimal_commas = b"".join(b"%d;0,%d\n" % (row, row + 1) for row in range(9))
    assert recognise("/x/loss.csv", decimal_commas) is own
    assert series(feed(headerless.HeaderlessDecoder(), decimal_commas))[""][4] == (4, "0.5")
    assert recognise("/x/loss.csv", b"3,0.5\n2,0.5\n1,0.5\n") is None  # the steps fall
    wanted = {"": [(1024 * row, repr(row / 8)) for row in range(1, 50)]}
    for cuts in ((), (1,), range(0, len(data), 7)):
        assert series(feed(headerless.HeaderlessDecoder(), data, cuts)) == wanted


def test_monitors_of_a_vectorised_environment_are_one_source(tmp_path: Path) -> None:
    """The store draws all episodes as one curve; an export by source keeps the files apart."""
    for environment in range(4):
        rows = "".join(f"{10.0 + row},{10 + row},{row + environment / 10}\n" for row in range(20))
        text = f'#{{"t_start": {1795224133 + environment / 100}, "env_id": "X"}}\nr,l,t\n{rows}'
        (tmp_path / f"{environment}.monitor.csv").write_text(text)
    collector = Collector([str(tmp_path)])
    assert {event.source for event in collector.find() if isinstance(event, StreamFound)} == {"monitor.csv"}
    [run] = open_run(tmp_path).runs
    assert sorted(run.metrics) == ["elapsed", "length", "reward"]
    assert len(run.curve("reward")) == 80
    collector = Collector([str(tmp_path)])
    list(collector.find())
    own = {
        (source, name) for source, item in collector.in_file_order() if isinstance(item, Points) for name in item.names
    }
    assert own == {(f"{environment}.monitor.csv", name) for environment in range(4) for name in "rlt"}


def test_tables_of_one_directory_with_the_same_columns_are_kept_apart(tmp_path: Path) -> None:
    for role in ("learn", "test"):
        rows = "".join(f"{step}\t{1 / (1 + step)}\n" for step in range(20))
        (tmp_path / f"{role}_error.tsv").write_text(f"iter\tLogloss\n{rows}")
    rows = "".join(f"{step}\t{67 + step}\t{5000 - step}\n" for step in range(20))
    (tmp_path / "time_left.tsv").write_text(f"iter\tPassed\tRemaining\n{rows}")
    [run] = open_run(tmp_path).runs
    assert sorted(run.metrics) == ["Passed", "Remaining", "learn/Logloss", "test/Logloss"]


@pytest.mark.parametrize(
    ("row", "first"),
    [("{1}", 0), ("{1:.18e}", 0), ("{0} {1}", 1), ("{0:.18e} {1:.18e}", 1), ("{0}\t{1}", 1), ("{0}.0 {1}", 1)],
)
def test_numbers_without_a_header_in_a_file_named_as_a_metric(row: str, first: int) -> None:
    data = "".join(row.format(step, 2.5 / step) + "\n" for step in range(1, 41)).encode()
    own = headerless.FORMATS[1]
    assert own.wants_name("train_loss.txt")
    assert own.matches("train_loss.txt", data)
    assert not own.matches("labels.txt", data)
    assert not own.matches("loss.txt", b"0 0.5 0.5 0.1\n1 0.5 0.5 0.2\n2 0.5 0.5 0.3\n")
    assert not own.matches("loss.txt", b"12\n15\n17\n18\n"), "ids"
    wanted = {"": [(step + first, str(2.5 / (step + 1))) for step in range(40)]}
    for cuts in ((), (1,), (5,), (len(data) // 2,)):
        assert series(feed(headerless.HeaderlessDecoder(), data, cuts)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "step,reward\n1,0.5\n2,0.6\nstep,reward,loss\n3,0.7,1.5\n4,0.8,1.4\n",
        "step,reward,loss\n1,0.5\n2,0.6\n3,0.7,1.5\n",
    ],
)
def test_header_that_becomes_longer_after_a_few_rows(text: str) -> None:
    assert csv_table.matches("log.csv", text.encode())
    items = [*(decoder := TableDecoder()).feed(text.encode()), *decoder.flush()]
    assert {"reward", "loss"} <= {name for item in items if isinstance(item, Points) for name in item.names}


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        ("3,0.25,0.5123", {"loss": "0.25", "acc": "0.5123"}),
        ("3,0.25,0.51", {"loss": "0.25"}),
        ("3,0.25,nan", {"loss": "0.25", "acc": "nan"}),
        ("3,0.25,1", {"loss": "0.25", "acc": "1.0"}),
        ("3,0.25,0", {"loss": "0.25"}),
        ("3,0.25,", {}),  # within a row
    ],
)
def test_number_that_is_cut_at_the_end_of_a_table_is_no_point(last: str, wanted: dict[str, str]) -> None:
    decoder = TableDecoder()
    items = [*decoder.feed(f"step,loss,acc\n1,0.5,0.4000\n2,0.4,\n{last}".encode()), *decoder.end()]
    assert {name: points[-1][1] for name, points in series(items).items() if points[-1][0] == 3} == wanted


def test_row_whose_step_is_cut_is_not_read() -> None:
    decoder = TableDecoder()
    assert series([*decoder.feed(b"loss,step\n0.5,100\n0.4,11"), *decoder.end()]) == {"loss": [(100, "0.5")]}


def test_table_of_an_unnamed_index_and_times_is_a_log() -> None:
    assert csv_table.matches("history.csv", b",ts,train-error\n0,2026-09-21T14:13:20,0.5\n1,2026-09-21T14:13:21,0.4\n")
