"""Every error that tuimon raises on purpose, and the exit codes.

TuimonError
├── UsageError          the command line or a setting is wrong                       exit 2
├── NothingFound        no such path, no log below it, or no such step              exit 3
├── FormatError         bytes are not what their format promises
│   └── Unfinished      a document that is still being written: keep the last good one, try again
├── WireError           a frame from the reader process is not well formed
└── Interrupted         ctrl+c during long work                                      exit 130
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """Exit codes of the program, each with its `meaning`."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        self = int.__new__(cls, value)
        self._value_ = value
        self.meaning = meaning
        return self

    OK = 0, "success"
    ERROR = 1, "error"
    USAGE = (
        2,
        "wrong usage, a pattern of --metric that matches no metric (the output has what the others match), or a rule of"
        " the settings file that matches no metric of runs that have ended (check)",
    )
    NOTHING_FOUND = (
        3,
        "no such path (check and summary continue with the others), no log below it, no point in the logs (check), or"
        " no such step (at, samples)",
    )
    ALERT = 4, "an alert is active (check)"
    PARTLY_READ = 5, "some files could not be read in full (with --strict)"
    HANGUP = 129, "ended by SIGHUP"
    INTERRUPTED = 130, "ended by SIGINT"
    TERMINATED = 143, "ended by SIGTERM"


class TuimonError(Exception):
    """Base class. `message` says what failed, and on what; `hint` says what to do next and may be empty."""

    exit_code = ExitCode.ERROR

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TuimonError):
    """The command line or a setting is wrong."""

    exit_code = ExitCode.USAGE


class NothingFound(TuimonError):
    """There is no such path, no metric log below it, or no such step in it."""

    exit_code = ExitCode.NOTHING_FOUND


class Interrupted(TuimonError):
    """The user pressed ctrl+c during long work."""

    exit_code = ExitCode.INTERRUPTED


class FormatError(TuimonError):
    """The bytes are not what their format promises."""


class Unfinished(FormatError):
    """The document is still being written, or is damaged; `items` has what its whole rows give, `damage` the rest."""

    items: Iterable[Any] = ()
    damage: Sequence[Any] = ()


class WireError(TuimonError):
    """A frame from the reader process is not well formed."""
