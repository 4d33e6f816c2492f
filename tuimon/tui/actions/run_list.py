"""Actions of the run list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tuimon.panels import plural
from tuimon.panels.lists.run_groups import MOST_VALUES, RunGroup, groupings
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, move, topmost
from tuimon.tui.screens.run_list import AT_ONCE

_action = partial(Action, section="Run list", where=("runs",))


def _show(app: Dashboard) -> None:
    run = app.run_selected
    if run is None and topmost(app, screens.RunListScreen).table.group_selected is not None:
        _fold(app)
    elif run is None:
        app.say("No run is listed: Esc removes the filter, U lists hidden runs")
    else:
        app.show_run(run)


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
    """Fold or unfold the selected group, or the group of the selected run."""
    table, choice = topmost(app, screens.RunListScreen).table, app.state.runs
    group = table.group_selected
    if group is None:
        app.say("There are no groups: o groups the runs")
        return
    others = tuple(title for title in choice.folded if title != group.title)
    app.state.runs = replace(choice, folded=others if group.folded else (*others, group.title))
    table.select(group.title)
    app.redraw()


def _fold_all(app: Dashboard) -> None:
    table, choice = topmost(app, screens.RunListScreen).table, app.state.runs
    titles = [entry.title for entry in table.entries if isinstance(entry, RunGroup)]
    if not titles:
        app.say("There are no groups: o groups the runs")
        return
    app.state.runs = replace(choice, folded=() if choice.folded else tuple(titles))
    app.redraw()


def _mark(app: Dashboard) -> None:
    if app.run_selected is not None:
        app.state.runs = replace(app.state.runs.toggled("marked", app.run_selected.path), over=True)
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


def _sort(step: int) -> Callable[[Dashboard], None]:
    def do(app: Dashboard) -> None:
        choice, sorts = app.state.runs, topmost(app, screens.RunListScreen).table.sorts
        index = sorts.index(choice.sort) if choice.sort in sorts else 0
        app.state.runs = replace(choice, sort=sorts[(index + step) % len(sorts)], reverse=False)
        app.redraw()

    return do


def _metric(app: Dashboard) -> None:
    topmost(app, screens.RunListScreen).begin_metric()


def _reverse(app: Dashboard) -> None:
    app.state.runs = replace(app.state.runs, reverse=not app.state.runs.reverse)
    app.redraw()


_FILTER = "List the runs that match: lr>1e-5 val_loss<0.5 state:running -debug"
ACTIONS = (
    _action("run_show", "enter", "show", "Show the dashboard of the selected run", _show, footer=3),
    _action(
        "run_mark",
        "space",
        "mark",
        "Mark the run, to overlay or compare it; again: undo",
        _mark,
        footer=4,
        also="select overlay",
    ),
    _action("run_filter", "slash", "filter", _FILTER, begin_filter, footer=5, also="search find"),
    _action(
        "run_sort", "greater_than_sign", "sort", "Sort by the next column", _sort(1), footer=6, also="order best run"
    ),
    _action(
        "run_metric",
        "m",
        "metric",
        "Show any metric as a column and sort by it: words of its name, or none to remove the column",
        _metric,
        footer=6,
        also="column sort validation loss",
    ),
    _action("run_sort_back", "less_than_sign", "sort back", "Sort by the previous column", _sort(-1)),
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
    _action("run_reverse", "R", "reverse", "Reverse the order", _reverse, footer=13),
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
    _action("run_up", "up,k", "up", "Select the run above", move(-1)),
    _action("run_down", "down,j", "down", "Select the run below", move(1)),
    _action("run_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("run_page_down", "pagedown,n", "page down", "One page down", move(pages=1)),
    _action("run_first", "home,g", "first", "Select the first run", move(-END)),
    _action("run_last", "end,G", "last", "Select the last run", move(END)),
)
