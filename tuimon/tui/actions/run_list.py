"""Actions of the run list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tuimon.panels import plural
from tuimon.panels.lists.run_groups import MOST_VALUES, RunGroup, groupings
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import topmost
from tuimon.tui.screens.run_list import AT_ONCE

_action = partial(Action, section="Run list", where=("runs",))


def _group(app: Dashboard) -> None:
    """Group the list by the next criterion. A thread searches for it if there are many runs."""
    runs = app.runs_listed()
    if len(runs) < AT_ONCE:
        _group_by_next(app, groupings(runs))
    else:
        topmost(app, screens.RunListScreen).run_worker(_search_groups(app, runs), exclusive=True, group="group")


async def _search_groups(app: Dashboard, runs: Sequence[Run]) -> None:
    _group_by_next(app, await asyncio.to_thread(groupings, runs))


def _group_by_next(app: Dashboard, known: Sequence[str]) -> None:
    choice = app.state.runs
    index = known.index(choice.group) + 1 if choice.group in known else 0
    by = known[index % len(known)]
    if not by and not choice.group:
        app.say(
            "No groups: they need directories of several runs or a setting with 2 to"
            f" {MOST_VALUES} values; u merges seeds (ppo_seed1)"
        )
        return
    app.state.runs = replace(choice, group=by, folded=())
    app.say(f"Grouped by {clean(by)}" if by else "No groups")
    app.redraw()


def _fold(app: Dashboard) -> None:
    topmost(app, screens.RunListScreen).fold()


def _fold_all(app: Dashboard) -> None:
    table, choice = topmost(app, screens.RunListScreen).table, app.state.runs
    titles = [entry.title for entry in table.entries if isinstance(entry, RunGroup)]
    if not titles:
        app.say("There are no groups: o groups the runs")
        return
    app.state.runs = replace(choice, folded=() if choice.folded else tuple(titles))
    app.redraw()


def _mark_all(app: Dashboard) -> None:
    listed, choice = app.runs_listed(), app.state.runs
    if choice.marked:
        app.state.runs = replace(choice, marked=())
        app.say("No run is marked")
    else:
        app.state.runs = replace(choice, marked=tuple(run.path for run in listed), over=True)
        app.say(f"Marked {plural(len(listed), 'run')}")


def _pin(app: Dashboard) -> None:
    if app.run_selected is not None:
        app.state.runs = app.state.runs.toggled("pinned", app.run_selected.path)
        app.redraw()


def _hide(app: Dashboard) -> None:
    """Hide the selected run; pressed again at once, show the run that has just been hidden."""
    screen, choice = topmost(app, screens.RunListScreen), app.state.runs
    path = screen.just_hidden or (app.run_selected.path if app.run_selected is not None else "")
    if not path:
        return
    app.state.runs = choice.toggled("hidden", path)
    name = clean(next((run.name for run in app.snapshot.runs if run.path == path), path))
    if path not in app.state.runs.hidden:
        screen.just_hidden = ""
        screen.table.select(path)
        app.say(f"{name} is shown again")
        return
    screen.just_hidden = path
    later = "" if choice.show_hidden else "; later: U lists it, then H on it"
    app.say(f"{name} is hidden{', also next time' if app.saves_view else ''}. H again shows it{later}")


def _show_hidden(app: Dashboard) -> None:
    choice = app.state.runs
    if not choice.hidden:
        app.say("No run is hidden: H hides the selected one")
    else:
        app.state.runs = replace(choice, show_hidden=not choice.show_hidden)
        app.redraw()


def _metric(app: Dashboard) -> None:
    topmost(app, screens.RunListScreen).begin_metric()


ACTIONS = (
    _action(
        "run_metric",
        "m",
        "metric",
        "Show any metric as a column and sort by it: words of its name, or none to remove the column",
        _metric,
        footer=6,
        also="column sort validation loss",
    ),
    _action(
        "run_group",
        "o",
        "group",
        "Group by directory or job array, then by each setting that differs; then no groups",
        _group,
        footer=7,
        also="tree project folder",
    ),
    _action("run_fold", "f", "fold", "Fold or unfold the group; Enter on its heading, too", _fold, also="collapse"),
    _action("run_fold_all", "F", "fold all", "Fold every group; if any is folded: unfold all", _fold_all),
    _action("run_pin", "P", "pin", "Keep the run at the top; again: undo", _pin, footer=11),
    _action(
        "run_hide",
        "H",
        "hide",
        "Hide the run, also next time; again: undo; later U lists it, and H on it shows it again",
        _hide,
        footer=12,
        also="remove",
    ),
    _action("run_show_hidden", "U", "unhide", "Also list hidden runs; again: undo", _show_hidden),
    _action("run_mark_all", "A", "mark all", "Mark every listed run; if any is marked: unmark all", _mark_all),
)
