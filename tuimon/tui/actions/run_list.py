"""What can be done in the list of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from tuimon.panels.lists.runs import SORTS
from tuimon.text import clean
from tuimon.tui.actions import Action
from tuimon.tui.run_list import RunListScreen

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Run list", where=("runs",))
_END = 1 << 30


def _screen(app: TuimonApp) -> RunListScreen:
    return cast(RunListScreen, app.screen)


def _show(app: TuimonApp) -> None:
    run = app.run_selected
    if run is None:
        app.say("No run is listed: Esc ends the filter, U lists hidden runs")
    else:
        app.show_run(run)


def _move(rows: int = 0, pages: int = 0) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        table = _screen(app).table
        table.move(rows + pages * table.room)

    return do


def _mark(app: TuimonApp) -> None:
    if app.run_selected is not None:
        app.state.runs = replace(app.state.runs.toggled("marked", app.run_selected.path), over=True)
        _screen(app).table.move(1)
        app.redraw()


def _mark_all(app: TuimonApp) -> None:
    listed, choice = app.runs_listed(), app.state.runs
    if choice.marked:
        app.state.runs = replace(choice, marked=())
        app.say("No run is marked")
    else:
        app.state.runs = replace(choice, marked=tuple(run.path for run in listed), over=True)
        app.say(f"Marked {len(listed)} runs")


def _pin(app: TuimonApp) -> None:
    if app.run_selected is not None:
        app.state.runs = app.state.runs.toggled("pinned", app.run_selected.path)
        app.redraw()


def _hide(app: TuimonApp) -> None:
    run = app.run_selected
    if run is not None:
        app.state.runs = app.state.runs.toggled("hidden", run.path)
        hidden = run.path in app.state.runs.hidden
        app.say(f"{clean(run.name)} is {'hidden; U lists hidden runs, too' if hidden else 'listed again'}")


def _show_hidden(app: TuimonApp) -> None:
    choice = app.state.runs
    if not choice.hidden:
        app.say("No run is hidden: H hides the selected one")
    else:
        app.state.runs = replace(choice, show_hidden=not choice.show_hidden)
        app.redraw()


def _sort(step: int) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        choice = app.state.runs
        at = SORTS.index(choice.sort) if choice.sort in SORTS else 0
        app.state.runs = replace(choice, sort=SORTS[(at + step) % len(SORTS)], reverse=False)
        app.redraw()

    return do


def _reverse(app: TuimonApp) -> None:
    app.state.runs = replace(app.state.runs, reverse=not app.state.runs.reverse)
    app.redraw()


def _filter(app: TuimonApp) -> None:
    _screen(app).begin_filter()


ACTIONS = (
    _action("run_show", "enter", "show", "Show the dashboard of the selected run", _show, footer=3),
    _action("run_mark", "space", "mark", "Draw the run over the one that is shown; again: not", _mark, footer=4),
    _action(
        "run_filter", "slash", "filter", "List the runs that match: lr>1e-5 state:running -debug", _filter, footer=5
    ),
    _action("run_sort", "greater_than_sign", "sort", "Sort by the next column", _sort(1), footer=6),
    _action("run_sort_back", "less_than_sign", "sort back", "Sort by the column before", _sort(-1)),
    _action("run_reverse", "R", "turn", "Turn the order round", _reverse, footer=14),
    _action("run_pin", "P", "pin", "Keep the run at the top; again: not", _pin, footer=15),
    _action("run_hide", "H", "hide", "Leave the run out of the list; again: list it", _hide, footer=16),
    _action("run_show_hidden", "U", "unhide", "List hidden runs, too; again: not", _show_hidden),
    _action("run_mark_all", "A", "mark all", "Mark every run that is listed; with some marked: none", _mark_all),
    _action("run_up", "up,k", "up", "Select the run above", _move(-1)),
    _action("run_down", "down,j", "down", "Select the run below", _move(1)),
    _action("run_page_up", "pageup,b", "page up", "A screen up", _move(pages=-1)),
    _action("run_page_down", "pagedown,n", "page down", "A screen down", _move(pages=1)),
    _action("run_first", "home,g", "first", "Select the first run", _move(-_END)),
    _action("run_last", "end,G", "last", "Select the last run", _move(_END)),
)
