"""The contents of the run list without a screen."""

from __future__ import annotations

import time

from tuimon.model.events import Progress, RunFound, StreamFound, StreamStatus
from tuimon.model.views import Row, Symbols
from tuimon.store import Store
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.run_contents import contents_of

NOW = time.time()


def store_of(count: int) -> Store:
    """Return runs whose logs are gone (even numbers), or have been read without a point."""
    store = Store(is_reading=True)
    for run in range(count):
        store.apply(RunFound(run, f"run{run}", f"/logs/run{run}"))
        store.apply(StreamFound(run, run, "jsonl", f"/logs/run{run}/metrics.jsonl", "jsonl", 30, "", 0))
        store.apply(StreamStatus(run, "current" if run % 2 else "gone", "", 10, 10, NOW - 1e6, 0))
    return store


def words(row: Row) -> str:
    return "".join(text for text, _ in row)


def test_the_filter_is_never_cut_off_and_the_states_are_as_long_as_fits() -> None:
    store = store_of(12)
    store.apply(Progress(1, 1, True))
    snapshot = store.snapshot()
    contents = contents_of(snapshot, RunChoice(query="run1", sort="urgent"), Symbols.BRAILLE, NOW)
    assert words(contents.head(120)) == " 12 runs, 3 listed  /run1  1 done, 2 unknown  alerts first"
    assert words(contents.head(56)) == " 12 runs, 3 listed  /run1  3 not running  alerts first"
    assert words(contents.head(30)).startswith(" 12 runs, 3 listed  /run1")
    everything = contents_of(snapshot, RunChoice(), Symbols.BRAILLE, NOW)
    assert words(everything.head(120)) == " 12 runs: 6 done, 6 unknown"


def test_states_are_being_determined_once_all_has_been_read() -> None:
    store = store_of(4)
    contents = contents_of(store.snapshot(), RunChoice(), Symbols.BRAILLE, NOW)
    assert words(contents.head(80, is_reading=True)) == " 4 runs: 4 being read, 100 %"
    assert words(contents.head(80)) == " 4 runs: read, states being determined"
