"""Run the dashboard: set up the application and its notifications, and clean up after it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tuimon.config import Settings, config_path
from tuimon.monitor.process import ReaderProcess
from tuimon.notify import Notifier, channels_of
from tuimon.text import clean, shown_path
from tuimon.tui import changed_cells, saved_view, themes
from tuimon.tui.app import TuimonApp
from tuimon.tui.terminal import capabilities, textual_patches

SWITCH = 0.001
"""Thread switch interval (s, default 0.005): how long the receiver thread may keep the GIL while a key waits for it."""


def run(
    monitor: ReaderProcess,
    settings: Settings,
    wait: bool,
    fresh: bool = False,
    ignore_input_for: float = 0.0,
    typed: str = "",
) -> int:
    """Run the dashboard until the user leaves it; return the exit code. fresh: ignore the saved view.

    ignore_input_for: discard keys for this many seconds (a late reply of the terminal can look like typing).
    typed: keys that were read before the dashboard could.
    """
    capabilities.unset_exported_size()
    if settings.themes:
        themes.define(settings.themes, str(config_path()))
    app = TuimonApp(monitor, settings, wait, None if fresh else saved_view.directory(), list_runs=True)
    app.typed = typed
    app.ignore_input_until = time.monotonic() + ignore_input_for
    notifier = Notifier(channels_of(settings.notify, app.write), monitor.post_notice)
    monitor.listen_to_alerts(notifier.update)
    app.forget_sent = changed_cells.install()
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
