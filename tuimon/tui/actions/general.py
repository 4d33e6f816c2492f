"""The program as a whole: leave, help, alerts, hold, colours, a picture."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tuimon.model.views import Symbols
from tuimon.text import clean
from tuimon.tui.actions import Action
from tuimon.tui.saving import saved_as
from tuimon.tui.screens import HelpScreen, NotesScreen
from tuimon.tui.themes import THEMES, on_paper
from tuimon.tui.work_screen import WorkScreen

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, where=("dashboard", "runs", "metrics", "log", "config"))


def _quit(app: TuimonApp) -> None:
    app.leave(0)


def _help(app: TuimonApp) -> None:
    app.push_screen(HelpScreen(app.actions, app.state.theme))


def _back(app: TuimonApp) -> None:
    """One thing at a time, the innermost first."""
    state = app.state
    if isinstance(app.screen, WorkScreen) and app.screen.go_back():
        pass
    elif len(app.screen_stack) > 1:
        app.pop_screen()
    elif app.filter_bar.display:
        app.end_filter("")
    elif app.board.zoomed:
        app.board.zoom(False)
    elif state.query:
        state.query = None
    elif state.chosen:
        state.chosen = ()
    elif state.all_metrics:
        state.all_metrics = False
    app.redraw()


def _notes(app: TuimonApp) -> None:
    app.push_screen(NotesScreen(app.snapshot, app.run_shown, app.state.theme))


def _pause(app: TuimonApp) -> None:
    app.state.paused = not app.state.paused
    app.redraw()


def _symbols(app: TuimonApp) -> None:
    order = list(Symbols)
    app.state.symbols = order[(order.index(app.state.symbols) + 1) % len(order)]
    app.redraw()


def _theme(app: TuimonApp) -> None:
    order = list(THEMES)
    app.state.theme = order[(order.index(app.state.theme) + 1) % len(order)]
    app.redraw()


def _repaint(app: TuimonApp) -> None:
    app.paint_again()


def _screenshot(app: TuimonApp) -> None:
    try:
        path = saved_as(".svg", app.snapshot.runs)
        path.write_text(on_paper(app.export_screenshot(title="tuimon"), app.state.theme), "utf-8")
    except OSError as error:
        app.say(clean(f"The screenshot was not saved: {error}"))
    else:
        app.say(f"Screenshot saved: {path}")


ACTIONS = (
    _action("quit", "q", "quit", "Leave tuimon; the training is not touched", _quit, footer=1),
    _action("help", "question_mark,f1", "keys", "Show every key", _help, footer=2, zoomed=(10, "keys")),
    _action("back", "escape", "back", "Leave a zoomed panel, a filter, a screen", _back, zoomed=(1, "back")),
    _action("notes", "a", "alerts", "Alerts, notices, and every file that is read", _notes, footer=8),
    _action("pause", "p", "pause", "Hold the picture; reading goes on. Again: show what has come", _pause),
    _action("symbols", "s", "symbols", "Draw with braille, blocks or ASCII", _symbols),
    _action("theme", "t", "theme", "Colours for a dark, a light or a 16-colour terminal", _theme),
    _action("repaint", "ctrl+l", "repaint", "Paint the screen again, if something else has written on it", _repaint),
    _action("screenshot", "S", "screenshot", "Save the screen as an SVG file in the current directory", _screenshot),
)
