"""Are two series of a metric equal? One rule for files beside each other, for runs, and for the sources of a curve.

Example: 0.5213 in a log and 0.52 in another one at the same step are equal, 0.53 is not. Two values are equal if
one of these is true:

- they differ by no more than the rounding to float32
- they differ by no more than half of the last decimal with which the coarser series is written
- one is text for people, and they have the same three significant digits
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon import lazy_re as re
from tuimon.model.points import Floats, Indices, Steps

_FLOAT32, _THREE_DIGITS = 1e-6, 5e-3
"""Relative tolerances: a few rounding errors of a float32, and of three significant digits."""
_PRINTED_ZERO = 5.01e-4
"""Values below this are printed as 0.000."""
_COARSEST, _FINEST = 2, 12
"""Least decimals of series, unless they are text, that are rounded rather than whole numbers; most that are counted."""
_SAMPLE = 256
_PREDICTABLE = re.compile(
    r"(?:^|[_/ ])(?:lr|learning[_ ]rate|wd|weight_decay|momentum)(?:_[a-z0-9]+)?$|(?:^|/)"
    r"(?:epoch|(?:global_)?steps?|iter(?:ation)?s?|time|wall_time|timestamp|elapsed|num_tokens|samples|tokens|episodes?)$",
    re.IGNORECASE,
)

Known: TypeAlias = Callable[[], tuple[Steps, Floats]]
"""Returns points, in any order, with which the other series may agree as well."""


class First(NamedTuple):
    """The first difference of two series."""

    step: int
    here: float
    there: float


class Compared(Struct, frozen=True, eq=False):
    """Two series of a metric at their common steps."""

    common: int = 0
    """Number of common steps."""
    differing: int = 0
    """Number of common steps with different values."""
    first: First | None = None
    steps: Steps = field(default_factory=lambda: np.empty(0, np.int64))
    """Common steps, ascending."""
    values: Floats = field(default_factory=lambda: np.empty(0))
    """Values of the first series there."""

    @property
    def without_points(self) -> Compared:
        """The same without `steps` and `values`, which are as long as the series."""
        return Compared(self.common, self.differing, self.first)


def compare_series(
    steps: Steps,
    values: Floats,
    other_steps: Steps,
    other_values: Floats,
    is_text: bool = False,
    known: Known | None = None,
) -> Compared:
    """Compare two series; of several points at one step the last one counts. is_text: one is text for people."""
    steps, values = _ascending(steps, values)
    other_steps, other_values = _ascending(other_steps, other_values)
    if not len(steps) or not len(other_steps):
        return Compared()
    within = slice(*np.searchsorted(other_steps, (steps[0], steps[-1] + 1)).tolist())
    theirs, other_values = other_steps[within], other_values[within]
    rows = np.searchsorted(steps, theirs, "right") - 1
    is_common = steps[rows] == theirs
    is_common[:-1] &= theirs[1:] != theirs[:-1]
    here, there, theirs_common = values[rows[is_common]], other_values[is_common], theirs[is_common]
    wrong = np.flatnonzero(~agree(here, there, is_text)) if len(here) else np.empty(0, np.int64)
    if len(wrong) and known is not None:
        wrong = wrong[~_agree_with(theirs_common[wrong], there[wrong], is_text, *known())]
    first = None
    if len(wrong):
        first = First(int(theirs_common[wrong[0]]), float(here[wrong[0]]), float(there[wrong[0]]))
    return Compared(len(here), len(wrong), first, theirs_common, here)


def agree(here: Floats, there: Floats, is_text: bool = False) -> npt.NDArray[np.bool_]:
    """Return which pairs of values are equal, or both NaN. is_text: one of the series is text for people."""
    relative = _THREE_DIGITS if is_text else _FLOAT32
    with np.errstate(invalid="ignore", over="ignore"):
        result = (here == there) | (np.isnan(here) & np.isnan(there))
        if not result.all():
            written = min(decimals(here), decimals(there))
            half = 0.5001 * 10.0**-written if (0 if is_text else _COARSEST) <= written < _FINEST else 0.0
            tolerance = np.maximum(relative * np.maximum(np.abs(here), np.abs(there)), half)
            result |= (np.abs(here - there) <= tolerance) & np.isfinite(here) & np.isfinite(there)
            if is_text:
                result |= (here * there == 0) & (np.abs(here + there) < _PRINTED_ZERO)
    return np.asarray(result)


def decimals(values: Floats) -> int:
    """Return with how many decimals (up to 12) the finite values are written; 0 if none is finite."""
    if len(values) > _SAMPLE:
        values = values[np.linspace(0, len(values) - 1, _SAMPLE).astype(np.int64)]
    values = np.abs(values[np.isfinite(values)])
    values = values[values < 1e6]
    for count in range(_FINEST):
        scaled = values * 10.0**count
        if (np.abs(scaled - np.rint(scaled)) < 1e-6).all():
            return count
    return _FINEST


@lru_cache(maxsize=4096)
def is_predictable(metric: str) -> bool:
    """Return whether a metric is a schedule, counter or clock. Equal values say nothing then."""
    return _PREDICTABLE.search(metric) is not None


def _ascending(steps: Steps, values: Floats) -> tuple[Steps, Floats]:
    if not (steps[1:] < steps[:-1]).any():
        return steps, values
    order = np.argsort(steps, kind="stable")
    return steps[order], values[order]


def _agree_with(
    steps: Steps, values: Floats, is_text: bool, known_steps: Steps, known: Floats
) -> npt.NDArray[np.bool_]:
    """Return which of the points agree with one of the known points at the same step."""
    known_steps, known = _ascending(known_steps, known)
    left, right = np.searchsorted(known_steps, steps, "left"), np.searchsorted(known_steps, steps, "right")
    result = np.zeros(len(steps), np.bool_)
    for attempt in range(int((right - left).max(initial=0))):
        rows: Indices = np.flatnonzero(left + attempt < right)
        result[rows] |= agree(known[left[rows] + attempt], values[rows], is_text)
    return result
