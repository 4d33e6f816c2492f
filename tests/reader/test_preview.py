"""Previews: the end of a large log is shown until its history has been read, and leaves no trace afterwards."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from support.live import Live, fresh, held
from support.samples import Sample, some

from tuimon.formats import Format, StreamDecoder, all_formats
from tuimon.model.events import Columns, Preview
from tuimon.model.points import Points
from tuimon.reader import Collector, collect, follow
from tuimon.reader.events import preview
from tuimon.store import Run, Store
from tuimon.store.preview import preview_series, previewed
from tuimon.testing.given import Given, given

HEAD = 4096
WITH_TAIL = [log_format for log_format in all_formats() if log_format.tail is not None]
ROWS = 15_000


@cache
def whole(sample: Sample) -> Given:
    decoder = sample.format.decoder()
    assert isinstance(decoder, StreamDecoder)
    return given(decoder.feed(sample.data))


def is_end_of(sample: Sample, cut: int) -> int:
    """Assert that the points in data[cut:] are the last ones of their metrics; return their number."""
    assert sample.format.tail is not None
    items = sample.format.tail(sample.data[:HEAD], sample.data[cut:])
    points_of_tail = given(item for item in items if isinstance(item, Points))
    for name, points in points_of_tail.bits.items():
        assert points == whole(sample).bits[name][-len(points) :], (sample, name, cut)
    return sum(map(len, points_of_tail.bits.values()))


@pytest.mark.parametrize("log_format", WITH_TAIL, ids=lambda log_format: log_format.id)
@settings(max_examples=12, deadline=None)
@examples(st.floats(0, 1))
def test_the_tail_from_any_offset_has_the_last_points(log_format: Format, part: float) -> None:
    for sample in some(log_format.id, 5):
        is_end_of(sample, int(part * len(sample.data)))


@pytest.mark.parametrize("log_format", WITH_TAIL, ids=lambda log_format: log_format.id)
def test_the_second_half_of_a_log_has_its_last_points(log_format: Format) -> None:
    assert any(is_end_of(sample, len(sample.data) // 2) for sample in some(log_format.id, 5))
    assert {"tensorboard", "wandb", "jsonl"} <= {long.id for long in WITH_TAIL}


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preview logs that are small enough to be written quickly."""
    monkeypatch.setattr(follow, "LARGE", 1 << 20)
    monkeypatch.setattr(collect, "BLOCK", 1 << 19)


def write_lines(path: Path, first: int = 0, rows: int = ROWS, note: str = "") -> None:
    """Append rows of about 150 bytes; the steps decrease once."""
    chance = np.random.default_rng(5)
    with path.open("a") as file:
        for number, (a, b, c) in enumerate(chance.normal(size=(rows, 3)).tolist(), first):
            step = number - 50 if number > rows - 200 else number
            row = {"step": step, "train/loss": a, "train/reward": b, "eval/some_longer_name_of_a_metric": c}
            file.write(json.dumps(row | {"timestamp": 1.79e9 + number, "note": note}) + "\n")


def arrays(run: Run) -> dict[str, tuple[list[int], list[float], list[float], list[int], int]]:
    """The contents of a run's curves, in the order of its metrics."""
    return {
        name: (
            (curve := run.curve(name)).steps.tolist(),
            curve.values.tolist(),
            curve.wall_times.tolist(),
            curve.restarts.tolist(),
            curve.superseded,
        )
        for name in run.metrics
    }


@pytest.mark.usefixtures("early")
def test_the_history_replaces_the_preview(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    write_lines(log)
    last = json.loads(log.read_text().splitlines()[-1])
    plain, store = Store(), Store()
    for event in (reader := Collector([str(log)])).find():
        plain.apply(event)
    collector = Collector([str(log)])
    for event in [*collector.find(), *collector.preview()]:
        store.apply(event)
    run = store.snapshot().runs[0]
    assert run.point_count == 0
    assert run.last_step == last["step"]
    assert run.last_wall_time == last["timestamp"]
    assert run.metrics == ("train/loss", "train/reward", "eval/some_longer_name_of_a_metric")
    lengths = []
    while True:
        curve = store.snapshot().runs[0].curve("train/loss")
        assert (curve.steps[1:] >= curve.steps[:-1]).all()
        assert (int(curve.steps[-1]), float(curve.values[-1])) == (last["step"], last["train/loss"])
        lengths.append(len(curve))
        if not collector.behind and len(lengths) > 1:
            break
        for event in collector.read():
            store.apply(event)
    while True:
        for event in reader.read():
            plain.apply(event)
        if not reader.behind:
            break
    assert lengths == sorted(lengths)
    assert 100 < lengths[0] < ROWS / 5
    assert len(lengths) > 3
    assert arrays(store.snapshot().runs[0]) == arrays(plain.snapshot().runs[0])
    assert store.snapshot().runs[0].provenance("train/loss") == plain.snapshot().runs[0].provenance("train/loss")


def test_a_reader_process_ends_with_the_points_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    rows = 12_000
    write_lines(log, rows=rows, note="x" * 1400)  # 18 MB: its process knows nothing of a fixture
    with Live(log) as live:
        live.until(lambda snapshot: snapshot.progress.caught_up and snapshot.runs[0].point_count == 3 * rows)
        write_lines(log, rows, 10)
        live.until(lambda snapshot: snapshot.runs[0].point_count == 3 * (rows + 10))
        assert held(live.snapshot) == fresh(log)


@pytest.mark.usefixtures("early")
def test_a_short_log_and_a_log_already_read_have_no_preview(tmp_path: Path) -> None:
    write_lines(tmp_path / "short.jsonl", rows=100)
    write_lines(tmp_path / "long.jsonl", rows=9_000)
    collector = Collector([str(tmp_path)])
    list(collector.find())
    assert [len(event.names) for event in collector.preview() if isinstance(event, Preview)] == [3]
    assert list(collector.preview()) == []
    events = [event for _ in range(8) for event in collector.read()]
    assert [event.names for event in events if isinstance(event, Preview)] == [()]


def preview_of(steps: list[int]) -> Preview:
    count = len(steps)
    ids, counts = np.zeros(1, np.uint32), np.array([count], np.uint32)
    values = np.array(steps, np.float64)
    return Preview(Columns(0, ids, counts, np.array(steps), values, values + 1e9), ("loss",))


def test_a_preview_with_decreasing_steps_shows_the_last_attempt() -> None:
    steps = np.array([70, 80, 90, 60, 70])
    event = preview(0, [Points(["loss"], np.zeros(5, np.uint32), steps, np.zeros(5), np.zeros(5))])
    assert event.columns.steps.tolist() == [60, 70]
    (series,) = preview_series(event, "sub/")
    assert series.name == "sub/loss"


def test_a_preview_may_have_only_nan() -> None:
    event = preview_of([5, 6])
    event.columns.values[:] = math.nan
    (series,) = preview_series(event, "")
    assert np.isnan(previewed(series, None).columns.values[:2]).all()
