"""Actions that add and remove the user's thresholds: horizontal lines on charts."""

from __future__ import annotations

from functools import partial

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_exact
from tuimon.errors import UsageError
from tuimon.panels import OwnDashboard, arrange
from tuimon.text import clean, home_relative
from tuimon.tui.action import Dashboard
from tuimon.tui.dashboard_file import reset_dashboard, save_dashboard

_EXAMPLE = "kl 0.1"
_ANSWER = re.compile(r"(.+?)[\s=]+(\S+)")


def _begin(app: Dashboard) -> None:
    hint = f"{_EXAMPLE}   (panel, metric or pattern, and a value in the unit of the chart)"
    app.ask("line at", hint, partial(_change, app))
    if lines := [f"{name} {format_exact(value)}" for name, values in app.state.own.thresholds for value in values]:
        app.say(f"Your lines, each again removes it: {clean('; '.join(lines))}")


def _change(app: Dashboard, text: str) -> None:
    """Add the threshold that a text such as "kl 0.1" names, or remove it if it exists."""
    if not text.strip():
        return
    try:
        match = _ANSWER.fullmatch(text.strip())
        name, value = (match[1], float(match[2])) if match else ("", 0.0)
    except ValueError:
        name = ""
    if not name:
        app.say(f"A threshold is a name and a number; example: {_EXAMPLE}")
        return
    before, line = app.state.own, f"{clean(name)} {format_exact(value)}"
    exists = value in dict(before.thresholds).get(name, ())
    try:
        app.state.own = before.without_threshold(name, value) if exists else before.with_threshold(name, value)
    except UsageError as error:
        app.say(clean(str(error)))
        return
    app.redraw()
    app.say(f"{line} is {'removed' if exists else 'added'}{'' if exists else _undrawn(app, name)}, {_save(app)}")


def _undrawn(app: Dashboard, name: str) -> str:
    """Return what to add to the message about a threshold that no chart of the run draws; else ""."""
    run = app.run_shown
    if run is None:
        return ""
    undrawn = name in dict(app.state.own.undrawn_thresholds(arrange(run), run))
    return ", but no chart of this run begins with such a metric" if undrawn else ""


def _save(app: Dashboard) -> str:
    """Write the dashboard to its file, and return where it is saved, or why it is not."""
    own = app.state.own
    try:
        if own == OwnDashboard() and not app.settings.dashboard:  # the file need not hide a table of config.toml
            file = reset_dashboard(app.paths, app.snapshot.runs)
            return f"also from {home_relative(file)}" if file else "and was not saved"
        return f"saved in {home_relative(save_dashboard(own, app.paths, app.snapshot.runs))}"
    except (UsageError, OSError) as error:
        return f"until tuimon ends only: {clean(str(error))}"


DO = {"thresholds": _begin}
