"""level(): the final level of a curve and its standard error, by which runs are compared.

Noise is the deviation of a point from the underlying curve. It is estimated from the second differences d of
neighbouring points, on which a curve that rises or falls ever more slowly has little influence (after von Neumann,
"Distribution of the Ratio of the Mean Square Successive Difference to the Variance", 1941). Medians are used instead of
squares, so that a few spikes have no influence: noise = median |d - median d| / (0.6745 sqrt 6), the factor being that
of a normal distribution. If most differences are equal, squares are used.

The standard error of a level is at least s / sqrt(n) of the n points that it is the mean of, with their deviation s
from a line through them: a trend is not noise. It is more if the noise of the whole curve is greater than s and s could
have come from it by chance, and if the points are correlated (a mean of the last 100 episodes), because the mean
of n such points varies as that of fewer independent points, and n of them scatter less about a line than all of the
noise does. Two estimates are used:

- the noise of the last points, up to six times as many as the level has and two thirds of the curve, as a process with
  one `autocorrelation`. 1,000 pairs of equal curves with noise of autocorrelation 0.5, 0.7 and 0.9 were called
  different in 4, 6 and 11 % of the cases with 60 points, 4, 3 and 8 % with 100, and 4, 3 and 2 % with 400 (without it
  in 30, 52 and 75 %, 32, 49 and 77 %, 14, 26 and 58 %);
- the scatter of the means of blocks of points (Flyvbjerg & Petersen, "Error estimates on averages of correlated data",
  1989), for correlations of other kinds in levels of many points.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tuimon.analysis.autocorrelation import autocorrelation
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
_LEVELS = 6
"""Number of points from which an autocorrelation is estimated, as a multiple of those of the level."""
_LATE = 2 / 3
"""Maximum part of a curve from which an autocorrelation is estimated: a steep beginning is not a polynomial."""
_MOST_BLOCKS = 32
"""Maximum number of means that represent the points of a level with an autocorrelation."""
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
    deviation = _not_by_chance(deviation, usual, freedom)
    error = max(deviation / math.sqrt(count), _error_of_blocks(_deviations(window)[0] if with_trend else rest))
    correlated, error_of_mean = _of_correlated(values, window, scale, usual)
    return Level(mean, max(error, error_of_mean) * scale, max(deviation, correlated) * scale, count)


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


def _of_correlated(values: Floats, window: Floats, scale: float, usual: float) -> tuple[float, float]:
    """Return the standard deviation of the noise, and the standard error of the mean of the last points, as those of
    noise with an autocorrelation; 0 and 0 if it has none.

    window: the finite last values / scale. usual: noise of the curve / scale. Means of blocks are used if it is long.
    """
    size = -(-len(window) // _MOST_BLOCKS)
    late = values[-min(_LEVELS * points_of_level(len(values)), int(_LATE * len(values))) :]
    late = late[np.isfinite(late)] / scale
    points = late[len(late) % size :].reshape(-1, size).mean(axis=1) if size > 1 else late
    rho = autocorrelation(points)
    if not rho:
        return 0.0, 0.0
    count = len(window) // size
    rest, freedom = _deviations(points[-count:])
    steps = np.arange(count)
    correlations = rho ** np.abs(steps[:, None] - steps)
    part = float(correlations.sum()) / count**2  # variance of the mean, as a part of that of a point
    expected = count * (1 - part)  # sum of the squares of the rest, as a multiple of the variance of a point
    if freedom < count - 1:
        line = steps - (count - 1) / 2
        expected -= float(line @ correlations @ line) / float(line @ line)
    own = math.sqrt(float(rest @ rest) / expected)
    # the noise is from second differences d, with mean d^2 = 2 (1 - rho) (3 - rho) variances of a point instead of 6
    usual = (noise(points) if size > 1 else usual) * math.sqrt(3 / ((1 - rho) * (3 - rho)))
    deviation = _not_by_chance(own, usual, freedom)
    return deviation, deviation * math.sqrt(part)


def _not_by_chance(deviation: float, usual: float, freedom: int) -> float:
    """Return the deviation, or the usual one if the deviation is smaller and could be so by chance."""
    return usual if deviation < usual and not _is_too_small(deviation / usual, freedom) else deviation


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
