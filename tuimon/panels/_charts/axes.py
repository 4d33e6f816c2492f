"""Axes of a chart: kinds, labels and limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.words import day, time_of_day
from tuimon.draw.limits import finite_values, robust_limits, y_limits
from tuimon.draw.numbers import format_duration, format_exact
from tuimon.model.views import Axis, Envelope
from tuimon.panels._charts.options import X_KINDS, ChartOptions
from tuimon.store import METRIC_AXIS, Curve, Run, Scale
from tuimon.text import clean

_X_LABELS = {"step": "", "duration": "since its start"}
"""Labels of axes that are not labelled with their own name."""
_LOG_FROM = 100.0
"""Ratio at which scale="auto" becomes logarithmic, of the values that a tenth of the points are above and below: a
schedule that decays along a line, or a cosine, to a small value spans orders of magnitude in its last points only."""
_SAMPLES = 1000
"""Number of points of a curve, evenly spread, that scale="auto" looks at."""
_PLACE = 10
"""Maximum characters of the cursor's place on an axis of numbers."""
_LEAST_HEIGHT = 0.25
"""Minimum fraction of the chart's height that its lines keep if the limits are extended to show a band."""


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


def cursor_x(run: Run, scale: Scale, curve: Curve, options: ChartOptions) -> float | None:
    """Return the x value of the cursor's step, or None without a cursor.

    On a time axis it is the time at which the run's most frequent metric was logged, the same on all charts.
    """
    if options.cursor is None:
        return None
    if curve.ordinal:
        if not (scale.is_time or scale.is_counter):
            return float(options.cursor)
        return float(curve.x_of_rows(np.array([min(max(options.cursor, 0), len(curve) - 1)]), scale)[0])
    reference = run.curve(run.busiest_metric) if scale.is_time and run.busiest_metric is not None else curve
    return reference.x_of_step(options.cursor, scale)


def cursor_place(run: Run, axis: str, cursor: int | None, x: float | None) -> str:
    """Return where the cursor is on an axis: "step 150", "epoch 1.5", "time 17:42:03"; "" without a cursor.

    cursor: its step in the run. x: result of `cursor_x`.
    """
    if cursor is None or x is None:
        return ""
    if axis == "step" or not np.isfinite(x):
        return f"{axis_word(run, 'step')} {cursor}"
    if axis == "duration":
        return f"{axis} {format_duration(x)}"
    return f"{axis_word(run, axis)} {time_of_day(x) if axis == 'time' else format_exact(x, _PLACE)}"


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


def y_axis(
    panel: str,
    scale: str,
    curves: Sequence[Curve],
    envelopes: Sequence[Envelope],
    beside: Sequence[Envelope],
    options: ChartOptions,
    label: str,
    kind: str = "number",
) -> Axis:
    """Return the y axis for these envelopes.

    panel: the panel's id. scale: the panel's own scale, linear | auto. beside: bands and thresholds, which extend the
    limits as long as the lines keep _LEAST_HEIGHT. kind: see Axis.
    """
    chosen = options.y_scale if options.y_scale != "auto" else _scale_of(scale, curves)
    fixed = options.fixed_limits(panel)
    if fixed is not None and (chosen != "log" or fixed[0] > 0):
        return Axis(*fixed, chosen, kind, label)
    robust = robust_limits(envelopes, chosen) if options.y_range == "robust" else None
    if robust is not None:
        low, high = y_limits((), chosen, robust)
    else:
        shown = [*envelopes, *beside] if _leave_room(envelopes, beside) else envelopes
        low, high = y_limits(shown, chosen)
    return Axis(low, high, chosen, kind, label)


def _leave_room(envelopes: Sequence[Envelope], beside: Sequence[Envelope]) -> bool:
    lines, both = finite_values(envelopes), finite_values([*envelopes, *beside])
    if not len(lines):
        return True
    with np.errstate(over="ignore"):
        return bool(np.ptp(lines) >= np.ptp(both) * _LEAST_HEIGHT)


def _scale_of(scale: str, curves: Sequence[Curve]) -> str:
    if scale != "auto":
        return scale
    lows = [curve.min.value for curve in curves if curve.min is not None]
    if not lows or min(lows) <= 0:
        return "linear"
    values = np.concatenate([curve.values[:: -(-len(curve) // _SAMPLES)] for curve in curves if len(curve)])
    values = values[np.isfinite(values)]
    if not len(values):
        return "linear"
    low, high = np.percentile(values, (10, 90), method="closest_observation")
    return "log" if high / low >= _LOG_FROM else "linear"


def window_limits(run: Run, curve: Curve, options: ChartOptions) -> tuple[float, float] | None:
    """Return the limits of the window on its axis, as in the chart of a curve; None if all is shown."""
    scale = run.scale(options.axis_of(run))
    limits = curve.limits(scale)
    if options.window is None or limits is None:
        return None
    last = max(limits[1], end_of_data(run, scale, curve.metric, limits[1]))
    return options.window.limits(last, X_KINDS.get(scale.name, "number"))
