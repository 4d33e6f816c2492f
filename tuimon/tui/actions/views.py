"""Actions that open the views of a run and of all runs, and those that only one of these views has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tuimon.panels import CurvePanel
from tuimon.store import Run
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import closed, topmost
from tuimon.tui.actions.copying import new_file
from tuimon.tui.screens.work_screen import WorkScreen


def _toggle(kind: str, new: Callable[[Dashboard, Run], WorkScreen | None]) -> Callable[[Dashboard], None]:
    """Return an action that closes the screen with this class name, or opens a new one for the selected run."""

    def do(app: Dashboard) -> None:
        if closed(app, getattr(screens, kind)):
            return
        if (run := app.run_selected) is None:
            app.say("There is no run yet")
        elif (screen := new(app, run)) is not None:
            app.push_screen(screen)

    return do


def _scatter(app: Dashboard, run: Run) -> WorkScreen | None:
    name = selected_metric(app)
    if name is None:
        app.say("Select the chart of a metric first, or a row of the metric list (M)")
        return None
    return screens.ScatterScreen(app.actions, name, is_y=True)


def selected_metric(app: Dashboard) -> str | None:
    """Return the metric of the selected chart or of the selected row of the metric list, or None."""
    if isinstance(app.screen, screens.MetricBrowser):
        return app.screen.table.selected
    run, panel = app.run_shown, app.board.panel
    leading = panel.leading(run) if run is not None and isinstance(panel, CurvePanel) else None
    return leading.metric if leading is not None else None


def _next_run_view(app: Dashboard) -> None:
    """Show the run list as a grid of charts, then with parallel coordinates, then as a table again."""
    if isinstance(app.screen, screens.MultiplesScreen):
        app.pop_screen()
        if isinstance(app.screen, screens.RunListScreen):
            app.screen.show_settings(True, parallel=True)
        return
    listed = topmost(app, screens.RunListScreen)
    if listed.table.parallel:
        listed.show_settings(False)
    elif app.run_shown is None:
        app.say("There is no run yet")
    else:
        selected = app.run_selected
        app.push_screen(screens.MultiplesScreen(app.actions, selected.path if selected is not None else ""))


def _settings(app: Dashboard) -> None:
    """Give each setting of the run list a column, or take these columns away."""
    if not isinstance(app.screen, screens.RunListScreen):
        shown = app.run_selected
        if shown is None:
            app.say("There is no run yet")
            return
        app.show_run(shown)
        app.push_screen(screens.RunListScreen(app.actions, shown.path))
        assert isinstance(app.screen, screens.RunListScreen)
        app.screen.show_settings(True)
    else:
        app.screen.show_settings(not app.state.runs.all_settings)


def _limits(app: Dashboard) -> None:
    topmost(app, screens.MultiplesScreen).next_limits()


def _quantity(app: Dashboard, by: int) -> None:
    topmost(app, screens.RanksScreen).next_quantity(by)


def _layout(app: Dashboard) -> None:
    topmost(app, screens.RanksScreen).next_layout()


def _strange(app: Dashboard, backwards: bool) -> None:
    if not topmost(app, screens.RanksScreen).pane.move_to_strange(backwards):
        app.say("Nothing is unusual about any rank")


def _swap(app: Dashboard) -> None:
    topmost(app, screens.ScatterScreen).swap()


def _save(app: Dashboard) -> None:
    """Save what is selected to a file in the current or the home directory, never below a run."""
    runs = app.snapshot.runs
    topmost(app, screens.MediaScreen).save(lambda end, directory: new_file(end, runs, (directory,)))


def _media_view(app: Dashboard) -> None:
    topmost(app, screens.MediaScreen).next_view()


def _media_mark(app: Dashboard) -> None:
    topmost(app, screens.MediaScreen).compare_with_step()


_view = partial(Action, section="Panels")
_on_runs = partial(Action, section="Run list", where=("runs", "multiples"))
_on_ranks = partial(Action, section="Ranks", where=("ranks",))
_on_media = partial(Action, section="Media", where=("media",))
ACTIONS = (
    _view(
        "config",
        "C",
        "config",
        "Settings, host, program, arguments and git commit of the run; best checkpoint, result; again: back",
        _toggle("ConfigScreen", lambda app, run: screens.ConfigScreen(app.actions, run)),
        where=("dashboard", "runs", "config"),
        opens="config",
        footer=16,
        also="settings hyperparameters learning rate git commit host program arguments started start began age when",
    ),
    _view(
        "ranks",
        "R",
        "ranks",
        "The ranks of the job: which one failed, hangs or is slow; again: back",
        _toggle("RanksScreen", lambda app, run: screens.RanksScreen(app.actions)),
        where=("dashboard", "ranks"),
        opens="ranks",
        also="workers nodes crash hang straggler",
    ),
    _view(
        "media",
        "D",
        "media",
        "Histograms, PR curves, texts, hyperparameters, tables, images, audio and video of the run; again: back",
        _toggle("MediaScreen", lambda app, run: screens.MediaScreen(app.actions, run, None)),
        where=("dashboard", "media"),
        opens="media",
        also="distributions pictures summaries weights gradients scatter plots",
    ),
    _view(
        "scatter",
        "P",
        "scatter",
        "The metric of the selected chart against another one, with their correlation; again: back",
        _toggle("ScatterScreen", _scatter),
        where=("dashboard", "metrics", "scatter"),
        opens="scatter",
        also="correlation against plot pairs",
    ),
    _on_runs(
        "run_view",
        "v",
        "view",
        "Next view of the listed runs: one metric as a grid of charts, parallel coordinates, the table",
        _next_run_view,
        8,
        opens="multiples",
        also="small multiples grid compare lines sweep",
    ),
    Action(
        "hparams",
        "E",
        "settings",
        "Run list with a column for each setting that differs; again: without",
        _settings,
        10,
        section="Runs",
        where=("dashboard", "runs", "multiples"),
        also="hyperparameters hparams table sweep search",
    ),
    _on_runs(
        "multiples_limits",
        "V",
        "limits",
        "The same limits for all charts, or for each its own",
        _limits,
        6,
        where=("multiples",),
    ),
    _on_ranks(
        "ranks_quantity",
        "tab",
        "quantity",
        "The next quantity in the cells: own time, memory …",
        partial(_quantity, by=1),
        4,
    ),
    _on_ranks(
        "ranks_quantity_back", "shift+tab", "quantity before", "The previous quantity", partial(_quantity, by=-1)
    ),
    _on_ranks(
        "ranks_layout", "v", "layout", "Ranks as a table, as nodes with a cell for each GPU, as a map", _layout, 5
    ),
    _on_ranks(
        "ranks_next",
        "n",
        "next unusual",
        "The next rank about which something is unusual",
        partial(_strange, backwards=False),
        6,
    ),
    _on_ranks(
        "ranks_previous",
        "N",
        "previous",
        "The previous rank about which something is unusual",
        partial(_strange, backwards=True),
    ),
    Action("scatter_swap", "X", "swap", "Exchange x and y", _swap, 4, section="Scatter", where=("scatter",)),
    _on_media("media_view", "v", "view", "Histograms as heat map or two steps", _media_view, 5),
    _on_media("media_mark", "m", "mark", "Compare with this step; again: with the first", _media_mark, 7),
    _on_media(
        "media_save",
        "E",
        "save",
        "Save the selected image, audio or video, or the table, histogram or PR curve as CSV, to a new file",
        _save,
        8,
        also="export write file png download",
    ),
)
