"""`tuimon note PATH "text"`: write a note about a run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._options import OFFLINE
from tuimon.commands._shared import checked_paths, read_logs
from tuimon.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from tuimon.run_notes import RunNote


_OPTIONS = f"""\
PATH  a log file, or the directory of a run
TEXT?  a line about the run; "" removes it
--name N  a name of your own for the run; "" removes it
--tag T…  add a tag; may be repeated
--untag T…  remove a tag; may be repeated
--step N  write TEXT at step N, where charts show it; "" removes it
{OFFLINE}"""


def _run(options: argparse.Namespace) -> int:
    from tuimon.run_notes import note_of, save_note
    from tuimon.text import clean

    runs = read_logs(checked_paths([options.path], options=options)).snapshot().runs
    tags = [*options.tag, *options.untag]
    if any(not tag or any(character.isspace() for character in tag) for tag in tags):
        raise UsageError("a tag is one word", "Name several with --tag A --tag B.")
    if options.step is not None and (options.text is None or options.name is not None or tags):
        raise UsageError("--step needs the text of the note, and neither a name nor tags")
    if options.text is None and options.name is None and not tags:
        for run in runs:
            _print_note(run.path, note_of(run.path))
        return ExitCode.OK
    if len(runs) != 1:
        raise UsageError(
            f"a note is about one run; {clean(options.path)} has {len(runs)}", "Name the directory or the log of one."
        )
    note = note_of(runs[0].path)
    if options.step is not None:
        note = note.with_step(options.step, options.text)
    else:
        kept = [tag for tag in (*note.tags, *options.tag) if tag not in options.untag]
        note = note.with_changes(options.name, options.text, kept)
    save_note(runs[0].path, note)
    _print_note(runs[0].path, note)
    return ExitCode.OK


def _print_note(path: str, note: RunNote) -> None:
    from tuimon.text import shown_path

    print(f"{shown_path(path)}  {note.line or ('notes at steps:' if note.steps else '(no note)')}")
    for sign, step, text in note.signed_steps:
        print(f"  {sign} step {step}: {text}")


_EXAMPLES = """\
  tuimon note RUN                                print the notes of the runs below RUN
  tuimon note RUN "lr too high" --tag todo       write a line about the run, and add a tag
  tuimon note RUN "lr lowered here" --step 120   write a line at a step, which charts show
  tuimon note RUN --name baseline                give the run a name of your own
"""
COMMAND = Command("note", "write a note, tags and a name of your own for a run", _OPTIONS, _run, _EXAMPLES)
