"""Actions that copy: a value, a series, or the command that prints the run."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tuimon.panels import CurvePanel, axis_word, plural
from tuimon.store import Curve, Run
from tuimon.text import clean, home_relative
from tuimon.tui.action import Action, Dashboard
from tuimon.tui.terminal import clipboard

_action = partial(Action, section="Charts")


def _leading(app: Dashboard) -> Curve | None:
    """Return the leading curve of the selected chart. Without one, display why and return None."""
    run, panel = app.run_shown, app.board.panel
    if run is None or not isinstance(panel, CurvePanel):
        app.say("Only charts can be copied: select one with the arrow keys")
        return None
    curve = panel.leading(run)
    if curve is None or not len(curve):
        app.say("This chart has no point yet")
        return None
    return curve


def _value(app: Dashboard) -> None:
    curve = _leading(app)
    if curve is not None:
        value = repr(float(curve.values[-1]))
        copy(app, value, f"{clean(curve.metric)} at {axis_word(app.run_shown, 'step')} {int(curve.steps[-1])}: {value}")


def _series(app: Dashboard) -> None:
    curve = _leading(app)
    if curve is None:
        return
    rows = (f"{step}\t{value!r}\n" for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    text = f"step\t{clean(curve.metric)}\n" + "".join(rows)
    copy(app, text, f"{plural(len(curve), 'point')} of {clean(curve.metric)}, tab-separated")


def _command(app: Dashboard) -> None:
    run = app.run_shown
    if run is not None:
        command = f"tuimon summary {shell_word(run.path)}"
        copy(app, command, clean(command))


def _report(app: Dashboard) -> None:
    run = app.run_shown
    if run is not None:
        command = f"tuimon report {shell_word(run.path)} -o report.html"
        copy(app, command, clean(command))


def _path(app: Dashboard) -> None:
    run = app.run_selected
    if run is None:
        app.say("There is no run yet")
    else:
        copy(app, clean(run.path, len(run.path)), "the path of the run")


def shell_word(text: str) -> str:
    """Quote `text` for any POSIX shell; printf writes control and invisible characters, which a paste would type.

    Example: "$(printf 'a\\033b')". A command substitution loses newlines at the end, so "/." follows them: the path of
    the same directory."""
    if clean(text, len(text)) == text:
        return shlex.quote(text)
    safe = text if not text.endswith("\n") else f"{text}/."
    return f"\"$(printf '{''.join(map(_escaped, safe))}')\""


def _escaped(character: str) -> str:
    """Return a character in the format of printf."""
    if character.isascii() and (character.isalnum() or character in " /._+,:=@~"):
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


async def _copy_in_tmux(app: Dashboard, text: str, what: str) -> None:
    if done := await clipboard.to_tmux(text):
        app.say(f"Copied {what} ({done})")
    else:
        _copy_in_terminal(app, text, what)


def _copy_in_terminal(app: Dashboard, text: str, what: str) -> None:
    app.write(clipboard.sequence(text))
    app.say(f"Copied {what} (sent to the terminal: OSC 52)")


def copy(app: Dashboard, text: str, what: str) -> None:
    """Copy `text` to the clipboard, or save it to a file if it is too long for a terminal. what: name in messages."""
    if clipboard.fits(text):
        if clipboard.inside_tmux():
            app.screen.app.run_worker(_copy_in_tmux(app, text, what))  # goes on if the screen is closed
        else:
            _copy_in_terminal(app, text, what)
        return
    try:
        path = new_file(".tsv", app.snapshot.runs)
        write_new(path, text)
    except OSError as error:
        app.say(clean(f"Too long for the clipboard, and cannot be saved: {error}"))
    else:
        app.say(f"Too long for the clipboard; saved to {home_relative(path.absolute())}: {what}")


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


_SERIES = "Copy every point of the selected chart; to a file if there are many"
ACTIONS = (
    _action(
        "copy_value", "y", "copy", "Copy the last value of the selected chart, in full", _value, also="clipboard yank"
    ),
    _action("copy_series", "Y", "copy series", _SERIES, _series, also="clipboard csv data export"),
    _action("copy_command", "", "copy command", "Copy the command that prints this run as text", _command),
    _action(
        "copy_report",
        "",
        "copy report command",
        "Copy the command that writes this run as one HTML file",
        _report,
        also="html page share export print",
    ),
    _action(
        "copy_path",
        "",
        "copy path",
        "Copy the path of the run",
        _path,
        also="clipboard yank directory folder file",
    ),
)
