"""Screens that open by themselves, and what is checked at the start."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from tuimon.analysis.progress_inputs import not_understood
from tuimon.model.events import Notice
from tuimon.store import Snapshot
from tuimon.tui import screens
from tuimon.tui.action import TuimonApp
from tuimon.tui.dashboard_file import load_dashboard
from tuimon.tui.run_choice import has_several_runs
from tuimon.tui.screens.run_list import RunListScreen
from tuimon.tui.screens.work_screen import WorkScreen
from tuimon.tui.settings_check import notices_of

LINK_EXPECTED_FOR = 30.0
"""Seconds from the start within which the run list opens when the second run arrives from another machine."""


def is_list_expected(app: TuimonApp) -> bool:
    """Return whether the run list is about to open, so that the dashboard would only flash."""
    return app.list_runs and has_several_runs(app.snapshot)


def open_run_list(app: TuimonApp) -> None:
    """Open the run list as soon as a second run is known, also over a dashboard that has been opened for the first one;
    not after a key, or once the search has been completed with a single run."""
    if not app.list_runs or isinstance(app.screen, WorkScreen):
        return
    if has_several_runs(app.snapshot):
        app.list_runs = False
        contents, app.first_contents = app.first_contents, None
        app.push_screen(RunListScreen(app.actions, contents=contents))  # the bar stays on the first row
    elif app.snapshot.progress.caught_up:
        patience = LINK_EXPECTED_FOR if app.monitor.links else 0.0
        app.list_runs = time.monotonic() < app.begun_at + patience


def expects_metrics(snapshot: Snapshot, now: float) -> bool:
    """Return whether a run has metrics, or a log that may still get some."""
    if any(run.point_count for run in snapshot.runs):
        return True
    unread = not_understood(snapshot, now)
    return any(run.streams and run.id not in unread for run in snapshot.runs)


async def open_texts_or_leave(app: TuimonApp, code: int) -> None:
    """Open the generated texts of paths without metrics. Leave with an exit code if there are no logs and no texts.

    Logs that appear later are shown as usual."""
    from tuimon.samples.discovery import has_samples

    paths = (*app.paths, *app.settings.samples)
    if await asyncio.to_thread(has_samples, paths):
        if not isinstance(app.screen, WorkScreen):
            app.push_screen(screens.TextsScreen(app.actions, paths, None))
    elif not any(run.streams for run in app.snapshot.runs):
        app.leave(code)


def use_dashboard(app: TuimonApp) -> None:
    """Use the user's dashboard from the settings or from a project file; say why a project file is ignored."""
    app.state.own, ignored = load_dashboard(app.settings, app.paths)
    if ignored:
        app.say(ignored)
        app.monitor.post_notice(Notice("warning", ignored))


async def check_settings(app: TuimonApp) -> None:
    """List unknown names in the settings as notices. A thread searches for them among the metrics of all runs."""
    check = partial(notices_of, app.settings, app.state.own, app.snapshot.runs)
    for notice in await asyncio.to_thread(lambda: list(check())):
        app.monitor.post_notice(notice)
