"""Actions that set the user's note about a run: a text with tags, and a name."""

from __future__ import annotations

from functools import partial

from tuimon.errors import TuimonError
from tuimon.run_notes import RunNote, note_of, save_note
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import Dashboard


def _ask(app: Dashboard, is_name: bool) -> None:
    run = app.run_selected
    if run is None:
        app.say("No run is selected")
        return
    if run.path == "-":
        app.say("Standard input has no path by which a note could be kept")
        return
    note, step = note_of(run.path), app.state.options.cursor
    if not is_name and step is not None and not isinstance(app.screen, screens.RunListScreen):
        hint = "a line about this step, which charts show; an empty line removes it; without a cursor: about the run"
        app.ask(f"note at {step}", hint, partial(_save_step, app, run, note, step), note.at_step(step))
        return
    prompt = "name of the run" if is_name else "note"
    hint = f"{'a name of your own' if is_name else 'a line about the run, with #tags'}; an empty line removes it"

    def answer(text: str) -> None:
        _save(app, run, note.with_changes(name=text) if is_name else note.with_words(text))

    app.ask(prompt, hint, answer, note.name if is_name else note.editable)


def _save_step(app: Dashboard, run: Run, note: RunNote, step: int, text: str) -> None:
    try:
        note = note.with_step(step, text)
    except TuimonError as error:
        app.say(clean(f"The note cannot be saved: {error}"))
    else:
        _save(app, run, note, f"step {step}: {text or 'no note'}")


def _save(app: Dashboard, run: Run, note: RunNote, saved: str = "") -> None:
    try:
        save_note(run.path, note)
    except (OSError, TuimonError) as error:
        app.say(clean(f"The note cannot be saved: {error}"))
        return
    app.redraw()
    app.say(f"{clean(run.name)}: {clean(saved) or note.line or 'no note'}")


DO = {"run_note": partial(_ask, is_name=False), "run_own_name": partial(_ask, is_name=True)}
