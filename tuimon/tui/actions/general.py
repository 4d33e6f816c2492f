"""Actions of the whole program: quit, help, alerts, pause, colours, screenshot."""

from __future__ import annotations

from functools import partial

from tuimon.model.views import Symbols
from tuimon.text import clean, home_relative
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import closed
from tuimon.tui.actions.copying import new_file, write_new
from tuimon.tui.screens.work_screen import WorkScreen
from tuimon.tui.themes import names, on_paper

_VIEWS = ("dashboard", "runs", "metrics", "log", "config", "ranks", "media", "scatter", "multiples", "comparison")
_action = partial(Action, where=(*_VIEWS, "texts", "help", "alerts"))


def _quit(app: Dashboard) -> None:
    if not (closed(app, screens.HelpScreen) or closed(app, screens.NotesScreen)):
        app.leave(0)


def _help(app: Dashboard) -> None:
    if not closed(app, screens.HelpScreen):
        where = app.screen.WHERE if isinstance(app.screen, WorkScreen) else "dashboard"
        app.push_screen(screens.HelpScreen(app.actions, where))


def _back(app: Dashboard) -> None:
    app.go_back()


def _notes(app: Dashboard) -> None:
    if not closed(app, screens.NotesScreen):
        app.push_screen(screens.NotesScreen(app.actions))


def _pause(app: Dashboard) -> None:
    app.state.paused = not app.state.paused
    app.redraw()


def _symbols(app: Dashboard) -> None:
    order = list(Symbols)
    app.state.symbols = order[(order.index(app.state.symbols) + 1) % len(order)]
    app.redraw()


def _login(app: Dashboard) -> None:
    if not app.log_in():
        app.say("No host waits for a login")


def _retry(app: Dashboard) -> None:
    app.say("Connecting again" if app.retry_links() else "No link is lost")


def _theme(app: Dashboard) -> None:
    order = names()
    place = order.index(app.state.theme) if app.state.theme in order else -1
    app.state.theme = order[(place + 1) % len(order)]
    app.say(f"Theme: {clean(app.state.theme)}")
    app.redraw()


def _palette(app: Dashboard) -> None:
    app.open_palette()


def _repaint(app: Dashboard) -> None:
    app.repaint()


def _screenshot(app: Dashboard) -> None:
    try:
        path = new_file(".svg", app.snapshot.runs)
        write_new(path, on_paper(app.export_screenshot(title="tuimon"), app.state.theme))
    except OSError as error:
        app.say(clean(f"The screenshot cannot be saved: {error}"))
    else:
        app.say(f"Screenshot saved: {home_relative(path.absolute())}")


ACTIONS = (
    _action(
        "quit",
        "q",
        "quit",
        "Leave tuimon; the training is not affected. On help and alerts: back",
        _quit,
        footer=1,
        also="exit leave close",
    ),
    _action(
        "help",
        "question_mark,f1",
        "keys",
        "Every key; those of this screen first",
        _help,
        opens="help",
        footer=2,
        zoomed=(10, "keys"),
        also="help shortcuts bindings",
    ),
    _action(
        "palette",
        "ctrl+p",
        "palette",
        "Find an action by words and do it, also those without a key",
        _palette,
        also="command find search",
    ),
    _action("back", "escape", "back", "Leave a zoomed panel, a filter, a screen", _back, zoomed=(1, "back")),
    _action(
        "notes",
        "a",
        "alerts",
        "Alerts of all runs, notices, and every file that is read; again: back",
        _notes,
        opens="alerts",
        footer=8,
        also="warnings errors files problems doctor why nan spikes jumps outliers",
    ),
    _action(
        "pause",
        "p",
        "pause",
        "Pause the screen; reading goes on. Again: resume",
        _pause,
        where=_VIEWS,  # p is the previous step of the texts
        also="freeze hold stop",
    ),
    _action("symbols", "s", "symbols", "Draw with braille, blocks or ASCII", _symbols, also="ascii braille blocks"),
    _action(
        "theme",
        "t",
        "theme",
        "Next colour theme: dark, light, high contrast, 16-colour, your own",
        _theme,
        also="colors colours dark light",
    ),
    _action(
        "repaint",
        "ctrl+l",
        "repaint",
        "Redraw the screen if another program has written on it",
        _repaint,
        also="refresh redraw",
    ),
    _action(
        "screenshot",
        "S",
        "screenshot",
        "Save the screen as an SVG file in the current directory, or in your home directory if that one is of a run",
        _screenshot,
        also="picture svg image save export png chart plot figure",
    ),
    _action(
        "retry",
        "ctrl+r",
        "retry",
        "Connect again now to a host whose link is lost",
        _retry,
        also="reconnect link remote ssh connection lost",
    ),
    _action("login", "", "log in", "Log in again to a host that asks for it; the key of the log does so, too", _login),
)
