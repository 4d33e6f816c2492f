"""Separated tables: points and steps of cells, recognition, growth and rewrites. More: cases/csv.toml."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_reading import EventLog
from support.json_points import feed, rows, series

from tuimon.formats.tables import csv as csv_table
from tuimon.formats.tables import dvclive
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.model.events import Event, SegmentStarted, StreamFound
from tuimon.reader import Collector

# ---------------------------------------------------------------------- cells, steps and rows

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


@pytest.mark.parametrize("day", ["2026/11/21", "21.11.2026", "2026-11-21"])
def test_times_without_a_zone_are_local(day: str) -> None:
    text = f"\ufeffSchritt;loss;Zeit\n0;1;{day} 10:00:00.5\n1;2;{day} 10:00:01\n"
    begin = datetime(2026, 11, 21, 10).timestamp()
    wanted = [("loss", 0, "1.0", repr(begin + 0.5)), ("loss", 1, "2.0", repr(begin + 1))]
    assert rows(feed(TableDecoder(), text.encode())) == wanted


# ---------------------------------------------------------------------- rewritten tables


def versions(rows: list[dict[str, float]]) -> Iterator[tuple[int, bytes]]:
    """Yield (place, bytes) of each write of Stable-Baselines3: a new key rewrites all in place, in pieces of 8 KiB."""
    keys, size = list[str](), 0
    for count, row in enumerate(rows, 1):
        fresh = [key for key in row if key not in keys]
        keys += fresh
        lines = [[repr(old[key]) if key in old else "" for key in keys] for old in (rows[:count] if fresh else [row])]
        data = "".join(",".join(cells) + "\n" for cells in ([keys, *lines] if fresh else lines)).encode()
        begin = 0 if fresh else size
        size = begin + len(data)
        for place in range(0, len(data), 8192):
            yield begin + place, data[place : place + 8192]


def test_reading_at_every_moment_of_a_growing_header(tmp_path: Path) -> None:
    """Includes moments within a rewrite, when the file holds new rows, half a row and old rows."""
    draw = random.Random(5)
    keys = ["time/total_timesteps", "rollout/ep_rew_mean", "train/loss"]
    rows = [{keys[0]: 512.0 * number, **{key: draw.random() for key in keys[1:]}} for number in range(300)]
    for row in rows:
        row |= {f"train/extra_{first}": draw.random() for first in (3, 120, 200) if row[keys[0]] >= 512 * first}
    collector, log, events = Collector([str(tmp_path)]), EventLog(), list[Event]()
    with (tmp_path / "progress.csv").open("wb", buffering=0) as file:
        for number, (place, data) in enumerate(versions(rows)):
            file.seek(place)
            file.write(data)
            if number < 20 or len(data) > 1000 or number % 50 == 0:
                events += [*collector.find(), *collector.read()]
    events += [*collector.read(), *collector.flush()]
    wanted: dict[str, list[tuple[int, str]]] = {}
    for row in rows:
        for key, value in row.items():
            wanted.setdefault(f"progress.csv::{key}", []).append((int(row[keys[0]]), repr(value)))
    assert log.feed(events).points == wanted
    assert log.replaced
    assert not any(isinstance(event, SegmentStarted) for event in events)
    assert [status.damaged for status in log.status.values()] == [0]


# ---------------------------------------------------------------------- which files are tables of metrics


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
