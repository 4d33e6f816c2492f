"""Spooled points equal those in memory, and take little memory."""

from __future__ import annotations

import contextlib
import io
import resource
import signal
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st

from tuimon.commands import _stderr, main
from tuimon.errors import TuimonError
from tuimon.exports.points import Batch, curve_batches
from tuimon.model.events import Columns, MetricsFound, RunFound, SegmentStarted, StreamFound, StreamReplaced
from tuimon.monitor.local import LocalMonitor
from tuimon.store import Run, Spool, Store

STREAMS = {0: ("events", 40), 1: ("events", 40), 2: ("rows.jsonl", 30)}
"""Two event files of one directory with restarts, and a second source with the same metrics."""
METRICS = 40
"""Number of metrics; enough for a batch of all of them to be added by extend_all."""

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(list(STREAMS)), st.lists(st.integers(0, 12), min_size=1, max_size=6)),
        st.tuples(st.just("wide"), st.sampled_from(list(STREAMS)), st.integers(0, 12)),
        st.tuples(st.just("start"), st.sampled_from(list(STREAMS)), st.integers(0, 12), st.booleans()),
        st.tuples(st.just("replace"), st.sampled_from(list(STREAMS))),
    ),
    max_size=12,
)


def store_of(events: list[tuple[Any, ...]], spool: Spool | None) -> Store:
    store = Store(spool=spool)
    store.apply(RunFound(0, "run", "/run"))
    for stream, (source, rank) in STREAMS.items():
        store.apply(StreamFound(stream, 0, source, f"/run/{source}", "tensorboard", rank, "", stream))
        store.apply(MetricsFound(stream, 0, tuple(f"metric {number}" for number in range(METRICS))))
    for clock, (kind, stream, *rest) in enumerate(events):
        if kind == "start":
            store.apply(SegmentStarted(stream, *rest))
        elif kind == "replace":
            store.apply(StreamReplaced(stream))
        else:
            each = rest[0] if kind == "add" else [rest[0], rest[0] + 1]
            metrics = 1 if kind == "add" else METRICS
            steps = np.array(each * metrics, np.int64)
            counts = np.full(metrics, len(each), np.uint32)
            values = np.where(steps % 5 == 4, np.nan, steps + clock / 100)
            store.apply(
                Columns(stream, np.arange(metrics, dtype=np.uint32), counts, steps, values, steps + clock * 1e3)
            )
    return store


def points(run: Run, rows: int) -> list[tuple[str, bytes, bytes, bytes]]:
    return [(name, *(column.tobytes() for column in columns)) for name, *columns in run.points(rows=rows)]


@given(EVENTS, st.integers(1, 60), st.integers(1, 9))
def test_restarts_purges_and_several_sources_give_the_same_points(
    events: list[tuple[Any, ...]], held: int, rows: int
) -> None:
    (here,), (there,) = (store_of(events, spool).snapshot().runs for spool in (None, Spool(held)))
    assert points(there, rows) == points(here, rows)
    for metric in here.metrics:
        ours, theirs = here.curve(metric), there.curve(metric)
        np.testing.assert_array_equal(ours.steps, theirs.steps)
        np.testing.assert_array_equal(ours.values, theirs.values)
        assert ours.disagreement == theirs.disagreement


LOGS = ["tensorboard", "wandb", "exports", "json", "console", "mlflow", "store_resume", "store_purge", "swanlab", "csv"]


def batches(path: Path, spool: Spool | None) -> Iterator[Batch]:
    monitor = LocalMonitor([path], spool=spool)
    monitor.read()
    return curve_batches(monitor.snapshot())


@pytest.mark.parametrize("name", LOGS)
def test_real_logs_give_the_same_batches(name: str) -> None:
    count = 0
    for here, there in zip(batches(DATA / name, None), batches(DATA / name, Spool(300)), strict=True):
        assert (here.owner, here.names, here.rates) == (there.owner, there.names, there.rates)
        for column in ("metric", "steps", "values", "wall_times"):
            assert getattr(here, column).tobytes() == getattr(there, column).tobytes()
        count += len(here)
    assert count > 50


def peak_of(work: Callable[[], int], expected: int) -> int:
    tracemalloc.start()
    try:
        assert work() == expected
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_depend_on_the_number_of_points() -> None:
    """This holds for metrics without restarts; with restarts it depends on the longest metric."""
    block = 2_000

    def written(blocks: int) -> Callable[[], int]:
        def work() -> int:
            store = store_of([], Spool(4 * block))
            for number in range(blocks):
                steps = np.arange(number * block, (number + 1) * block)
                ids, counts = np.zeros(1, np.uint32), np.full(1, block, np.uint32)
                store.apply(Columns(0, ids, counts, steps, steps * 0.5, steps * 1.0))
            return sum(len(steps) for _, steps, _, _ in store.snapshot().runs[0].points(rows=block))

        return work

    written(1)()  # imports and caches of the first call
    few, many = peak_of(written(40), 40 * block), peak_of(written(400), 400 * block)
    assert many < 1.1 * few


def test_the_file_is_unlinked_and_in_the_directory_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = _open_below(tmp_path)
    store = store_of([("add", 0, [1, 2, 3]), ("add", 0, [4])], Spool(2))
    assert len(_open_below(tmp_path)) == len(before) + 1
    assert list(tmp_path.iterdir()) == []
    assert store.snapshot().runs[0].curve("metric 0").steps.tolist() == [1, 2, 3, 4]


def _open_below(folder: Path) -> list[str]:
    """Return the open files of this process below a folder; an unlinked file has the suffix " (deleted)"."""
    links = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed by now
            links.append(str(link.readlink()))
    return [link for link in links if link.startswith(str(folder))]


def test_a_full_disk_raises_an_error_with_a_hint() -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        with pytest.raises(TuimonError, match="cannot write temporary file") as error:
            store_of([("add", 0, list(range(200_000)))] * 2, Spool(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert "TMPDIR" in error.value.hint


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_export_of_curves_shows_progress_of_reading_and_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    for name in ("_AFTER", "_EVERY"):
        monkeypatch.setattr(_stderr, name, 0.0)
    assert main(["export", str(DATA / "store_resume"), "-o", str(tmp_path / "points.csv")]) == 0
    pictures = screen.getvalue().split("\r")
    assert any(picture.startswith("reading [") and "100%" in picture for picture in pictures)
    assert any(picture.startswith("writing [") and " points" in picture for picture in pictures)
    assert pictures[-1].startswith("\x1b[K"), "the progress is erased"
    assert pictures[-1].endswith(f"wrote {tmp_path / 'points.csv'}\n")
