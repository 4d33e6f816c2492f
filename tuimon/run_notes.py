"""The user's notes about runs: name, line of text, tags, and notes at steps.

`$XDG_STATE_HOME/tuimon/notes.json` holds them by the path of the run, as saved views hold their choices of runs;
nothing is written next to the logs. An invalid entry, written by another version or edited by hand, is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from tuimon.errors import TuimonError
from tuimon.replacing import make_private, replace_content
from tuimon.text import clean

_LONGEST, _LONGEST_WORD = 300, 40
"""Maximum characters of a text, and of a name or a tag."""
_MOST_BYTES = 16 << 20
_MOST_STEPS = 500
_SIGNS = "123456789abcdefghijklmnopqrstuvwxyz"
"""Signs of the notes at steps in charts and lists, in the order of their steps; further ones have "+"."""


class StepNote(Struct, frozen=True, order=True):
    """A note at a step of a run."""

    step: int
    text: str


class RunNote(Struct, frozen=True, omit_defaults=True):
    """The note about a run."""

    name: str = ""
    """Name of one's own for the run."""
    text: str = ""
    tags: tuple[str, ...] = ()
    steps: tuple[StepNote, ...] = ()
    """Notes at steps, ascending; at most one at a step."""

    @property
    def signed_steps(self) -> list[tuple[str, int, str]]:
        """(sign, step, cleaned text) of the notes at steps."""
        signs = _SIGNS + "+" * max(len(self.steps) - len(_SIGNS), 0)
        return [(sign, note.step, clean(note.text, _LONGEST)) for sign, note in zip(signs, self.steps, strict=False)]

    @property
    def line(self) -> str:
        """The note on one line, cleaned: "my name: text #tag"; "" without a note."""
        head = ": ".join(filter(None, (clean(self.name, _LONGEST_WORD), clean(self.text, _LONGEST))))
        return " ".join(filter(None, (head, *(f"#{clean(tag, _LONGEST_WORD)}" for tag in self.tags))))

    @property
    def lines(self) -> list[str]:
        """The notes, each on a line, cleaned: "note: too high", "note 1: step 5: x"."""
        about = [f"note: {self.line}"] if self.line else []
        return [*about, *(f"note {sign}: step {step}: {text}" for sign, step, text in self.signed_steps)]

    @property
    def editable(self) -> str:
        """Text and tags as `with_words` reads them."""
        return " ".join(filter(None, (self.text, *(f"#{tag}" for tag in self.tags))))

    def with_words(self, words: str) -> RunNote:
        """Return the note with the text and the #tags of `words`."""
        tags = re.findall(r"(?<!\S)#(\S+)", words)
        return self.with_changes(text=re.sub(r"(?<!\S)#\S+", "", words), tags=tags)

    def with_changes(
        self, name: str | None = None, text: str | None = None, tags: tuple[str, ...] | list[str] | None = None
    ) -> RunNote:
        """Return the note with changes, cut and with single blanks; None: as before."""
        new = (self.name if name is None else name, self.text if text is None else text)
        short = [" ".join(_encodable(part).split()) for part in new]
        known = dict.fromkeys(_encodable(tag).strip()[:_LONGEST_WORD] for tag in (self.tags if tags is None else tags))
        return RunNote(short[0][:_LONGEST_WORD], short[1][:_LONGEST], tuple(filter(None, known)), self.steps)

    def at_step(self, step: int) -> str:
        """Return the text of the note at a step; "" if there is none."""
        return next((note.text for note in self.steps if note.step == step), "")

    def with_step(self, step: int, text: str) -> RunNote:
        """Return the note with this text at a step; "" removes it. Raises TuimonError if there are too many."""
        text = " ".join(_encodable(text).split())[:_LONGEST]
        others = [note for note in self.steps if note.step != step]
        if text and len(others) >= _MOST_STEPS:
            raise TuimonError(f"a run has at most {_MOST_STEPS} notes at steps", "Remove one with an empty text.")
        steps = sorted([*others, *([StepNote(step, text)] if text else [])])
        return RunNote(self.name, self.text, self.tags, tuple(steps))


NO_NOTE = RunNote()


def _encodable(text: str) -> str:
    """Return a text with escapes for undecodable bytes of a path or an argument, which JSON cannot have."""
    return text.encode("utf-8", "backslashreplace").decode()


def notes() -> Mapping[str, RunNote]:
    """Return the notes by the paths of their runs; {} if there are none or their file cannot be read."""
    file = notes_file()
    try:
        status = file.stat()
    except OSError:
        return {}
    return _read_notes(str(file), status.st_mtime_ns, status.st_size, status.st_ino)


def note_of(path: str) -> RunNote:
    """Return the note about the run with a path; an empty note if there is none."""
    return note_in(notes(), path)


def note_in(known: Mapping[str, RunNote], path: str) -> RunNote:
    """Return the note about the run with a path among these notes; an empty note if there is none."""
    return known.get(_encodable(path), NO_NOTE)


def save_note(path: str, note: RunNote) -> None:
    """Save the note about a run; an empty note removes it. Raises OSError, and TuimonError if the file is damaged."""
    file = notes_file()
    path, saved = _encodable(path), _file_entries(file)
    if note == NO_NOTE:
        saved.pop(path, None)
    else:
        saved[path] = msgspec.to_builtins(note)
    # with `parents`, the mode holds for the last directory only
    make_private(file.parent)
    replace_content(file, msgspec.json.format(msgspec.json.encode({"schema": 1, "runs": saved})), 0o600)


def notes_file() -> Path:
    """Return the path of the file with the notes."""
    from platformdirs import user_state_path

    return user_state_path("tuimon") / "notes.json"


def _file_entries(file: Path) -> dict[str, object]:
    """Return the entries of the file as they are, also those of other versions. Raises OSError and TuimonError."""
    try:
        document = msgspec.json.decode(file.read_bytes())
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise TuimonError(f"{clean(str(file))} is not valid JSON: {error}", "Correct or remove the file.") from None
    runs = document.get("runs") if isinstance(document, dict) else None
    return dict(runs) if isinstance(runs, dict) else {}


@lru_cache(maxsize=1)  # each redraw of the run list needs the notes, which took 9 ms for 2,000 runs
def _read_notes(file: str, changed: int, size: int, inode: int) -> Mapping[str, RunNote]:
    found: dict[str, RunNote] = {}
    try:
        entries = _file_entries(Path(file)) if size <= _MOST_BYTES else {}
    except (OSError, TuimonError):
        return found
    for path, entry in entries.items():
        try:
            found[path] = msgspec.convert(entry, RunNote)
        except msgspec.ValidationError:
            continue
    return found
