"""Axes of a chart: their names and labels, and the limits of x."""

from __future__ import annotations

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.words import day
from tuimon.panels._charts.options import X_KINDS, ChartOptions
from tuimon.store import METRIC_AXIS, Curve, Run, Scale
from tuimon.text import clean

_X_LABELS = {"step": "", "duration": "since its start"}
"""Labels of axes that are not labelled with their own name."""


def x_label(axis: str, low: float, high: float, named: bool = False) -> str:
    """Return the label of an x axis; for a time axis within a day, the date (longer ones have dates as ticks).

    named: whether the axis is named elsewhere on the screen.
    """
    if axis == "time":
        return day(low) if day(low) == day(high) else ""
    return "" if named else clean(_X_LABELS.get(axis, axis.removeprefix(METRIC_AXIS)))


def axis_word(run: Run | None, axis: str) -> str:
    """Return the name of an axis: what the steps of the run count (see `step_name`), or the name of a metric."""
    if axis == "step" and run is not None:
        return step_name(run)
    return clean(axis.removeprefix(METRIC_AXIS))


def end_of_data(run: Run, scale: Scale, metric: str, last: float) -> float:
    """Return the end of the run's data on an axis, which all charts of the run follow, also of rarely logged metrics.

    last: the metric's own end, returned if it is not logged by the main sources.
    """
    if metric not in run.main_metrics:
        return last
    if scale.is_counter:
        return float(scale.counts[-1])
    if scale.name == "time":
        return run.last_wall_time
    if scale.name == "duration":
        return run.duration
    return last if run.last_step is None else float(run.last_step - scale.zero)


def window_limits(run: Run, curve: Curve, options: ChartOptions) -> tuple[float, float] | None:
    """Return the limits of the window on its axis, as in the chart of a curve; None if all is shown."""
    scale = run.scale(options.axis_of(run))
    limits = curve.limits(scale)
    if options.window is None or limits is None:
        return None
    last = max(limits[1], end_of_data(run, scale, curve.metric, limits[1]))
    return options.window.limits(last, X_KINDS.get(scale.name, "number"))
