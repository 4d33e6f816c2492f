"""level(): the final level of a curve and its standard error, by which runs are compared.

Noise is the deviation of a point from the underlying curve. It is estimated from the second differences d of
neighbouring points, on which a curve that rises or falls ever more slowly has little influence (after von Neumann,
"Distribution of the Ratio of the Mean Square Successive Difference to the Variance", 1941). Medians are used instead of
squares, so that a few spikes have no influence: noise = median |d - median d| / (0.6745 sqrt 6), the factor being that
of a normal distribution. If most differences are equal, squares are used.

The standard error of a level is at least s / sqrt(n) of the n points that it is the mean of, with their deviation s
from a line through them: a trend is not noise. It is more if the noise of the whole curve is greater than s and s could
have come from it by chance, and if the points are correlated (a mean of the last 100 episodes): then the means of
blocks of points scatter more than independent points would explain (Flyvbjerg & Petersen, "Error estimates on averages
of correlated data", 1989).
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats

_NORMAL = 0.6744897501960817
"""Phi^-1(3/4)."""
_PART = 0.1
_FEWEST = 5
_QUARTER = 4
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Noise below this part of the largest value is a rounding error."""
_FEWEST_OF_LINE = 4
"""Minimum number of points of a level from which a trend is removed."""
_FEWEST_BLOCKS = 8
"""Least number of blocks from which a standard error is estimated."""
_UNLIKELY = 2.326
"""Phi^-1(0.99): a smaller deviation has come by chance in less than 1 % of the cases."""
_SIGNIFICANT = 2.0
"""Standard errors (95 %) that two levels must differ by."""


class Level(Struct, frozen=True):
    """Level of a curve at its end. If none of its points is finite, value is the last one and the others are NaN."""

    value: float
    """Mean of the finite ones of the last points; the last value, such as infinity, if none of them is finite."""
    error: float
    """Standard error of the mean; NaN if there is only one point. 0 only if the points are on a line."""
    noise: float
    """Standard deviation of one point; NaN if there is only one point."""
    count: int
    """Number of points of the mean."""

    @property
    def is_known(self) -> bool:
        """Whether the noise is known, without which no other level can be compared with this one."""
        return math.isfinite(self.value) and math.isfinite(self.error)

    def differs_from(self, other: Level) -> bool:
        """Return whether two levels differ by more than noise explains; False if the noise of one is unknown."""
        explained = _SIGNIFICANT * math.hypot(self.error, other.error)
        return self.is_known and other.is_known and abs(self.value - other.value) > explained

    def is_within_noise_of(self, other: Level) -> bool:
        """Return whether noise explains the difference of two levels; False if the noise of one is unknown."""
        return self.is_known and other.is_known and not self.differs_from(other)


def noise(values: Floats) -> float:
    """Return the standard deviation of a point from the underlying curve; NaN with fewer than 4 finite values."""
    finite = values[np.isfinite(values)]
    if len(finite) < 4:
        return math.nan
    scale = float(np.abs(finite).max()) or 1.0
    steps = np.diff(finite / scale, 2)
    deviations = np.abs(steps - np.median(steps))
    middle = float(np.median(deviations))
    scaled = middle / (_NORMAL * math.sqrt(6)) if middle else math.sqrt(float(np.square(deviations).mean()) / 6)
    return scaled * scale if scaled > _ROUNDING else 0.0


def level(values: Floats, with_trend: bool = False) -> Level:
    """Return the level of the last tenth of the values, or of the last 5 (at most a quarter) if that is more.

    Values of these that are not finite are left out. A run that has diverged is not judged by its values before.
    with_trend: count a trend as noise, for levels that are not of the same steps.
    """
    window, scale = _last_part(values)
    if not len(window):
        return Level(float(values[-1]) if len(values) else math.nan, math.nan, math.nan, 0)
    count, mean = len(window), float(window.mean()) * scale
    if count < 2:
        return Level(mean, math.nan, math.nan, count)
    rest, freedom = _deviations(window, with_trend)
    deviation = math.sqrt(float(rest @ rest) / freedom)
    usual = noise(values) / scale
    if deviation < usual and not _is_too_small(deviation / usual, freedom):
        deviation = usual
    error = max(deviation / math.sqrt(count), _error_of_blocks(_deviations(window)[0]))
    return Level(mean, error * scale, deviation * scale, count)


def level_value(values: Floats) -> float:
    """Return the value of the level without its error, which takes most of the time. Only the last values are read."""
    window, scale = _last_part(values)
    if not len(window):
        return float(values[-1]) if len(values) else math.nan
    return float(window.mean()) * scale


def points_of_level(count: int) -> int:
    """Return how many of `count` points are the last ones that the level is the mean of."""
    return max(round(count * _PART), min(_FEWEST, count // _QUARTER), 1)


def _last_part(values: Floats) -> tuple[Floats, float]:
    """Return the finite values of the level divided by a scale, so that no square or sum overflows, and the scale."""
    window = values[-points_of_level(len(values)) :]
    window = window[np.isfinite(window)]
    scale = float(np.abs(window).max(initial=0.0)) or 1.0
    return window / scale, scale


def _is_too_small(ratio: float, freedom: int) -> bool:
    """Return whether it is unlikely that a sample deviation is this part of the true one.

    Chi-square by the approximation of Wilson & Hilferty, "The Distribution of Chi-square" (1931).
    """
    spread = 2 / (9 * freedom)
    return math.pow(ratio, 2 / 3) < 1 - spread - _UNLIKELY * math.sqrt(spread)


def _deviations(window: Floats, with_trend: bool = False) -> tuple[Floats, int]:
    """Return the deviations of at least two values from a line through them, and their degrees of freedom.

    The deviations are from the mean if the trend is to be a part of them, and of fewer than 4 values, to which some
    line always fits well.
    """
    count = len(window)
    rest = window - window.mean() if window.min() < window.max() else np.zeros(count)
    if with_trend or count < _FEWEST_OF_LINE:
        return rest, count - 1
    steps = np.arange(count) - (count - 1) / 2
    rest = rest - steps * float(steps @ rest) / float(steps @ steps)
    rest[np.abs(rest) < _ROUNDING] = 0.0
    return rest, count - 2


def _error_of_blocks(values: Floats) -> float:
    """Return the greatest standard error of the mean that the means of blocks of 2, 4, 8 … values give, or 0."""
    error, means = 0.0, values
    while len(means) >= 2 * _FEWEST_BLOCKS:
        means = means[len(means) % 2 :].reshape(-1, 2).mean(axis=1)
        error = max(error, float(means.std(ddof=1)) / math.sqrt(len(means)))
    return error
