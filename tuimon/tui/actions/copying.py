"""Copy what is seen: a value, a whole series, the command that prints the run."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

from tuimon.panels import CurvePanel
from tuimon.store import Curve
from tuimon.text import clean
from tuimon.tui import _textual, clipboard
from tuimon.tui.actions import Action
from tuimon.tui.saving import saved_as

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_action = partial(Action, section="Charts")


def _leading(app: TuimonApp) -> Curve | None:
    """The curve that leads the selected chart; None, and the reason said, where there is none."""
    run = app.run_shown
    panel = app.board.panels[app.board.selected] if app.board.panels else None
    if run is None or not isinstance(panel, CurvePanel):
        app.say("Only charts can be copied: select one with the arrow keys")
        return None
    curve = panel.leading(run)
    if curve is None or not len(curve):
        app.say("This chart has no point yet")
        return None
    return curve


def _value(app: TuimonApp) -> None:
    curve = _leading(app)
    if curve is not None:
        value = repr(float(curve.values[-1]))
        copy(app, value, f"{clean(curve.metric)} at step {int(curve.steps[-1])}: {value}")


def _series(app: TuimonApp) -> None:
    curve = _leading(app)
    if curve is None:
        return
    rows = (f"{step}\t{value!r}\n" for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    text = f"step\t{clean(curve.metric)}\n" + "".join(rows)
    copy(app, text, f"{len(curve)} points of {clean(curve.metric)}, tab-separated")


def _command(app: TuimonApp) -> None:
    run = app.run_shown
    if run is not None:
        command = f"tuimon summary {shlex.quote(run.path)}"
        copy(app, command, clean(command))


def copy(app: TuimonApp, text: str, what: str) -> None:
    """Into the clipboard; what no terminal takes, into a file in the current directory."""
    if clipboard.fits(text):
        _textual.write(app, clipboard.sequence(text))
        app.say(f"Copied {what}")
        return
    try:
        path = saved_as(".tsv", app.snapshot.runs)
        with path.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        app.say(clean(f"Too long for a terminal, and not saved: {error}"))
    else:
        app.say(f"Too long for a terminal; saved to {path}: {what}")


ACTIONS = (
    _action("copy_value", "y", "copy", "Copy the last value of the selected chart, in full", _value),
    _action("copy_series", "Y", "copy series", "Copy every point of the selected chart; many, into a file", _series),
    _action("copy_command", "", "copy command", "Copy the command that prints this run as text", _command),
)
