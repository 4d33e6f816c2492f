"""Run the dashboard: set up the application and its notifications, and clean up after it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from tuimon.config import Settings
from tuimon.monitor.process import ReaderProcess
from tuimon.notify import Notifier, channels_of, is_watched
from tuimon.text import clean, shown_path
from tuimon.tui import changed_cells, saved_view
from tuimon.tui.app import TuimonApp
from tuimon.tui.first_frame import FirstFrame
from tuimon.tui.terminal import capabilities, textual_patches
from tuimon.tui.terminal.background import Background

LATE_REPLY = 2.0
"""Seconds during which key events are ignored if the reply of the terminal about its background is still to come: its
rest can look like typing."""
SWITCH = 0.001
"""Thread switch interval (s, default 0.005): how long the receiver thread may keep the GIL while a key waits for it."""


def run(
    monitor: ReaderProcess,
    settings: Settings,
    wait: bool,
    fresh: bool,
    first: FirstFrame,
    background: Background,
) -> int:
    """Run the dashboard until the user leaves it; return the exit code.

    - fresh: ignore the saved view.
    - first: may have opened the screen already.
    - background: may have read keys, and knows the settings of the terminal to restore.
    """
    capabilities.unset_exported_size()
    app = TuimonApp(monitor, settings, wait, None if fresh else saved_view.directory(), list_runs=True)
    app.first_contents = first.contents
    app.started = partial(_take_over, app, first, background)
    textual_patches.keep_screen(app, first)
    is_told = partial(is_watched, [str(path) for path in monitor.paths])
    notifier = Notifier(channels_of(settings.notify, app.write), monitor.post_notice, is_told=is_told)
    monitor.listen_to_alerts(notifier.update)
    app.forget_sent = changed_cells.install(first.size, first.sent)
    textual_patches.survive_hangup(app)
    sys.setswitchinterval(SWITCH)
    app.exit_signals.terminal = sys.__stderr__.fileno() if sys.__stderr__ is not None else None  # Textual writes there
    loop = asyncio.new_event_loop()  # not asyncio.run(), which waits for what threads are working at
    asyncio.set_event_loop(loop)
    try:
        app.run(mouse=settings.mouse, loop=loop)
    finally:
        app.exit_signals.cancel_timer()
        monitor.on_change = lambda: None
        _report_unsent(notifier.close())
        _save_view(app, monitor)
    return app.return_code or 0


def _take_over(app: TuimonApp, first: FirstFrame, background: Background) -> None:
    """Let the dashboard act on what the terminal and the user sent before it was there."""
    textual_patches.restore_settings(app, background.before)
    if background.late:
        app.ignore_input_until = time.monotonic() + LATE_REPLY
    if first.signal:
        app.leave(128 + first.signal)
    textual_patches.type_keys(app, background.typed)


def _report_unsent(unsent: Mapping[str, Sequence[str]]) -> None:
    """Print the alerts that a channel did not get, by its name, on standard error."""
    with suppress(OSError):  # the terminal may be gone
        for channel, texts in unsent.items():
            for text in texts:
                print(f"tuimon: {channel} did not get: {text}", file=sys.stderr)


def _save_view(app: TuimonApp, monitor: ReaderProcess) -> None:
    """Save the view; if that fails, say so on standard error, as the terminal is restored already."""
    try:
        app.save_view()
    except OSError as error:
        paths = clean(", ".join(map(shown_path, map(str, monitor.paths))))
        with suppress(OSError):  # the terminal may be gone
            print(f"tuimon: the view of {paths} was not saved: {error.strerror}", file=sys.stderr)
