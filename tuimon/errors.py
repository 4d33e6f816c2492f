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

READ_AGAIN = 75
"""Exit code of the dashboard after which the program starts again with saved settings."""


class ExitCode(IntEnum):
    """Exit codes of the program."""

    OK = 0
    ERROR = 1
    USAGE = 2
    """Wrong usage.

    Also:
    - a pattern of --metric matches no metric; the output then has what the other patterns match
    - `check`: a rule of the settings file matches no metric of runs that have ended
    """
    NOTHING_FOUND = 3
    """No such path, log or step, or no point in the logs (`check`).

    `check` and `summary` continue with the other paths if one is missing.
    """
    ALERT = 4
    """`check`: an alert is active."""
    PARTLY_READ = 5
    """--strict: some files could not be read in full."""
    INTERRUPTED = 130


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
    """There is no such path, metric log or step."""

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
