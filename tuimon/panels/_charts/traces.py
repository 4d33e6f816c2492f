"""Envelopes of one curve: its points, a smoothed average, the band around a mean."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tuimon import lazy_re as re
from tuimon.analysis.smoothing import smooth
from tuimon.draw.spark import spark_columns, sparkline
from tuimon.model.points import Floats
from tuimon.model.views import Envelope, Symbols
from tuimon.panels._metrics import curve_or_none
from tuimon.store import Curve, Run, Scale, envelope_of_points
from tuimon.store.envelope import wide_enough

_BLOCKS = 2048
"""Maximum number of values (block means) per chart that an average is computed from."""
_NEGLIGIBLE = 1e-9
"""Points with a smaller weight than this are left out of an average."""
_MEAN = re.compile(r"(?<![a-zA-Z])(mean|avg)(?![a-zA-Z])")


def scaled(envelope: Envelope, factor: float) -> Envelope:
    """Return the envelope with its values multiplied by `factor`."""
    if factor == 1.0:
        return envelope
    low, high = envelope.low * factor, envelope.high * factor
    if factor < 0:
        low, high = high, low
    return Envelope(low, high, envelope.first * factor, envelope.last * factor, envelope.gap_after)


def spark(curve: Curve, factor: float, cells: int, symbols: Symbols) -> str:
    """Return the curve as a sparkline of `cells` cells; "" without a point."""
    limits = curve.limits()
    if limits is None:
        return ""
    envelope = curve.envelope(*wide_enough(*limits), spark_columns(cells, symbols))
    return sparkline(scaled(envelope, factor), cells, symbols)


class Smoothed(NamedTuple):
    """The average of a curve, as it is drawn."""

    envelope: Envelope
    block: int
    """Number of points in a block."""
    at_cursor: float | None
    """The average at the last point at or before the cursor; None without a cursor or outside of the x limits."""


def smoothed(
    curve: Curve,
    weight: float,
    low: float,
    high: float,
    columns: int,
    scale: Scale,
    factor: float,
    cursor: int | None = None,
) -> Smoothed:
    """Return the debiased exponential average between two x values. cursor: step of the cursor, or None.

    Up to 2048 points inside the window, the average covers every point since the first (except points whose weight is
    below 1e-9). Of more points, blocks of 2, 4, 8 … are averaged first: a weight then smooths a chart as much whatever
    the length of the curve, and the cost depends on the chart only.
    """
    before = math.ceil(math.log(_NEGLIGIBLE) / math.log(weight))
    x, values, block = curve.block_means(low, high, _BLOCKS, before, scale)
    average = smooth(values, weight)
    known = np.isfinite(average)
    x, average = x[known], average[known]
    at_cursor: float | None = None
    if cursor is not None and (row := curve.row_after(cursor) - 1) >= 0:
        place = float(curve.x_of_rows(np.array([row]), scale)[0])
        last = int(np.searchsorted(x, place, "right")) - 1
        if low <= place <= high and last >= 0:
            at_cursor = float(average[last]) * factor
    return Smoothed(scaled(envelope_of_points(x, average, low, high, columns), factor), block, at_cursor)


@lru_cache(maxsize=4096)
def band_metrics(metric: str) -> tuple[str, str] | None:
    """Return the names of the minimum and maximum of a mean (critic/rewards/mean, completions/mean_length), or None."""
    matches = list(_MEAN.finditer(metric)) if len(metric) <= 512 else []
    if not matches:
        return None
    before, after = metric[: matches[-1].start()], metric[matches[-1].end() :]
    return f"{before}min{after}", f"{before}max{after}"


def band_around(
    run: Run, metric: str, low: float, high: float, columns: int, scale: Scale, factor: float
) -> Envelope | None:
    """Return the band from the minimum to the maximum logged with a mean, or None if they were not logged.

    Columns without a point are interpolated, so that the area has no holes.
    """
    names = band_metrics(metric)
    if names is None or any(name not in run.main_metrics for name in names):
        return None
    curves = [curve_or_none(run, name) for name in names]
    below, above = (curve.envelope(low, high, columns, scale) if curve else None for curve in curves)
    if below is None or above is None:
        return None
    least, most = interpolated(below.low), interpolated(above.high)
    if least is None or most is None:
        return None
    return scaled(Envelope(least, most, least, most, np.ones(columns)), factor)


def interpolated(values: Floats) -> Floats | None:
    """Fill NaN columns between finite ones by linear interpolation; return None if no column is finite."""
    full = np.flatnonzero(np.isfinite(values))
    if not len(full):
        return None
    return np.interp(np.arange(len(values)), full, values[full], left=np.nan, right=np.nan)
