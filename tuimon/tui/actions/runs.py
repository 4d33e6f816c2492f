"""Actions that choose the run that is shown and the runs that are compared with it."""

from __future__ import annotations

import time
from dataclasses import replace

from tuimon.analysis.comparing import seed_groups
from tuimon.panels import plural, seed_group_key
from tuimon.panels.lists.run_groups import seed_titles
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import TuimonApp
from tuimon.tui.run_choice import listing_of


def step(app: TuimonApp, by: int) -> None:
    """Show the next run of the list (by = 1) or the previous one (-1)."""
    runs, shown = app.runs_listed(), app.run_shown
    if len(runs) < 2 and shown in runs:
        app.say("There is no other run" + (" in the list" if len(app.snapshot.runs) > 1 else " below the path"))
        return
    same = (index for index, run in enumerate(runs) if shown is not None and run.id == shown.id)
    index = next(same, -1 if by > 0 else 0)
    if runs:
        app.show_run(runs[(index + by) % len(runs)])


def list_runs(app: TuimonApp) -> None:
    shown = app.run_shown
    app.push_screen(screens.RunListScreen(app.actions, shown.path if shown is not None else ""))


def choose_base(app: TuimonApp) -> None:
    run, choice = app.run_selected, app.state.runs
    if run is None:
        app.say("There is no run yet")
    elif choice.base == run.path:
        app.state.runs = replace(choice, base="")
        app.say("There is no base: runs are not compared")
    else:
        app.state.runs = replace(choice, base=run.path)
        app.say(f"Other runs are compared with {clean(run.name)}, at the last step that both have reached")


def overlay(app: TuimonApp) -> None:
    choice, in_list = app.state.runs, isinstance(app.screen, screens.RunListScreen)
    if not choice.marked:
        app.say("No run is marked" + ("" if in_list else ": r lists them") + "; space marks the selected one")
        return
    app.state.runs = replace(choice, over=in_list or not choice.over)
    marked = [run for run in app.snapshot.runs if run.path in choice.marked]
    if in_list and marked:
        app.show_run(next((run for run in marked if run is app.run_shown), marked[0]))
    count = len(choice.marked)
    runs = "1 marked run is" if count == 1 else f"{count} marked runs are"
    app.say(f"{runs} {'' if app.state.runs.over else 'no longer '}overlaid")


def merge_seeds(app: TuimonApp) -> None:
    choice = app.state.runs
    groups = seed_groups([seed_group_key(run) for run in app.snapshot.runs])
    if not groups and not choice.grouped:
        app.say("No two runs differ only in their seed (a setting called seed, or seed3 in the name)")
        return
    titles = () if choice.group else _titles(app)
    app.state.runs = replace(choice, grouped=not choice.grouped, folded=choice.folded if choice.group else titles)
    if choice.grouped:
        app.say("Each run is drawn separately")
    else:
        app.say(f"Runs that differ only in their seed are merged into mean and range ({plural(len(groups), 'group')})")


def _titles(app: TuimonApp) -> tuple[str, ...]:
    """Return the titles of the groups that are folded once seeds are merged: all."""
    if app.state.runs.grouped:
        return ()
    listing = listing_of(app.snapshot, app.state.runs, time.time(), app.state.symbols)
    return tuple(dict.fromkeys(seed_titles(app.runs_listed(), listing).values()))


def compare(app: TuimonApp) -> None:
    if (listed := _opened_list(app)) is not None:
        listed.compare()


def settings(app: TuimonApp) -> None:
    if (listed := _opened_list(app)) is not None:
        listed.show_settings(True)


def _opened_list(app: TuimonApp) -> screens.RunListScreen | None:
    """Open the run list at the run that is shown; say why if there is none."""
    if (shown := app.run_selected) is None:
        app.say("There is no run yet")
        return None
    app.show_run(shown)
    app.push_screen(listed := screens.RunListScreen(app.actions, shown.path))
    return listed
