"""Numbers about distributions: limits, means, and counts on common buckets."""

from __future__ import annotations

from itertools import pairwise
from math import nan

from tuimon.media import Distribution


def total(shown: Distribution) -> float:
    """Return the number of values."""
    return shown.moments.num if shown.moments else sum(shown.counts)


def limited(shown: Distribution) -> Distribution:
    """Return a distribution whose outer edges are the smallest and the largest value, if they were logged."""
    if shown.moments is None:
        return shown
    low, high = shown.moments.min, shown.moments.max
    inner = (min(max(edge, low), high) for edge in shown.edges[1:-1])
    return shown._replace(edges=(low, *inner, high))


def rebucket(shown: Distribution, low: float, high: float, count: int) -> list[float]:
    """Return the number of values in each of `count` equal parts of low to high. Values are assumed to be evenly spread
    within their bucket; a bucket without width belongs to one part."""
    parts = [0.0] * count
    width = (high - low) / count
    if not width > 0:
        parts[0] = sum(shown.counts)
        return parts
    for value, (left, right) in zip(shown.counts, pairwise(shown.edges), strict=True):
        if not value:
            continue
        first = max(0, min(count - 1, int((left - low) / width)))
        last = max(first, min(count - 1, int((right - low) / width)))
        if first == last or right <= left:
            parts[first] += value
            continue
        for index in range(first, last + 1):
            begin, end = max(left, low + index * width), min(right, low + (index + 1) * width)
            parts[index] += value * max(0.0, end - begin) / (right - left)
    return parts


def mean(shown: Distribution) -> float:
    """Return the logged sum divided by the number of values; see `is_exact`.

    Without a logged sum, each value is taken as the middle of its bucket. NaN if there are no values.
    """
    if shown.moments is not None and shown.moments.sum is not None:
        return shown.moments.sum / shown.moments.num
    everything = sum(shown.counts)
    middles = ((low + high) / 2 for low, high in pairwise(shown.edges))
    return sum(c * m for c, m in zip(shown.counts, middles, strict=True)) / everything if everything else nan


def is_exact(shown: Distribution) -> bool:
    """Return whether `mean` is that of the logged values and not of the middles of buckets."""
    return shown.moments is not None and shown.moments.sum is not None


def normalized(parts: list[float]) -> list[float]:
    """Return the parts as fractions of the largest one."""
    most = max(parts, default=0.0)
    return [part / most if most else 0.0 for part in parts]


def area_under(precision: tuple[float, ...], recall: tuple[float, ...]) -> float:
    """Return the area under a precision-recall curve by the trapezoidal rule; NaN with fewer than two points."""
    points = sorted(zip(recall, precision, strict=True))
    if len(points) < 2:
        return float("nan")
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
