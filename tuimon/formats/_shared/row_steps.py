"""Steps of the rows of a table: those of rows that name none, and epochs in a log that counts steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.formats._shared.overall_steps import OverallSteps
from tuimon.formats._shared.rows import BATCH_KEYS
from tuimon.formats._shared.step_unit import StepUnit
from tuimon.model.points import Floats, Item, Points, Steps

_Mask: TypeAlias = npt.NDArray[np.bool_]

COUNTERS = frozenset(
    {"step", "steps", "_step", "iteration", "iterations", "iter", "it", "train/step", "train_step", *BATCH_KEYS}
)
"""Names of steps, in lower case, that some writers count anew in each epoch."""
EPOCHS = frozenset({"epoch", "epochs", "epoch_num", "global_epoch", "total/epochs"})
"""Names of steps, in lower case, that count epochs."""
UNKNOWN_STEP = -(2**63)
"""Value of `step_before` that differs from every logged step."""


def numbered_remark(count: int) -> str:
    """Return a note for the user about `count` rows whose step is their number."""
    rows = "1 row has its" if count == 1 else f"{count} rows have their"
    return f"no step recognised: {rows} number as step"


class StepBatch:
    """What the rows of a batch say of their steps; all arrays have one element per row."""

    def __init__(self, size: int) -> None:
        self.steps: Steps = np.zeros(size, np.int64)
        self.has_step: _Mask = np.zeros(size, np.bool_)
        self.epochs: Floats = np.full(size, np.nan)
        self.counted: _Mask = np.zeros(size, np.bool_)
        """Rows whose step may be counted within an epoch."""
        self.by_epoch: _Mask = np.zeros(size, np.bool_)
        """Rows whose step is the epoch."""

    def set(self, rows: npt.NDArray[np.intp], name: str) -> None:
        """Note that the steps of these rows are of a column with this name."""
        self.has_step[rows] = True
        if name == "epoch":  # "5/10" is a step and no number
            self.epochs[rows] = self.steps[rows]
        self.counted[rows] = name.lower() in COUNTERS
        self.by_epoch[rows] = name.lower() in EPOCHS


class RowSteps:
    """Steps of the rows of one log, batch by batch, independently of the batches."""

    def __init__(self, step_before: int | None = None, unit: StepUnit | None = None) -> None:
        self.missing = MissingSteps(step_before)
        self.overall = OverallSteps()
        self._epoch_rows = EpochRows()
        self._unit = unit or StepUnit()

    def over_epochs(self, batch: StepBatch) -> npt.NDArray[np.intp]:
        """Count steps that begin again with each epoch over all epochs. Return the rows whose epoch is a metric, as
        they have the step of the row before them."""
        self._unit.examine(batch.has_step, batch.by_epoch)
        batch.has_step &= ~(batch.by_epoch & self.overall.same_epoch(batch.epochs, batch.counted))
        by_epoch = batch.by_epoch & ~np.isnan(batch.epochs)
        rows = self._epoch_rows.without_step(batch.steps, batch.has_step, by_epoch)
        batch.steps = self.overall.convert(batch.steps, batch.epochs, batch.counted)
        return rows

    def fill(self, batch: StepBatch, has_points: _Mask) -> Steps:
        """Return the steps of all rows, also of those that name none."""
        return self.missing.fill(batch.steps, batch.has_step, has_points)


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
