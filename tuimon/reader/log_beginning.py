"""The first points of a log, and whether two logs have equal values at equal steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from tuimon import lazy_re as re

_COMPARED_STEPS, _COMPARED_METRICS = 8, 3
"""Maximum number of common steps, the last ones, and of metrics that are compared."""
_ROUNDED = 5e-3
"""Relative difference of two values (absolute below 1) that can be due to rounding."""
_PREDICTABLE = re.compile(
    r"(?:^|[_/ ])(?:lr|learning[_ ]rate|wd|weight_decay|momentum)(?:_[a-z0-9]+)?$|(?:^|/)"
    r"(?:epoch|(?:global_)?steps?|iter(?:ation)?s?|time|wall_time|timestamp|elapsed|num_tokens|samples|tokens|episodes?)$",
    re.IGNORECASE,
)

Values = dict[str, dict[int, float]]
"""Values by metric and step."""


class Beginning(Struct, frozen=True):
    """The first points of a log."""

    values: Values
    """Values by metric and step; at least one point."""
    steps: Sequence[int]
    """All steps, ascending."""
    times: Mapping[int, float] = {}
    """Wall time (s since the epoch) by step, of the steps whose time is logged."""

    @property
    def stride(self) -> int:
        """Distance of the first two steps; 1 if there is only one."""
        return self.steps[1] - self.steps[0] if len(self.steps) > 1 else 1

    @property
    def is_from_scratch(self) -> bool | None:
        """Whether it begins at the first step at which a training can log; None if that is unknown."""
        if self.steps[0] <= 1:
            return True
        return self.steps[0] <= self.stride if len(self.steps) > 1 else None


class Comparison(Struct):
    """The values of two logs at common steps."""

    steps: int = 0
    """Number of common steps."""
    metrics: int = 0
    """Number of common metrics that are no schedules or counters, and have values at common steps."""
    different: int = 0
    """Number of these metrics with different values."""


def compared(before: Values, after: Values) -> Comparison:
    """Compare the first metrics, which is enough, because a directory can have many files."""
    steps: set[int] = set()
    result = Comparison()
    for metric in sorted(before.keys() & after.keys()):
        common = sorted(before[metric].keys() & after[metric].keys())[-_COMPARED_STEPS:]
        if not common or is_predictable(metric):
            continue
        steps.update(common)
        result.metrics += 1
        result.different += not _are_equal(
            [before[metric][step] for step in common], [after[metric][step] for step in common]
        )
        if result.metrics == _COMPARED_METRICS:
            break
    result.steps = len(steps)
    return result


@lru_cache(maxsize=4096)
def is_predictable(metric: str) -> bool:
    """Return whether a metric is a schedule, a counter or a clock, so that its values say nothing."""
    return _PREDICTABLE.search(metric) is not None


def _are_equal(here: Sequence[float], there: Sequence[float]) -> bool:
    """Return whether values are equal up to the precision with which they are written, all but one in ten of them."""
    tolerance = 0.51 * 10.0 ** -min(_decimals(here), _decimals(there))
    same = sum(
        a == b or (a != a and b != b) or abs(a - b) <= min(tolerance, _ROUNDED * max(abs(a), abs(b), 1.0))
        for a, b in zip(here, there, strict=True)
    )
    return same >= 0.9 * len(here)


def _decimals(values: Sequence[float]) -> int:
    """Return the largest number of decimals in the shortest decimal forms of values."""
    forms = (repr(value) for value in values if math.isfinite(value))
    return max((len(form.partition(".")[2]) if "e" not in form else 12 for form in forms), default=0)
