"""What is copied to the clipboard or saved to a new file that belongs to no run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tuimon.errors import TuimonError
from tuimon.store import Run
from tuimon.text import clean, home_relative
from tuimon.tui.action import TuimonApp
from tuimon.tui.terminal import clipboard


def copy(app: TuimonApp, text: str, what: str) -> None:
    """Copy `text` to the clipboard, or save it to a file if it is too long for a terminal. what: name in messages."""
    if clipboard.fits(text):
        if clipboard.inside_tmux():
            app.run_worker(_copy_in_tmux(app, text, what))  # goes on if the screen is closed
        else:
            _copy_in_terminal(app, text, what)
        return
    with saying_why(app, "Too long for the clipboard, and cannot be saved"):
        path = new_file(".tsv", app.snapshot.runs)
        write_new(path, text)
        app.say(f"Too long for the clipboard; saved to {home_relative(path.absolute())}: {what}")


@contextmanager
def saying_why(app: TuimonApp, failure: str) -> Iterator[None]:
    """Display why something could not be written, after `failure`."""
    try:
        yield
    except (OSError, TuimonError) as error:
        app.say(clean(f"{failure}: {error}"))


def write_new(path: Path, text: str | Iterable[str]) -> None:
    """Write a file that does not exist yet, whole or not at all. text: also as parts, which are not collected.

    Raises OSError, and what the parts raise.
    """
    with path.open("x", encoding="utf-8", errors="replace") as file:
        try:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def new_file(suffix: str, runs: Iterable[Run], paths: Iterable[str] = ()) -> Path:
    """Return the path of a new file in the current directory, or in the home directory if the current directory belongs
    to a run: nothing is ever written there. Raises OSError if both belong to runs. paths: further paths like runs."""
    name = time.strftime("tuimon-%Y%m%d-%H%M%S") + suffix
    run_paths = [os.path.realpath(path) for path in (*(run.path for run in runs), *paths)]
    for directory in (Path(), Path.home()):
        real = os.path.realpath(directory)
        if not any(real == path or real.startswith(path.rstrip("/") + "/") for path in run_paths):
            return directory / name
    raise OSError("the current directory and the home directory belong to runs")


async def _copy_in_tmux(app: TuimonApp, text: str, what: str) -> None:
    if await clipboard.to_tmux(text):
        app.say(f"Copied {what} (tmux buffer, and clipboard of its terminal)")
    else:
        _copy_in_terminal(app, text, what)
    app.redraw()


def _copy_in_terminal(app: TuimonApp, text: str, what: str) -> None:
    app.write(clipboard.sequence(text))
    app.say(f"Copied {what} (sent to the terminal: OSC 52)")
