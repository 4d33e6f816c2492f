"""The first points of log files, and comparisons of their values at common steps."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache

import numpy as np
from msgspec import Struct

_LIKE = 0.1
"""Relative difference up to which values of a resumed training are like those before."""
NOISE_STEPS = 32
"""Number of steps, the last common one and those before, from which the noise of a metric is estimated."""
_COMPARED_STEPS, _COMPARED_METRICS = 16, 8
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
    """The first points of a file."""

    values: Values
    """Values by metric and step; at least one point."""
    steps: Sequence[int]
    """All steps, ascending."""
    whole: bool
    """Whether the file has no other points."""
    times: Mapping[int, float] = {}
    """Wall time (s since the epoch) by step, of the steps whose time is logged."""
    total: int | None = None
    """Number of steps of the training, if the file says it."""
    unit: str = "step"
    """What its steps are: "step", "epoch", "round" or "iteration"."""
    outcome: tuple[str, str] | None = None
    """(state, cause) at the end of a whole file; None if the training has not ended, as far as is known."""

    @property
    def is_from_scratch(self) -> bool | None:
        """Whether it begins at the first step at which a training can log; None if that is unknown."""
        if self.steps[0] <= 1:
            return True
        return self.steps[0] <= self.steps[1] - self.steps[0] if len(self.steps) > 1 else None


class Relation(Enum):
    """Relation of a file to another one that does not begin at a later step."""

    UNKNOWN = 0
    EQUAL = 1
    """Of one training, with equal values."""
    CONTINUED = 2
    """It is continued by the other one."""
    DIFFERENT = 3
    """Of different trainings."""


class Result(Struct):
    """Comparison of the values of two files at common steps."""

    steps: int = 0
    """Number of common steps."""
    last_step: int = 0
    """Last common step."""
    metrics: int = 0
    """Number of common metrics that are no schedules or counters, and have values at common steps."""
    different: int = 0
    """Number of these metrics with different values."""
    alike: int = 0
    """Number of these metrics whose values are equal or differ as little as from step to step."""


def compared(before: Values, after: Values) -> Result:
    """Compare the first metrics, which is enough, because a directory can have many files."""
    steps: set[int] = set()
    result = Result()
    for metric in sorted(before.keys() & after.keys()):
        common = sorted(before[metric].keys() & after[metric].keys())[-_COMPARED_STEPS:]
        if not common or _is_predictable(metric):
            continue
        here, there = [before[metric][step] for step in common], [after[metric][step] for step in common]
        steps.update(common)
        result.metrics += 1
        if are_equal(here, there):
            result.alike += 1
        else:
            result.different += 1
            history = [value for step, value in sorted(before[metric].items()) if step <= common[-1]]
            result.alike += are_alike(here, there, history[-NOISE_STEPS:])
        if result.metrics == _COMPARED_METRICS:
            break
    result.steps, result.last_step = len(steps), max(steps, default=0)
    return result


def are_equal(here: Sequence[float], there: Sequence[float]) -> bool:
    """Return whether values are equal up to the precision with which they are written, all but one in ten of them."""
    tolerance = 0.51 * 10.0 ** -min(_decimals(here), _decimals(there))
    same = sum(
        a == b or (a != a and b != b) or abs(a - b) <= min(tolerance, _ROUNDED * max(abs(a), abs(b), 1.0))
        for a, b in zip(here, there, strict=True)
    )
    return same >= 0.9 * len(here)


def are_alike(here: Sequence[float], there: Sequence[float], before: Sequence[float]) -> bool:
    """Return whether values differ as little as from step to step. before: values of the first file, up to `here`."""
    pairs = [pair for pair in zip(here, there, strict=True) if all(map(math.isfinite, pair))]
    if not pairs:
        return False
    first, second = np.array(pairs, np.float64).T
    changes = np.abs(np.diff([value for value in before if math.isfinite(value)]))
    noise = 3 * np.median(changes) if len(changes) else 0.0
    return bool(np.median(np.abs(first - second)) <= max(noise, _LIKE * np.median(np.abs(first))))


def _decimals(values: Sequence[float]) -> int:
    """Return the largest number of decimals in the shortest decimal forms of values."""
    forms = (repr(value) for value in values if math.isfinite(value))
    return max((len(form.partition(".")[2]) if "e" not in form else 12 for form in forms), default=0)


@lru_cache(maxsize=4096)
def _is_predictable(metric: str) -> bool:
    """Return whether a metric is a schedule, a counter or a clock, so that its values say nothing."""
    return _PREDICTABLE.search(metric) is not None
