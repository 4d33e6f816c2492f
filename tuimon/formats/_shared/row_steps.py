"""Steps of the rows of a table: those of rows that name none, and epochs in a log that counts steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Item, Points, Steps

_Mask: TypeAlias = npt.NDArray[np.bool_]

UNKNOWN_STEP = -(2**63)
"""Value of `step_before` that differs from every logged step."""


def numbered_remark(count: int) -> str:
    """Return a note for the user about `count` rows whose step is their number."""
    rows = "1 row has its" if count == 1 else f"{count} rows have their"
    return f"no step recognised: {rows} number as step"


class MissingSteps:
    """Fills in the steps of rows that name none, batch by batch: the step of the previous row, or their number among
    the rows with points if no row before them has a step."""

    def __init__(self, step_before: int | None = None) -> None:
        self.last_step = step_before
        self._count = 0  # rows with points
        self._numbered = 0  # rows with points whose step is their number
        self._without_step = 0
        """Number of rows with points that have the step of the row before them."""

    @property
    def remark(self) -> str:
        """Note for the user about these rows; "" if there are none."""
        if self._numbered:
            return numbered_remark(self._numbered)
        if not self._without_step:
            return ""
        rows = (
            "1 row without a step takes"
            if self._without_step == 1
            else f"{self._without_step} rows without a step take"
        )
        return f"{rows} the step of the row before"

    def fill(self, steps: Steps, has_step: _Mask, has_points: _Mask) -> Steps:
        """Return the steps of all rows of a batch; all arrays have one element per row."""
        if not has_step.all():
            latest = np.maximum.accumulate(np.where(has_step, np.arange(len(steps)), -1))
            before: Any = self._count + np.cumsum(has_points) - 1 if self.last_step is None else self.last_step
            steps = np.where(latest >= 0, steps[latest], before)
            follows = has_points & ~has_step & ((latest >= 0) | (self.last_step is not None))
            self._without_step += int(follows.sum())
            if self.last_step is None:
                self._numbered += int((has_points & (latest < 0)).sum())
        if has_step.any():
            self.last_step = int(steps[-1])
        self._count += int(has_points.sum())
        return steps


class EpochRows:
    """Finds rows that name an epoch and no step in a log that counts steps, batch by batch."""

    def __init__(self) -> None:
        self._first_step: int | None = None
        self._counts_steps = False
        """Whether two rows had different steps that are not epochs."""

    def without_step(self, steps: Steps, has_step: _Mask, by_epoch: _Mask) -> npt.NDArray[np.intp]:
        """Clear `has_step` of rows whose step is an epoch, if rows before them have two other steps; return these."""
        named = has_step & ~by_epoch
        if self._first_step is None:
            if not named.any():
                return np.empty(0, np.intp)
            self._first_step = int(steps[int(named.argmax())])
        counts_steps = self._counts_steps | np.logical_or.accumulate(named & (steps != self._first_step))
        self._counts_steps = bool(counts_steps[-1:].any()) or self._counts_steps
        rows = np.flatnonzero(has_step & by_epoch & counts_steps)
        has_step[rows] = False
        return rows


def with_step(items: Iterable[Item]) -> list[Item]:
    """Return the points whose step is not UNKNOWN_STEP."""
    return [
        points.select(known)
        for points in items
        if isinstance(points, Points) and (known := points.steps != UNKNOWN_STEP).any()
    ]
