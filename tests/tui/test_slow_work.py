"""What the screens show while a thread is still working: each test holds the thread for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.dashboard import opened, rows, text, until
from support.event_points import event, file_of
from support.event_points import text as text_value
from support.written_media import write_run as write_media
from support.written_texts import write_run

from tuimon.media.library import read_media
from tuimon.model.views import Row
from tuimon.samples import Sample
from tuimon.samples.library import Entry, Library
from tuimon.tui.app import TuimonApp
from tuimon.tui.screens.metric_browser import unusual_metrics
from tuimon.tui.screens.text_pane import sample_rows
from tuimon.tui.screens.texts_view import TextsScreen


def held(function: Callable[..., Any], may_end: threading.Event) -> Callable[..., Any]:
    """Return the function that waits before it returns."""

    def wait(*arguments: Any) -> Any:
        found = function(*arguments)
        may_end.wait(60)
        return found

    return wait


async def test_the_tags_of_media_can_be_chosen_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    monkeypatch.setattr("tuimon.media.library.read_media", held(read_media, may_end))
    async with opened(write_media(tmp_path / "run"), (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "loss" in s)
        await pilot.press("D")
        await until(app, pilot, lambda s: "weights" in s and " reading " in s and "%  8 tags" in s)
        await pilot.press("down")
        may_end.set()
        await until(app, pilot, lambda s: " reading" not in s)
        assert app.screen.table.cursor == 1  # type: ignore[attr-defined]
        await pilot.press("slash", *"note", "enter")
        await until(app, pilot, lambda s: "it is step 4" in s)
        newer = tmp_path / "run" / "events.out.tfevents.2.host.1.0"
        newer.write_bytes(file_of(event(5, text_value("note", "it is step 5"))))
        await until(app, pilot, lambda s: "it is step 5" in s)


async def test_metrics_are_compared_while_the_list_is_shown(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()
    monkeypatch.setattr("tuimon.tui.screens.metric_browser.unusual_metrics", held(unusual_metrics, may_end))
    log.write_text(rows(*range(20)) + rows(20, loss=9.0))
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "step 20" in s)
        await pilot.press("c", "w")
        await until(app, pilot, lambda s: "Comparing 3 metrics with their points before step 20" in s)
        may_end.set()
        await until(app, pilot, lambda s: "listed  unusual at step 20  by distance" in s and "▸ loss" in s)


async def _worked(app: TuimonApp) -> None:
    """Wait until the screen on top has done its work in threads."""
    for worker in [worker for worker in app.workers if worker.node is app.screen]:
        await worker.wait()


async def test_layout_for_an_old_width_that_comes_late_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, slow, widths = write_run(tmp_path / "run", [1]), threading.Event(), []

    def lay_out(sample: Sample, width: int, *others: Any) -> list[Row]:
        widths.append(width)
        if width < 100:
            slow.wait(60)
        return sample_rows(sample, width, *others)

    async with opened(run, (200, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "step 1" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "attempt 0 says" in s and "loop 6 %" in s)
        await _worked(app)
        await pilot.pause()
        wide = text(app)
        monkeypatch.setattr("tuimon.tui.screens.texts_view.sample_rows", lay_out)
        await pilot.resize_terminal(80, 30)
        while not widths:
            await pilot.pause(0.02)
        await pilot.resize_terminal(200, 30)
        assert await until(app, pilot, lambda s: s == wide)
        slow.set()
        await _worked(app)
        await pilot.pause()
        assert text(app) == wide


async def test_a_text_that_is_still_being_read_is_marked_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(write_run(tmp_path / "run", range(1, 3)), (120, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "step 2" in s)
        await pilot.press("T")
        await until(app, pilot, lambda s: "attempt 0 says" in s)
        screen, read, may_read = app.screen, Library.sample, threading.Event()
        assert isinstance(screen, TextsScreen)
        before = screen.sample

        def sample_later(library: Library, entry: Entry) -> Sample:
            may_read.wait()
            return read(library, entry)

        monkeypatch.setattr(Library, "sample", sample_later)
        await pilot.press("j", "space")
        marked_early = app.state.marked_text
        may_read.set()
        assert marked_early is None
        await until(app, pilot, lambda s: "Marked: d compares" in s)
        assert app.state.marked_text == screen.sample
        assert app.state.marked_text != before
