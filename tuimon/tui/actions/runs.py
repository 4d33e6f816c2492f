"""Actions that choose the run that is shown and the runs that are compared with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tuimon.analysis.comparing import seed_groups
from tuimon.errors import UsageError
from tuimon.panels import plural, seed_group_key
from tuimon.panels.lists.comparison import MOST, ahead, compare
from tuimon.panels.lists.run_groups import seed_titles
from tuimon.store import Run, Snapshot
from tuimon.text import clean, home_relative
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import closed
from tuimon.tui.dashboard_file import save_runs
from tuimon.tui.run_choice import RunChoice, base_of, listing_of

_action = partial(Action, section="Runs")
_both = partial(_action, where=("dashboard", "runs"))


def _choose(step: int) -> Callable[[Dashboard], None]:
    def do(app: Dashboard) -> None:
        runs, shown = app.runs_listed(), app.run_shown
        if len(runs) < 2 and shown in runs:
            app.say("There is no other run" + (" in the list" if len(app.snapshot.runs) > 1 else " below the path"))
            return
        same = (index for index, run in enumerate(runs) if shown is not None and run.id == shown.id)
        index = next(same, -1 if step > 0 else 0)
        if runs:
            app.show_run(runs[(index + step) % len(runs)])

    return do


def _toggle(app: Dashboard) -> None:
    if isinstance(app.screen, screens.RunListScreen):
        app.screen.leave()
    else:
        shown = app.run_shown
        app.push_screen(screens.RunListScreen(app.actions, shown.path if shown is not None else ""))


def _base(app: Dashboard) -> None:
    run, choice = app.run_selected, app.state.runs
    if run is None:
        app.say("There is no run yet")
    elif choice.base == run.path:
        app.state.runs = replace(choice, base="")
        app.say("There is no base: runs are not compared")
    else:
        app.state.runs = replace(choice, base=run.path)
        app.say(f"Other runs are compared with {clean(run.name)}, at the last step that both have reached")


def _over(app: Dashboard) -> None:
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
    is_compared = app.state.runs.over and len(marked) > 1
    best = ahead(marked, choice.metric, app.snapshot.alerts, app.state.options.axis) if is_compared else ""
    app.say(f"{runs} {'' if app.state.runs.over else 'no longer '}overlaid{f': {best}' if best else ''}")


def _seeds(app: Dashboard) -> None:
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


def _titles(app: Dashboard) -> tuple[str, ...]:
    """Return the titles of the groups that are folded once seeds are merged: all."""
    if app.state.runs.grouped:
        return ()
    listing = listing_of(app.snapshot, app.state.runs, time.time(), app.state.symbols)
    return tuple(dict.fromkeys(seed_titles(app.runs_listed(), listing).values()))


def runs_to_compare(snapshot: Snapshot, choice: RunChoice, selected: Run | None) -> list[Run]:
    """Return the base and the marked runs, in this order; the selected run, too, if only one is marked.

    Without marks and without a base all runs are. Fewer than two runs if there is nothing to compare.
    """
    marked = [run for run in snapshot.runs if run.path in choice.marked]
    more = [selected] if len(marked) < 2 else []
    runs = list(dict.fromkeys(run for run in (base_of(snapshot, choice), *more, *marked) if run is not None))
    return list(snapshot.runs) if len(runs) < 2 else runs


def _compare(app: Dashboard) -> None:
    """Compare the `runs_to_compare`; on the comparison itself: back."""
    if closed(app, screens.ComparisonScreen):
        return
    runs = runs_to_compare(app.snapshot, app.state.runs, app.run_selected)
    if len(runs) >= 2:
        state = app.state
        compared = compare(runs[:MOST], alerts=app.snapshot.alerts, x=state.options.axis, is_brief=True)
        app.push_screen(screens.ComparisonScreen(app.actions, compared, len(runs) - MOST))
    else:
        app.say("Nothing to compare with: there is no other run")


def _join(app: Dashboard) -> None:
    """Make the marked runs one, now and at the next start."""
    marked = [run for run in app.snapshot.runs if run.path in app.state.runs.marked]
    if len(marked) < 2:
        app.say("Mark the runs that are one with space, in the run list (r)")
    else:
        _group(app, join=[run.directory for run in marked], done=f"{len(marked)} runs are one")


def _split(app: Dashboard) -> None:
    """Make each log of the selected run a run, or undo a join, now and at the next start."""
    if (run := app.run_selected) is not None:
        _group(app, split=run.directory, done=f"The logs of {clean(run.name)} are runs of their own")


def _group(app: Dashboard, done: str, join: Sequence[str] = (), split: str = "") -> None:
    try:
        file = save_runs(join, split, app.paths, app.snapshot.runs)
    except (OSError, UsageError) as error:
        app.say(clean(f"The runs stay as they are: {error}"))
        return
    app.state.runs = replace(app.state.runs, marked=())
    app.group_again()
    app.say(f"{done}; {home_relative(file)} says so under [runs]")


ACTIONS = (
    _action(
        "next_run", "right_square_bracket", "next run", "The next run of the list", _choose(1), footer=8, also="switch"
    ),
    _action("previous_run", "left_square_bracket", "previous run", "The previous run of the list", _choose(-1)),
    _both(
        "runs",
        "r",
        "runs",
        "Every run as a row: sort, filter, mark, compare; again: back",
        _toggle,
        opens="runs",
        footer=7,
        also="list table experiments best run sort rank",
    ),
    _both(
        "over",
        "O",
        "overlay",
        "Draw the marked runs over each other, on the dashboard; again: undo",
        _over,
        footer=20,
        also="overlay superimpose",
    ),
    _both(
        "join_runs",
        "",
        "join runs",
        "These runs are one: the marked runs are attempts or parts of one training",
        _join,
        also="same training resumed attempts together group",
    ),
    _both(
        "split_run",
        "",
        "split run",
        "Each file a run: the logs of the selected run are trainings of their own; undoes a join",
        _split,
        also="separate files apart group ungroup",
    ),
    _action(
        "seeds",
        "u",
        "seeds",
        "Merge runs that differ only in their seed; again: separate",
        _seeds,
        where=("dashboard", "runs", "multiples"),
        footer=21,
        also="group mean random repeats",
    ),
    _action(
        "compare",
        "d",
        "compare",
        "Marked runs side by side: settings, metrics, noise; again: back",
        _compare,
        where=("dashboard", "runs", "comparison"),
        opens="comparison",
        footer=9,
        also="diff side by side difference",
    ),
    _both(
        "base",
        "B",
        "base",
        "Compare the other runs with this one; again: with none",
        _base,
        footer=22,
        also="baseline reference",
    ),
)
