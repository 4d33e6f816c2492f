"""Panels of the board, their boxes and the contents of the run list, without a screen."""

from __future__ import annotations

import time
from dataclasses import replace

from support.made_run import store_of

from tuimon.draw.rows import row_width
from tuimon.model.events import Progress, RunFound, StreamFound, StreamStatus
from tuimon.model.views import Row, Size, Symbols
from tuimon.panels import metric_panel
from tuimon.store import Store
from tuimon.tui.arrangement import panels_of
from tuimon.tui.box import Drawing, PanelBox
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.run_contents import contents_of
from tuimon.tui.state import ViewState


def test_the_validation_of_a_result_has_a_chart_while_runs_are_overlaid() -> None:
    steps = range(20)
    metrics = {name: (steps, [0.1 * step for step in steps]) for name in ("loss", "eval_loss", "lr")}
    run = store_of(metrics).snapshot().runs[0]
    alone = ViewState(Symbols.BRAILLE, "dark")
    ids = [panel.id for panel in panels_of(run, alone)]
    assert "metric:eval_loss" not in ids, "the chart of the loss draws it"
    overlaid = [panel.id for panel in panels_of(run, replace(alone, runs=RunChoice(marked=("/logs/other",))))]
    assert overlaid[overlaid.index("loss") + 1] == "metric:eval_loss"
    assert [panel.id for panel in panels_of(run, replace(alone, runs=RunChoice(marked=("/x",), over=False)))] == ids


NOW = time.time()


def unread_runs(count: int) -> Store:
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
    store = unread_runs(12)
    store.apply(Progress(1, 1, True))
    snapshot = store.snapshot()
    contents = contents_of(snapshot, RunChoice(query="run1", sort="urgent"), Symbols.BRAILLE, NOW)
    assert words(contents.head(120)) == " 12 runs, 3 listed  /run1  1 done, 2 unknown  alerts first"
    assert words(contents.head(56)) == " 12 runs, 3 listed  /run1  3 not running  alerts first"
    assert words(contents.head(30)).startswith(" 12 runs, 3 listed  /run1")
    everything = contents_of(snapshot, RunChoice(), Symbols.BRAILLE, NOW)
    assert words(everything.head(120)) == " 12 runs: 6 done, 6 unknown"


def test_states_are_being_determined_once_all_has_been_read() -> None:
    store = unread_runs(4)
    contents = contents_of(store.snapshot(), RunChoice(), Symbols.BRAILLE, NOW)
    assert words(contents.head(80, is_reading=True)) == " 4 runs: 4 being read, 100 %"
    assert words(contents.head(80)) == " 4 runs: read, states being determined"


def test_a_border_of_the_same_size_inside_is_drawn() -> None:
    run = store_of({"loss": (range(3), [1.0, 2.0, 3.0])}).snapshot().runs[0]
    box = PanelBox()
    box.assign(metric_panel("loss"))
    for bordered, size in ((False, Size(40, 10)), (True, Size(44, 11)), (False, Size(40, 10))):
        box.bordered, box.room = bordered, size
        drawn = [box.is_drawn]
        box.update(Drawing(run, 0.0, Symbols.BRAILLE, "dark"), False)
        assert [*drawn, box.is_drawn] == [False, True]
        assert (row_width(box._rows[0]), len(box._rows)) == (size.width, size.height)
