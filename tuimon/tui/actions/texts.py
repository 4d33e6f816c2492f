"""Actions of the texts view, and the key that opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.actions._screens import closed, topmost
from tuimon.tui.actions.copying import copy, new_file, write_new

_action = partial(Action, section="Texts", where=("texts",))


def _toggle(app: Dashboard) -> None:
    if closed(app, screens.TextsScreen):
        return
    run = app.run_shown
    places = [run.directory] if run is not None else app.paths
    app.push_screen(screens.TextsScreen(app.actions, (*places, *app.settings.samples), app.state.options.cursor))


def _on(method: Callable[[screens.TextsScreen], None]) -> Callable[[Dashboard], None]:
    return lambda app: method(topmost(app, screens.TextsScreen))


def _charts(app: Dashboard) -> None:
    step = topmost(app, screens.TextsScreen).step
    if step is None:
        app.say("These texts have no step")
        return
    app.state.options = replace(app.state.options, cursor=step)
    app.pop_screen()
    app.redraw()


def _copy_markdown(app: Dashboard) -> None:
    from tuimon.samples.export import as_markdown

    sample = topmost(app, screens.TextsScreen).sample
    if sample is None:
        app.say("No text is selected")
    else:
        copy(app, as_markdown(sample), "the text as Markdown")


def _export(app: Dashboard) -> None:
    runs = app.snapshot.runs
    path = new_file("-texts.jsonl", runs, () if runs else app.paths)
    topmost(app, screens.TextsScreen).export(path, write_new)


ACTIONS = (
    Action(
        "texts",
        "T",
        "texts",
        "What the model wrote, at the step of the cursor if there is one; again: back",
        _toggle,
        footer=10,
        section="Panels",
        where=("dashboard", "texts"),
        opens="texts",
        also="rollouts samples generations prompts responses",
    ),
    _action("text_next_step", "n,right", "step", "The next step with texts", _on(lambda s: s.move_step(1)), 3),
    _action("text_previous_step", "p,left", "before", "The step before", _on(lambda s: s.move_step(-1)), 4),
    _action(
        "text_view",
        "v",
        "view",
        "Next view: samples; prompts with their shares that passed; histogram of rewards; reward against length",
        _on(lambda s: s.change(lambda c: c.next_view())),
        6,
        also="groups identical same repeated duplicate histogram scatter plot correlation against got worse change",
    ),
    _action(
        "text_split",
        "V",
        "validation",
        "The texts of the validation; again: those of training",
        _on(lambda s: s.next_split()),
        also="split training evaluation train eval",
    ),
    _action(
        "text_filter",
        "f",
        "filter",
        "The next filter: truncated, error, zero reward, flags such as loop, zero variance",
        _on(lambda s: s.change(lambda c: c.next_filter())),
        7,
    ),
    _action("text_fold", "z", "fold", "Fold thinking, too; then: fold nothing", _on(lambda s: s.next_fold()), 10),
    _action("text_raw", "r", "raw", "The text as it is in the file; again: by role", _on(lambda s: s.toggle_raw())),
    _action("text_charts", "c", "charts", "The charts, with the cursor at this step", _charts, 11),
    _action(
        "text_diff",
        "d",
        "diff",
        "The difference to the marked text, or to the best (the worst) of its group",
        _on(lambda s: s.when_read(s.compare)),
        12,
    ),
    _action(
        "text_mark",
        "m",
        "mark",
        "Compare with this text, also from other steps; again: undo",
        _on(lambda s: s.when_read(s.mark_text)),
    ),
    _action(
        "text_prompt",
        "w",
        "same prompt",
        "The steps that have this prompt; Enter goes to a step",
        _on(lambda s: s.same_prompt()),
    ),
    _action(
        "text_count",
        "i",
        "count",
        "How many texts of each step contain what was searched for",
        _on(lambda s: s.count_matches()),
    ),
    _action(
        "text_alert", "A", "alert", "The texts of the step at which the next alert began", _on(lambda s: s.to_alert())
    ),
    _action(
        "text_export",
        "E",
        "export",
        "Save the listed texts, of the list of steps those of all steps, as JSON Lines in the current directory",
        _export,
    ),
    _action("text_copy_all", "Y", "copy all", "Copy prompt, response and numbers as Markdown", _copy_markdown),
    _action(
        "text_sample_up",
        "K",
        "sample above",
        "The sample above, also on the whole screen",
        _on(lambda s: s.move_sample(-1)),
    ),
    _action(
        "text_sample_down",
        "J",
        "sample below",
        "The sample below, also on the whole screen",
        _on(lambda s: s.move_sample(1)),
    ),
)
