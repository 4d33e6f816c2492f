"""Actions that set the user's note about a run: a text with tags, and a name."""

from __future__ import annotations

from functools import partial

from tuimon.errors import TuimonError
from tuimon.run_notes import RunNote, note_of, save_note
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui import screens
from tuimon.tui.action import Action, Dashboard

_action = partial(Action, section="Runs", where=("dashboard", "runs"))


def _ask(app: Dashboard, is_name: bool) -> None:
    run = app.run_selected
    if run is None:
        app.say("No run is selected")
        return
    if run.path == "-":
        app.say("Standard input has no path by which a note could be kept")
        return
    note = note_of(run.path)
    prompt = "name of the run" if is_name else "note"
    hint = f"{'a name of your own' if is_name else 'a line about the run, with #tags'}; an empty line removes it"

    def answer(text: str) -> None:
        _save(app, run, note.with_changes(name=text) if is_name else note.with_words(text))

    screen = app.screen
    ask = screen.ask if isinstance(screen, screens.RunListScreen) else app.ask
    ask(prompt, hint, answer, note.name if is_name else note.editable)


def _save(app: Dashboard, run: Run, note: RunNote) -> None:
    try:
        save_note(run.path, note)
    except (OSError, TuimonError) as error:
        app.say(clean(f"The note cannot be saved: {error}"))
        return
    app.redraw()
    app.say(f"{clean(run.name)}: {note.line or 'no note'}")


ACTIONS = (
    _action(
        "run_note",
        "e",
        "note",
        "Write a line about the run, with #tags; the run list shows it, and its filter finds it: tag:baseline",
        partial(_ask, is_name=False),
        also="tag comment annotate label describe",
    ),
    _action(
        "run_own_name",
        "",
        "name the run",
        "Give the run a name of your own, which is shown after its name",
        partial(_ask, is_name=True),
        also="rename alias title note",
    ),
)
