"""The end of a large log shows before its history is read, and leaves no trace once that is there."""

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
from live import Live, fresh, held
from msgspec.structs import replace
from samples import Given, Sample, given, some

from tuimon.formats import Format, StreamDecoder, all_formats
from tuimon.model.events import Columns, Preview
from tuimon.model.points import Points
from tuimon.reader import Collector, follow
from tuimon.store import Run, Store
from tuimon.store.preview import LONG, previewed, series_of

HEAD = 4096
WITH_TAIL = [log_format for log_format in all_formats() if log_format.tail is not None]
ROWS = 60_000


def test_the_formats_of_long_logs_have_one() -> None:
    assert {"tensorboard", "wandb", "jsonl", "csv"} <= {log_format.id for log_format in WITH_TAIL}


@cache
def whole(sample: Sample) -> Given:
    decoder = sample.format.decoder()
    assert isinstance(decoder, StreamDecoder)
    return given(decoder.feed(sample.data))


def is_end_of(sample: Sample, cut: int) -> int:
    """The points told of data[cut:] are the last ones of their metrics; gives how many there are."""
    assert sample.format.tail is not None
    items = sample.format.tail(sample.data[:HEAD], sample.data[cut:])
    told = given(item for item in items if isinstance(item, Points))
    for name, points in told.series.items():
        assert points == whole(sample).series[name][-len(points) :], (sample, name, cut)
    return sum(map(len, told.series.values()))


@pytest.mark.parametrize("log_format", WITH_TAIL, ids=lambda log_format: log_format.id)
@settings(max_examples=30, deadline=None)
@examples(st.floats(0, 1))
def test_a_tail_cut_anywhere_gives_the_last_points_as_they_are(log_format: Format, part: float) -> None:
    for sample in some(log_format.id, 5):
        is_end_of(sample, int(part * len(sample.data)))


@pytest.mark.parametrize("log_format", WITH_TAIL, ids=lambda log_format: log_format.id)
def test_half_a_log_tells_its_last_points(log_format: Format) -> None:
    assert any(is_end_of(sample, len(sample.data) // 2) for sample in some(log_format.id, 5))


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Previews of logs that are quickly written."""
    monkeypatch.setattr(follow, "LARGE", 4 << 20)


def write_lines(path: Path, first: int = 0, rows: int = ROWS) -> None:
    """About 150 bytes a row; the steps go back once."""
    chance = np.random.default_rng(5)
    with path.open("a") as file:
        for number, (a, b, c) in enumerate(chance.normal(size=(rows, 3)).tolist(), first):
            step = number - 50 if number > rows - 200 else number
            row = {"step": step, "train/loss": a, "train/reward": b, "eval/some_longer_name_of_a_metric": c}
            file.write(json.dumps(row | {"timestamp": 1.79e9 + number}) + "\n")


def arrays(run: Run) -> dict[str, tuple[list[int], list[float], list[float], list[int], int]]:
    """All that a run's curves hold, in the order of its metrics."""
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
def test_the_end_shows_first_and_the_history_takes_its_place(tmp_path: Path) -> None:
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
    assert 100 < lengths[0] < ROWS / 10
    assert len(lengths) > 3
    assert arrays(store.snapshot().runs[0]) == arrays(plain.snapshot().runs[0])
    assert store.snapshot().runs[0].provenance("train/loss") == plain.snapshot().runs[0].provenance("train/loss")


def test_a_reader_process_ends_with_what_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    rows = 100_000  # 17 MB: its process knows nothing of a fixture
    write_lines(log, rows=rows)
    with Live(log) as live:
        live.until(lambda snapshot: snapshot.progress.caught_up and snapshot.runs[0].point_count == 3 * rows)
        assert held(live.snapshot) == fresh(log)
        write_lines(log, rows, 10)
        live.until(lambda snapshot: snapshot.runs[0].point_count == 3 * (rows + 10))
        assert held(live.snapshot) == fresh(log)


@pytest.mark.usefixtures("early")
def test_a_short_log_and_one_that_is_read_already_give_none(tmp_path: Path) -> None:
    write_lines(tmp_path / "short.jsonl", rows=100)
    write_lines(tmp_path / "long.jsonl", rows=40_000)
    collector = Collector([str(tmp_path)])
    list(collector.find())
    assert [len(event.names) for event in collector.preview() if isinstance(event, Preview)] == [3]
    assert list(collector.preview()) == []
    told = [*collector.read(), *collector.read()]
    assert [event.names for event in told if isinstance(event, Preview)] == [()]


def preview_of(steps: list[int]) -> Preview:
    count = len(steps)
    ids, counts = np.zeros(1, np.uint32), np.array([count], np.uint32)
    values = np.array(steps, np.float64)
    return Preview(Columns(0, ids, counts, np.array(steps), values, values + 1e9), ("loss",))


def test_between_history_and_preview_the_line_has_a_gap() -> None:
    (series,) = series_of(preview_of([90, 91, 92]), "")
    (history,) = series_of(preview_of(list(range(40))), "")
    alone = previewed(None, history, None).joined
    both = previewed(alone, series, None)
    assert both.joined.columns.steps[: both.joined.length].tolist() == [*range(40), 90, 91, 92]
    assert both.joined.restarts.tolist() == [both.joined.gap] == [40]


def test_where_they_overlap_the_preview_stands_and_the_line_goes_on() -> None:
    (series,) = series_of(preview_of([30, 31, 90]), "")
    (history,) = series_of(preview_of(list(range(40))), "")
    both = previewed(previewed(None, history, None).joined, series, None)
    assert both.joined.columns.steps[: both.joined.length].tolist() == [*range(30), 30, 31, 90]
    assert both.joined.restarts.tolist() == []
    assert both.joined.gap == -1


def test_of_a_history_of_any_length_no_more_is_copied_than_holds_nobody_up() -> None:
    (series,) = series_of(preview_of([2 * LONG, 2 * LONG + 1]), "")
    (history,) = series_of(preview_of(list(range(2 * LONG))), "")  # it has been read up to the preview
    whole = previewed(None, history, None).joined
    short = replace(whole, length=LONG // 2)
    first = previewed(short, series, None)
    both = previewed(whole, series, first)
    assert (first.joined.length, first.joined.gap) == (LONG // 2 + 2, LONG // 2)
    assert (both.joined.length, both.joined.gap) == (LONG + 2, LONG)  # what is left out in between is no line
    assert both.joined.columns.steps[LONG : LONG + 2].tolist() == [2 * LONG, 2 * LONG + 1]
    assert previewed(whole, series, both) is both


def test_a_preview_whose_steps_go_back_shows_the_last_attempt() -> None:
    (series,) = series_of(preview_of([70, 80, 90, 60, 61]), "sub/")
    alone = previewed(None, series, None).joined
    assert series.name == "sub/loss"
    assert alone.columns.steps[: alone.length].tolist() == [60, 61]


def test_a_preview_of_nan_only_is_one() -> None:
    event = preview_of([5, 6])
    event.columns.values[:] = math.nan
    (series,) = series_of(event, "")
    assert np.isnan(previewed(None, series, None).joined.columns.values[:2]).all()
