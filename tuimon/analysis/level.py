"""level(): the mean of the last tenth of a curve and its standard error; difference(): how much two curves differ.

    Level(value=0.7471, error=0.0102, count=20)

Noise is what deviates from a trend, and each point shares the part rho of it with the one before; `mean_error` makes
the standard error (SE) of a mean from it. rho is corrected for
the deviations being smaller than the noise, and raised by 1.5 of its standard errors where a difference is judged, so
that a drift that looks like one is seldom called one. The SE of a level comes from the last two thirds of the points.
The trend of a single curve is a parabola. It is at most what second differences allow (`most_noise`).

Two curves are subtracted at equal positions first. What both have in common, such as a falling loss or a schedule, then
cancels. The trend of the difference is a line from 30 points on, else constant. At most 4 % of equal pairs with a rho
of 0 to 0.95 are called different.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from msgspec import Struct

from tuimon.model.points import Floats

CHANCE = 0.02
"""Probability with which noise alone is called a difference; with strongly correlated noise it is up to 5 %."""
_PART = 0.1
_FEWEST = 5
_QUARTER = 4
_LATE, _LATE_OF_DIFFERENCE = 2 / 3, 4 / 5
"""Part of the points from which noise is estimated; a difference has less of a trend than a curve."""
_FEWEST_LATE = 5
"""Minimum number of points from which noise is estimated."""
_CAUTION = 1.5
"""Standard errors by which rho is raised."""
_MOST_SHARED = 0.98
"""Maximum of rho."""
_LEAST_FREEDOM = 4
"""Minimum degrees of freedom of the noise of curves: rho is cautious already."""
_FEWEST_OF_LINE = 30
"""Number of points from which the trend of a difference may be a line."""
_PARABOLA = 2
"""Degree of the trend of a single curve."""
_WANDERING = 5.4
"""Deviation of noise with a rho of 0.95, relative to that of its second differences if it had none."""
_MEAN_TO_DEVIATION = 1.2533
"""Standard deviation of normal noise, relative to its mean deviation."""
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Part of the largest value below which a deviation is a rounding error."""


class Level(Struct, frozen=True):
    """Level of a curve at its end."""

    value: float
    """Mean of the finite ones of the last points; the last value, such as infinity, if none of them is finite."""
    error: float
    """Standard error of the mean; NaN if it is unknown."""
    count: int
    """Number of points of the mean."""


class Difference(Struct, frozen=True):
    """Difference of two levels, or of the means of two groups of runs."""

    value: float
    error: float
    """Standard error; NaN if it is unknown."""
    freedom: int
    """Degrees of freedom of the standard error."""

    @property
    def is_known(self) -> bool:
        """Whether its standard error is known."""
        return math.isfinite(self.error) and math.isfinite(self.value)

    def is_beyond_noise(self, pairs: int = 1) -> bool:
        """Return whether noise explains the difference in at most 2 % of the cases; False if the noise is unknown.

        pairs: number of differences among which this one was found, which the 2 % are divided by.
        """
        if not self.is_known or self.value == 0:
            return False
        return self.error == 0 or chance_of(self.value / self.error, self.freedom) < CHANCE / max(pairs, 1)


UNKNOWN = Difference(math.nan, math.nan, 0)


def level(values: Floats) -> Level:
    """Return the level of the last tenth of the values, or of the last 5 (at most a quarter) if that is more.

    Values of these that are not finite are left out. A run that has diverged is not judged by its values before.
    """
    window, scale = _last_part(values)
    if not len(window):
        return Level(level_value(values), math.nan, 0)
    error, _ = level_error(values, len(window))
    return Level(float(window.mean()) * scale, error, len(window))


def level_value(values: Floats) -> float:
    """Return the value of the level without its error, which takes most of the time. Only the last values are read."""
    window, scale = _last_part(values)
    if not len(window):
        return float(values[-1]) if len(values) else math.nan
    return float(window.mean()) * scale


def level_error(values: Floats, count: int) -> tuple[float, int]:
    """Return the standard error of the mean of the last `count` values, and its degrees of freedom; NaN if unknown."""
    late = _late(values, _LATE)
    return mean_error(late[np.isfinite(late)], count, _PARABOLA)


def points_of_level(count: int) -> int:
    """Return how many of `count` points are the last ones that the level is the mean of."""
    return max(round(count * _PART), min(_FEWEST, count // _QUARTER), 1)


def difference(x: Floats, values: Floats, other_x: Floats, others: Floats) -> Difference:
    """Return the difference of the levels of two curves, where both have points. UNKNOWN if they have none in common.

    x, other_x: ascending positions. Where they differ, the curve with more points is read at those of the other one,
    between two points on the line through them.
    """
    if not (np.isfinite(values[-1:]).all() and np.isfinite(others[-1:]).all()):
        return UNKNOWN
    if len(x) != len(other_x) or not np.array_equal(x, other_x):
        sign = 1.0
        if len(x) > len(other_x):
            x, values, other_x, others, sign = other_x, others, x, values, -1.0
        is_common = (x >= other_x[0]) & (x <= other_x[-1])
        x, values = x[is_common], values[is_common]
        known = np.isfinite(others)
        if not known.any() or not len(x):
            return UNKNOWN
        values, others = sign * values, sign * np.interp(x, other_x[known], others[known])
    finite = np.isfinite(values) & np.isfinite(others)
    scale = float(max(np.abs(values[finite]).max(initial=0.0), np.abs(others[finite]).max(initial=0.0))) or 1.0
    apart = values[finite] / scale - others[finite] / scale
    apart[np.abs(apart) < _ROUNDING] = 0.0
    count = points_of_level(len(apart))
    late = _late(apart, _LATE_OF_DIFFERENCE)
    if not len(late):
        return UNKNOWN
    error, freedom = mean_error(late, count, int(len(late) >= _FEWEST_OF_LINE))
    return Difference(float(late[-count:].mean()) * scale, error * scale, freedom)


def mean_error(points: Floats, count: int, degree: int = 0) -> tuple[float, int]:
    """Return the standard error of the mean of the last `count` points, and its degrees of freedom; see the module.

    NaN and 0 for too few points. degree: that of the polynomial that is their trend.
    """
    number = len(points)
    if number < _FEWEST_LATE + degree:
        return math.nan, 0
    scale = float(np.abs(points).max()) or 1.0  # so that no square overflows
    trend = _trend(number, degree)
    rest = points / scale - trend @ (points / scale @ trend)
    rest[np.abs(rest) < _ROUNDING] = 0.0
    squares = float(np.square(rest).sum())
    shared = float((rest[1:] * rest[:-1]).sum()) / (squares or 1.0)
    # what fitted deviations share is smaller on average by ((degree + 1) (1 + rho) + 2 rho) / number
    room = 1 - (degree + 3) / number
    shared = (shared + (degree + 1) / number) / room if room > 0 else 1.0
    shared += _CAUTION * math.sqrt(max(1 - min(shared, 1.0) ** 2, 0.0) / number)
    shared = min(max(shared, 0.0), _MOST_SHARED)
    of_all = _variance_of_mean(number, shared)
    lost = min((degree + 1) * of_all, 0.95)  # part of the noise that the trend takes away
    error = math.sqrt(squares / number / (1 - lost) * _variance_of_mean(count, shared)) * scale
    if error > (most := most_noise(points)):
        return most, number // 2
    return error, max(round(1 / of_all), _LEAST_FREEDOM) if error else number


def most_noise(points: Floats, caution: float = 1.3) -> float:
    """Return the most that the deviation of the noise of points can be, by their second differences.

    Those of noise with a rho of 0.95 are a fifth of what they are without; a smooth curve that bends has less noise
    than what deviates from its trend. caution: factor.
    """
    bends = float(np.abs(np.diff(points, 2)).mean())
    return caution * _WANDERING * _MEAN_TO_DEVIATION / math.sqrt(6) * bends


@lru_cache(maxsize=64)
def _trend(number: int, degree: int) -> Floats:
    """Return orthogonal polynomials up to a degree at evenly spread points, as columns."""
    columns: Floats = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, number), degree + 1))[0]
    return columns


def _variance_of_mean(count: int, shared: float) -> float:
    """Return the variance of the mean of correlated points, as a part of the variance of one."""
    loss = 2 * shared * (1 - shared**count) / (count * (1 - shared) ** 2)
    return ((1 + shared) / (1 - shared) - loss) / count


def chance_of(ratio: float, freedom: int) -> float:
    """Return the probability that noise alone makes |difference / standard error| at least this ratio.

    It is 1 - A(t|v) of Student's distribution (Abramowitz & Stegun, "Handbook of Mathematical Functions", 26.7.3-4).
    """
    ratio = abs(ratio)
    if freedom > 300 or not math.isfinite(ratio):
        return math.erfc(ratio / math.sqrt(2)) if ratio == ratio else 1.0
    angle = math.atan(ratio / math.sqrt(freedom))
    cosine = math.cos(angle) ** 2
    is_odd = freedom % 2
    total, term = 0.0, math.cos(angle) if is_odd else 1.0
    for number in range(1, (freedom - is_odd) // 2 + 1):
        total += term
        term *= cosine * (2 * number - (not is_odd)) / (2 * number + is_odd)
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if is_odd else math.sin(angle) * total
    return max(1 - inside, 0.0)


def difference_of_groups(first: Floats, second: Floats) -> Difference:
    """Return the difference of the means of two groups of results, by Student's t-test with their common deviation.

    Groups of one result each have no deviation: the error is NaN.
    """
    scale = float(max(np.abs(first).max(), np.abs(second).max())) or 1.0
    first, second = first / scale, second / scale
    freedom = len(first) + len(second) - 2
    value = float(first.mean() - second.mean()) * scale
    if freedom < 1:
        return Difference(value, math.nan, 0)
    squares = sum(float(((own - own.mean()) ** 2).sum()) for own in (first, second))
    error = math.sqrt(squares / freedom * (1 / len(first) + 1 / len(second)))
    return Difference(value, error * scale, freedom)


def _late(values: Floats, part: float) -> Floats:
    """Return the last part of the values, and at least those of the level."""
    return values[-max(round(part * len(values)), points_of_level(len(values))) :]


def _last_part(values: Floats) -> tuple[Floats, float]:
    """Return the finite values of the level divided by a scale, so that no square or sum overflows, and the scale."""
    window = values[-points_of_level(len(values)) :]
    window = window[np.isfinite(window)]
    scale = float(np.abs(window).max(initial=0.0)) or 1.0
    return window / scale, scale
