"""Actions of the whole program: quit, help, pause, colours, screenshot."""

from __future__ import annotations

from tuimon.config import config_path
from tuimon.errors import READ_AGAIN
from tuimon.model.views import Symbols
from tuimon.text import clean, home_relative
from tuimon.tui import screens
from tuimon.tui.action import TuimonApp
from tuimon.tui.copying import new_file, saying_why, write_new
from tuimon.tui.screens.work_screen import labelled_actions, place_of
from tuimon.tui.taught_patterns import add_patterns, proposed_patterns
from tuimon.tui.themes import names, on_paper


def quit(app: TuimonApp) -> None:
    if isinstance(app.screen, screens.HelpScreen | screens.HealthScreen):
        app.screen.leave()
    else:
        app.leave(0)


def help(app: TuimonApp) -> None:
    app.push_screen(screens.HelpScreen(labelled_actions(app.actions, app.screen), place_of(app.screen)))


def pause(app: TuimonApp) -> None:
    app.state.paused = not app.state.paused


def next_symbols(app: TuimonApp) -> None:
    order = list(Symbols)
    app.state.symbols = order[(order.index(app.state.symbols) + 1) % len(order)]


def retry(app: TuimonApp) -> None:
    if not app.log_in():
        app.say("Connecting again" if app.monitor.retry_links() else "No link is lost")


def say_where(app: TuimonApp) -> None:
    app.say(f"The settings are in {home_relative(config_path())}; they apply at the next start")


def teach(app: TuimonApp) -> None:
    patterns = proposed_patterns(app.snapshot)
    if not patterns:
        app.say("No pattern is proposed: each log is understood, or no line recurs with other numbers")
        return
    with saying_why(app, "The pattern is not saved"):
        add_patterns(patterns)
        app.leave(READ_AGAIN)


def next_theme(app: TuimonApp) -> None:
    order = names()
    place = order.index(app.state.theme) if app.state.theme in order else -1
    app.state.theme = order[(place + 1) % len(order)]
    app.say(f"Theme: {clean(app.state.theme)}")


def screenshot(app: TuimonApp) -> None:
    with saying_why(app, "The screenshot cannot be saved"):
        path = new_file(".svg", app.snapshot.runs)
        write_new(path, on_paper(app.export_screenshot(title="tuimon"), app.state.theme))
        app.say(f"Screenshot saved: {home_relative(path.absolute())}")
