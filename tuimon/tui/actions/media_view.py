"""Actions of the media view, and the key that opens it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import END, begin_filter, closed, move, topmost
from tuimon.tui.actions.copying import new_file

_action = partial(Action, section="Media", where=("media",))


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.MediaScreen):
        return
    run = app.run_shown
    if run is None:
        app.say("There is no run yet")
    else:
        app.push_screen(screens.MediaScreen(app.actions, run, None))


def _save(app: Dashboard) -> None:
    """Save what is selected to a file in the current or the home directory, never below a run."""
    runs = app.snapshot.runs
    topmost(app, screens.MediaScreen).save(lambda end, directory: new_file(end, runs, (directory,)))


def _on(method: Callable[[screens.MediaScreen], None]) -> Callable[[Dashboard], None]:
    return lambda app: method(topmost(app, screens.MediaScreen))


ACTIONS = (
    Action(
        "media",
        "D",
        "media",
        "Histograms, PR curves, texts, hyperparameters, tables, images, audio and video of the run; again: back",
        _toggle,
        section="Panels",
        where=("dashboard", "media"),
        opens="media",
        also="distributions pictures summaries weights gradients scatter plots",
    ),
    _action("media_filter", "slash", "filter", "List the tags that match", begin_filter, 3),
    _action("media_view", "v", "view", "Histograms as heat map, bands, or two steps", _on(lambda s: s.next_view()), 4),
    _action("media_previous_step", "left,h", "before", "The step before", _on(lambda s: s.move_step(-1)), 5),
    _action("media_next_step", "right,l", "step", "The next step", _on(lambda s: s.move_step(1)), 6),
    _action("media_mark", "m", "mark", "Compare with this step; again: with the first", _on(lambda s: s.mark()), 7),
    _action(
        "media_save",
        "E",
        "save",
        "Save the selected image, audio or video, or the table, histogram or PR curve as CSV, to a new file",
        _save,
        8,
        also="export write file png download",
    ),
    _action("media_up", "up,k", "up", "Select the tag above", move(-1)),
    _action("media_down", "down,j", "down", "Select the tag below", move(1)),
    _action("media_page_up", "pageup,b", "page up", "One page up", move(pages=-1)),
    _action("media_page_down", "pagedown,n", "page down", "One page down", move(pages=1)),
    _action("media_first", "home,g", "first", "Select the first tag", move(-END)),
    _action("media_last", "end,G", "last", "Select the last tag", move(END)),
)
