"""Every error that tuimon raises on purpose.

    TuimonError
    ├── UsageError          the command line asks for something that does not exist      exit 2
    ├── NothingFound        no path, or no log below the path                            exit 3
    ├── FormatError         bytes are not what their format promises
    │   └── Unfinished      a document that is still being written: keep the last good one, try again
    └── WireError           a frame from the reader process is not well formed

A message says what is wrong and where; the hint says what to do.
"""


class TuimonError(Exception):
    """The root: `message` (what, where) and `hint` (what to do; may be empty)."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TuimonError):
    """The command line asks for something that does not exist."""

    exit_code = 2


class NothingFound(TuimonError):
    """There is no such path, or no metric log below it."""

    exit_code = 3


class FormatError(TuimonError):
    """The bytes are not what their format promises."""


class Unfinished(FormatError):
    """A document that is still being written."""


class WireError(TuimonError):
    """A frame from the reader process is not well formed."""
