"""Shows the dashboard: what is set up before it, and taken down behind it."""

from __future__ import annotations

import sys
import time

from tuimon.config import Settings
from tuimon.monitor import ReaderProcess
from tuimon.notify import Notifier, channels_of
from tuimon.tui import _textual, saved_view, terminal
from tuimon.tui.app import TuimonApp

SWITCH = 0.001
"""Seconds for which the receiving thread keeps the interpreter while a key waits for it; Python's own are 0.005."""


def run(monitor: ReaderProcess, settings: Settings, wait: bool, fresh: bool = False, deaf_for: float = 0.0) -> int:
    """Shows the dashboard until a person leaves it. Returns the exit code. fresh: not as it was left last time.

    deaf_for: seconds for which what looks like keys is none.
    """
    terminal.use_its_own_size()
    app = TuimonApp(monitor, settings, wait, None if fresh else saved_view.directory())
    app.deaf_until = time.monotonic() + deaf_for
    chosen = channels_of(settings.notify, lambda text: _textual.write(app, text))
    notifier = Notifier(chosen, monitor.say)
    monitor.tell_alerts(notifier.update)
    app.forget_sent = _textual.send_changed_cells()
    _textual.wait_longer_for_input()
    _textual.survive_the_loss_of_the_terminal()
    sys.setswitchinterval(SWITCH)
    app.ending.terminal = sys.__stderr__.fileno() if sys.__stderr__ is not None else None  # where Textual writes
    try:
        app.run(mouse=settings.mouse)
    finally:
        app.ending.over()
        monitor.on_change = lambda: None
        notifier.close()
        app.keep_view()
    return app.return_code or 0
