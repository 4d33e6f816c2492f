"""Actions that copy: a value, a series, or the command that prints the run."""

from __future__ import annotations

from tuimon.panels import CurvePanel, axis_word, plural
from tuimon.store import Curve
from tuimon.text import clean
from tuimon.tui.action import TuimonApp
from tuimon.tui.copying import copy
from tuimon.tui.screens.work_screen import WorkScreen


def _leading(app: TuimonApp) -> Curve | None:
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


def copy_selected(app: TuimonApp) -> None:
    """Copy what the screen has selected, or the last value of the selected chart."""
    if not isinstance(app.screen, WorkScreen):
        _value(app)
    elif (copied := app.screen.copied()) is None:
        app.say("Nothing is selected that could be copied")
    else:
        copy(app, *copied)


def _value(app: TuimonApp) -> None:
    curve = _leading(app)
    if curve is not None:
        value = repr(float(curve.values[-1]))
        copy(app, value, f"{clean(curve.metric)} at {axis_word(app.run_shown, 'step')} {int(curve.steps[-1])}: {value}")


def copy_series(app: TuimonApp) -> None:
    curve = _leading(app)
    if curve is None:
        return
    rows = (f"{step}\t{value!r}\n" for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    text = f"step\t{clean(curve.metric)}\n" + "".join(rows)
    copy(app, text, f"{plural(len(curve), 'point')} of {clean(curve.metric)}, tab-separated")
