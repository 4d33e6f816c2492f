"""Test the texts view by keys against the rows that were written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Event, Semaphore

import pytest
from support.dashboard import opened, until
from support.tables import table_rows
from support.written_texts import write_run

from tuimon.monitor.local import open_run
from tuimon.samples import Sample
from tuimon.samples.library import Entry, Library
from tuimon.tui.opening import expects_metrics
from tuimon.tui.screens.text_choice import Choice
from tuimon.tui.screens.text_list import list_columns
from tuimon.tui.screens.texts_view import TextsScreen


def test_a_log_that_is_not_understood_is_no_reason_to_show_metrics_first(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("[prompt] What is 2 + 2?\n[output] 4\n")
    os.utime(log, (1.8e9, 1.8e9))
    assert not expects_metrics(open_run(tmp_path), 1.8e9 + 86400)
    assert expects_metrics(open_run(tmp_path), 1.8e9 + 60), "the log may still be written"
    log.write_text("step 1 loss 0.5\nstep 2 loss 0.4\n")
    assert expects_metrics(open_run(tmp_path), 1.8e9 + 86400)


@pytest.mark.parametrize("texts", [("same", "b", "same"), ("a", "b", "c")])
def test_the_list_of_groups_counts_identical_texts(texts: tuple[str, ...], tmp_path: Path) -> None:
    rows = [{"input": "p", "output": text, "score": 1.0, "step": 1} for text in texts]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    library = Library([str(tmp_path)])
    library.refresh()
    choice = Choice()
    choice.next_view()
    choice.set_entries(library.entries(1))
    head, row, *_ = table_rows(list_columns(choice), choice.items, 80)
    shown = "identical" in "".join(text for text, _ in head), "2 of 3" in "".join(text for text, _ in row)
    assert shown == ((True, True) if "same" in texts else (False, False))


async def test_an_expression_of_exponential_time_is_ended_and_leaves_the_screen_usable(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 3))
    with (run / "rollouts" / "2.jsonl").open("a") as file:
        row = {"input": "long", "output": "a" * 1_000_000 + "b", "score": -1.0, "step": 2}
        file.write(json.dumps(row) + "\n")
    async with opened(run, (120, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "17 texts" in s)
        await pilot.press("slash", *"re:(a+)+$", "enter")
        await until(app, pilot, lambda s: "/re:(a+)+$" in s)
        await pilot.press("G")
        assert isinstance(app.screen, TextsScreen)
        assert app.screen.table.cursor == max(len(app.screen.choice.items) - 1, 0)
        await until(app, pilot, lambda s: "The search was ended: the expression took more than 2 s" in s)
        await pilot.press("N", "slash", *["backspace"] * 9, *"re:attempt [13]", "enter")
        await until(app, pilot, lambda s: "step 1 (1 of 2)" in s and "7 of 16 texts" in s)


async def test_a_comparison_waits_for_the_text_that_was_selected_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, selected = Library.sample, Event()

    def read_first_last(library: Library, entry: Entry) -> Sample | None:
        """Read a text; the first of two waits a second for the other one."""
        if not reading.acquire(blocking=False):
            selected.set()
        else:
            selected.wait(1)
        return read(library, entry)

    reading = Semaphore(1)
    async with opened(write_run(tmp_path / "run", range(1, 2)), (120, 30)) as (app, pilot):
        await pilot.press("T")
        await until(app, pilot, lambda s: "16 texts" in s and "thinking" in s)
        monkeypatch.setattr(Library, "sample", read_first_last)
        await pilot.press("j", "d")
        await until(app, pilot, lambda s: "[-" in s and "{+" in s)
