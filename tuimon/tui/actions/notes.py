"""Actions that set the user's note about a run: a text with tags, and a name."""

from __future__ import annotations

from functools import partial

from tuimon.run_notes import RunNote, note_of, save_note
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import TuimonApp
from tuimon.tui.copying import saying_why

_FAILURE = "The note cannot be saved"


def ask_note(app: TuimonApp) -> None:
    """Ask for a line about the run, or about the step of the cursor."""
    step = app.state.options.cursor
    if (run := _run_of(app)) is None:
        return
    note = note_of(run.path)
    if step is not None and not isinstance(app.screen, screens.RunListScreen):
        hint = "a line about this step, which charts show; an empty line removes it; without a cursor: about the run"
        app.ask(f"note at {step}", hint, partial(_save_step, app, run, note, step), note.at_step(step))
        return
    hint = "a line about the run, with #tags; an empty line removes it"
    app.ask("note", hint, lambda text: _save(app, run, note.with_words(text)), note.editable)


def ask_name(app: TuimonApp) -> None:
    """Ask for a name of the run."""
    if (run := _run_of(app)) is None:
        return
    note, hint = note_of(run.path), "a name of your own; an empty line removes it"
    app.ask("name of the run", hint, lambda text: _save(app, run, note.with_changes(name=text)), note.name)


def _run_of(app: TuimonApp) -> Run | None:
    """Return the selected run if it can have a note; else say why not."""
    run = app.run_selected
    if run is None or run.path == "-":
        app.say("No run is selected" if run is None else "Standard input has no path by which a note could be kept")
        return None
    return run


def _save_step(app: TuimonApp, run: Run, note: RunNote, step: int, text: str) -> None:
    with saying_why(app, _FAILURE):
        _save(app, run, note.with_step(step, text), f"step {step}: {text or 'no note'}")


def _save(app: TuimonApp, run: Run, note: RunNote, saved: str = "") -> None:
    with saying_why(app, _FAILURE):
        save_note(run.path, note)
        app.say(f"{clean(run.name)}: {clean(saved) or note.line or 'no note'}")
