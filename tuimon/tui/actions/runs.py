"""Which run is shown, and which others with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tuimon.analysis.comparing import seed_groups
from tuimon.panels import seedless_of
from tuimon.text import clean
from tuimon.tui.actions import Action
from tuimon.tui.comparison import ComparisonScreen
from tuimon.tui.run_choice import base_of
from tuimon.tui.run_list import RunListScreen

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Runs")
_both = partial(_action, where=("dashboard", "runs"))


def _choose(step: int) -> Callable[[TuimonApp], None]:
    def do(app: TuimonApp) -> None:
        runs, shown = app.runs_listed(), app.run_shown
        if len(runs) < 2 and shown in runs:
            app.say("There is no other run" + (" in the list" if len(app.snapshot.runs) > 1 else " below the path"))
            return
        at = next(
            (at for at, run in enumerate(runs) if shown is not None and run.id == shown.id), -1 if step > 0 else 0
        )
        if runs:
            app.show_run(runs[(at + step) % len(runs)])

    return do


def _list(app: TuimonApp) -> None:
    if _in_list(app):
        app.pop_screen()
        app.redraw()
    else:
        shown = app.run_shown
        app.push_screen(RunListScreen(app.actions, shown.path if shown is not None else ""))


def _base(app: TuimonApp) -> None:
    run, choice = app.run_selected, app.state.runs
    if run is None:
        app.say("There is no run yet")
    elif choice.base == run.path:
        app.state.runs = replace(choice, base="")
        app.say("Runs are compared with none")
    else:
        app.state.runs = replace(choice, base=run.path)
        app.say(f"Other runs are compared with {clean(run.name)}, at the last step that both have reached")


def _over(app: TuimonApp) -> None:
    choice = app.state.runs
    if not choice.marked:
        app.say("No run is marked" + ("" if _in_list(app) else ": r lists them") + "; space marks the selected one")
        return
    app.state.runs = replace(choice, over=not choice.over)
    app.say(
        f"{len(choice.marked)} marked runs are {'no longer ' if choice.over else ''}drawn over the one that is shown"
    )


def _seeds(app: TuimonApp) -> None:
    choice = app.state.runs
    groups = seed_groups([seedless_of(run) for run in app.snapshot.runs])
    if not groups and not choice.grouped:
        app.say("No two runs differ only in their seed: a setting called seed, or seed3 in the name")
        return
    app.state.runs = replace(choice, grouped=not choice.grouped)
    if choice.grouped:
        app.say("Each run is drawn by itself")
    else:
        app.say(f"Runs that differ only in their seed are drawn as one: their mean, their range ({len(groups)} such)")


def _compare(app: TuimonApp) -> None:
    """The base first, then the selected run, then the marked ones."""
    choice, selected = app.state.runs, app.run_selected
    base = base_of(app.snapshot, choice)
    marked = [run for run in app.snapshot.runs if run.path in choice.marked]
    runs = list(dict.fromkeys(run for run in (base, selected, *marked) if run is not None))
    if len(runs) < 2:
        app.say("There is nothing to compare it with: in the list of runs, space marks one and B makes one the base")
    else:
        app.push_screen(ComparisonScreen(runs, app.state.symbols, app.state.theme, app.size.width))


def _in_list(app: TuimonApp) -> bool:
    return isinstance(app.screen, RunListScreen)


ACTIONS = (
    _action("next_run", "right_square_bracket", "next run", "The next run of the list", _choose(1), footer=8),
    _action("previous_run", "left_square_bracket", "previous run", "The run before", _choose(-1)),
    _both("runs", "r", "runs", "Every run as a row: sort, filter, mark, compare; again: back", _list, footer=7),
    _both("over", "O", "overlay", "Draw the marked runs over the one that is shown; again: not", _over, footer=20),
    _both("seeds", "u", "seeds", "Draw runs that differ only in their seed as one; again: each", _seeds, footer=21),
    _both("compare", "d", "compare", "Marked runs side by side: settings, metrics, noise", _compare, footer=9),
    _both("base", "B", "base", "Compare the other runs with this one; again: with none", _base, footer=22),
)
