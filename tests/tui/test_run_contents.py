"""The contents of the run list without a screen."""

from __future__ import annotations

import time

from tuimon.model.events import Progress, RunFound, StreamFound, StreamStatus
from tuimon.model.views import Row, Symbols
from tuimon.store import Snapshot, Store
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.screens.run_contents import contents_of

NOW = time.time()


def snapshot_of(count: int) -> Snapshot:
    """Return runs whose logs are gone (even numbers), or have been read without a point."""
    store = Store()
    for run in range(count):
        store.apply(RunFound(run, f"run{run}", f"/logs/run{run}"))
        store.apply(StreamFound(run, run, "jsonl", f"/logs/run{run}/metrics.jsonl", "jsonl", 30, "", 0))
        store.apply(StreamStatus(run, "current" if run % 2 else "gone", "", 10, 10, NOW - 1e6, 0))
    store.apply(Progress(1, 1, True))
    return store.snapshot()


def words(row: Row) -> str:
    return "".join(text for text, _ in row)


def test_the_filter_is_never_cut_off_and_the_states_are_as_long_as_fits() -> None:
    snapshot = snapshot_of(12)
    contents = contents_of(snapshot, RunChoice(query="run1", sort="urgent"), Symbols.BRAILLE, NOW)
    assert words(contents.head(120)) == " 12 runs, 3 listed  /run1  1 failed, 2 not understood  alerts first"
    assert words(contents.head(60)) == " 12 runs, 3 listed  /run1  3 not running  alerts first"
    assert words(contents.head(30)).startswith(" 12 runs, 3 listed  /run1")
    everything = contents_of(snapshot, RunChoice(), Symbols.BRAILLE, NOW)
    assert words(everything.head(120)) == " 12 runs: 6 failed, 6 not understood"
