"""What is drawn of one curve: its points, an average over them, what a restart superseded, the band around a mean."""

from __future__ import annotations

import math
import re
from functools import lru_cache

import numpy as np

from tuimon.analysis.smoothing import smooth
from tuimon.model.points import Floats
from tuimon.model.views import Envelope
from tuimon.panels._select import curve_or_none
from tuimon.store import Curve, Run, Scale, of_points

BLOCKS = 2048
"""An average counts in at most so many values inside a chart, each the mean of a block of points."""
_FORGOTTEN = 1e-9
"""The weight from which on what lies further back is left out of an average."""
_MEAN = re.compile(r"(?<![a-zA-Z])(mean|avg)(?![a-zA-Z])")


def scaled(envelope: Envelope, factor: float) -> Envelope:
    """An envelope with its values multiplied."""
    if factor == 1.0:
        return envelope
    low, high = envelope.low * factor, envelope.high * factor
    if factor < 0:
        low, high = high, low
    return Envelope(low, high, envelope.first * factor, envelope.last * factor, envelope.gap_after)


def smoothed(
    curve: Curve, weight: float, low: float, high: float, columns: int, scale: Scale, factor: float
) -> tuple[Envelope, int]:
    """(the debiased exponential average of a curve between two x values, points in a block).

    Up to 2048 points inside the window it is that of every point since the first (what lies so far back that its weight
    is below 1e-9 is left out). Of more points, blocks of 2, 4, 8 … are averaged first, so that a weight smooths a chart
    as much however long the curve is, at a cost that depends on the chart alone.
    """
    before = math.ceil(math.log(_FORGOTTEN) / math.log(weight))
    x, values, block = curve.means(low, high, BLOCKS, before, scale)
    average = smooth(values, weight)
    known = np.isfinite(average)
    return scaled(of_points(x[known], average[known], low, high, columns), factor), block


@lru_cache(maxsize=4096)
def sides_of(metric: str) -> tuple[str, str] | None:
    """The names of the minimum and the maximum that go with a mean: critic/rewards/mean, completions/mean_length."""
    if len(metric) > 512 or not _MEAN.search(metric):
        return None
    low, high = ("".join(_last_replaced(metric, word)) for word in ("min", "max"))
    return low, high


def _last_replaced(metric: str, word: str) -> str:
    *_, found = _MEAN.finditer(metric)
    return metric[: found.start()] + word + metric[found.end() :]


def band_around(
    run: Run, metric: str, low: float, high: float, columns: int, scale: Scale, factor: float
) -> Envelope | None:
    """Between the minimum and the maximum that were logged beside a mean; None where they were not.

    Where a column has no point of them, what lies between its neighbours: an area has no holes."""
    names = sides_of(metric)
    if names is None or any(name not in run.main_metrics for name in names):
        return None
    curves = [curve_or_none(run, name) for name in names]
    below, above = (curve.envelope(low, high, columns, scale) if curve else None for curve in curves)
    if below is None or above is None:
        return None
    least, most = filled(below.low), filled(above.high)
    if least is None or most is None:
        return None
    return scaled(Envelope(least, most, least, most, np.ones(columns)), factor)


def filled(values: Floats) -> Floats | None:
    """Columns without a value take what lies between their neighbours; none before the first and behind the last.
    None without any."""
    full = np.flatnonzero(np.isfinite(values))
    if not len(full):
        return None
    at = np.arange(len(values))
    found = np.interp(at, full, values[full])
    found[(at < full[0]) | (at > full[-1])] = np.nan
    return found
