"""Steps of the rows of a table: counters of an epoch, rows that name no step, epochs, and what the steps count.

Steps over all epochs, of rows whose counter begins again with each epoch.

    epoch 1, iter 50   epoch 1, iter 100   epoch 2, iter 50   epoch 2, iter 100      steps 50, 100, 150, 200

A counter begins again if it falls where the epoch rises; the step is then the number of steps in the epochs before plus
the counter. If it goes on where the epoch rises, it counts all epochs, and falls later are restarts of the training. So
are falls while the epoch stays or falls. In the first epoch the counter is the step in either case, so that no point
has to be moved when it turns out which one it is.

An epoch has as many steps as the largest value of its counter, plus the interval of logging if the counter begins at 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.formats._shared.rows import BATCH_KEYS
from tuimon.model.points import Fact, Floats, Item, Points, Steps, Topic

_Mask: TypeAlias = npt.NDArray[np.bool_]

_MAX_STEP = 2**53
_MAX_EPOCHS = 100_000
"""Epochs whose first step is remembered."""
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


class OverallSteps:
    """Converts counters to steps, batch by batch, independently of the batches."""

    def __init__(self) -> None:
        self.restarts = False
        """Whether the counter begins again with each epoch."""
        self.continues = False
        """Whether the counter counts all epochs."""
        self._epoch: float | None = None
        self._counter = 0
        """The counter of the last row."""
        self._begin = 0
        """Number of steps before the current epoch."""
        self._begins: dict[float, int] = {}
        self._smallest = self._largest = 0
        """Counters: the smallest of the log, and the largest of the current epoch."""
        self._size = 1
        """Number of steps of the last epoch whose size is known."""
        self._interval = self._longest_interval = 0
        """Last and largest difference of neighbouring counters of an epoch."""

    def convert(self, steps: Steps, epochs: Floats, counted: _Mask) -> Steps:
        """Return the steps of the rows. All arrays have one element per row; epochs: NaN if unknown; counted: whether
        the step is a counter."""
        rows = np.flatnonzero(counted & ~np.isnan(epochs))
        if not len(rows):
            return steps
        epoch, counter = epochs[rows], steps[rows]
        if not self.continues:
            begin = 0 if self.restarts else self._first_restart(epoch, counter)
            self._note(epoch[:begin], counter[:begin])
            if begin < len(rows) and not self.continues:
                self.restarts = True
                steps = steps.copy()
                pairs = zip(epoch[begin:].tolist(), counter[begin:].tolist(), strict=True)
                steps[rows[begin:]] = [self.overall(*pair) for pair in pairs]
        self._epoch = float(epoch[-1])
        return steps

    def same_epoch(self, epochs: Floats, counted: _Mask) -> _Mask:
        """Return which rows without a counter have the epoch of the last row with one. To be called before `convert`
        for the same rows."""
        rows = np.where(counted & ~np.isnan(epochs), np.arange(len(epochs)), -1)
        latest = np.maximum.accumulate(rows)
        before = np.nan if self._epoch is None else self._epoch
        of_latest: Any = np.where(latest >= 0, epochs[latest], before)
        same: _Mask = ~counted & (epochs == of_latest)
        return same

    def known_from(self, first_epoch: float | None) -> bool:
        """Return whether the steps of these rows, the last ones of a log, are known without the rows before them.

        first_epoch: epoch of the first row of the log.
        """
        return self._epoch is None or self.continues or (not self.restarts and self._epoch == first_epoch)

    def _first_restart(self, epoch: Floats, counter: Steps) -> int:
        """Return the first row in which the counter begins again, or the number of rows. Notes if it goes on."""
        epoch_before = np.append(epoch[0] if self._epoch is None else self._epoch, epoch[:-1])
        counter_before = np.append(counter[0] if self._epoch is None else self._counter, counter[:-1])
        rises = epoch > epoch_before
        goes_on = (rises & (counter > counter_before)) | (epoch != np.floor(epoch)) | (np.abs(counter) > _MAX_STEP)
        decided = np.flatnonzero(goes_on | (rises & (counter < counter_before)))
        if not len(decided):
            return len(epoch)
        self.continues = bool(goes_on[decided[0]])
        return int(decided[0])

    def _note(self, epoch: Floats, counter: Steps) -> None:
        """Note rows whose counter is the step."""
        if not len(epoch):
            return
        if self._epoch is None:
            self._smallest = self._largest = int(counter[0])
            self._epoch, self._counter = float(epoch[0]), int(counter[0])
        epoch_before = np.append(self._epoch, epoch[:-1])
        differences = np.diff(counter, prepend=self._counter)[epoch == epoch_before]
        differences = differences[differences > 0]
        if len(differences):
            self._interval = int(differences[-1])
            self._longest_interval = max(self._longest_interval, int(differences.max()))
        self._smallest = min(self._smallest, int(counter.min()))
        self._largest = max(self._largest, int(counter.max()))
        if len(self._begins) < _MAX_EPOCHS:
            self._begins |= dict.fromkeys(np.unique(epoch).tolist(), 0)
        self._epoch, self._counter = float(epoch[-1]), int(counter[-1])

    def overall(self, epoch: float, counter: int) -> int:
        """Return the step of the next row of a log whose counter begins again with each epoch."""
        if self._epoch is None:
            self._smallest = self._largest = counter
        before = epoch if self._epoch is None else self._epoch
        if epoch < before:
            self._begin = self._begins.get(epoch, 0)
        elif epoch > before and counter <= self._counter:
            self._begin += self._epoch_size() * (int(epoch - before) if epoch - before < _MAX_EPOCHS else 1)
        elif epoch == before and counter > self._counter:
            self._interval = counter - self._counter
            self._longest_interval = max(self._longest_interval, self._interval)
        if epoch != before and len(self._begins) < _MAX_EPOCHS:
            self._begins[epoch] = self._begin
        if abs(counter) < _MAX_STEP:
            self._smallest = min(self._smallest, counter)
            self._largest = max(self._largest, counter) if epoch == before else counter
        self._epoch, self._counter = epoch, counter
        return self._begin + counter if self._begin < _MAX_STEP else counter

    def _epoch_size(self) -> int:
        """Return the number of steps of the epoch that ends, or of the one before if only its step 0 is known."""
        if self._smallest > 0:
            self._size = self._largest
        elif self._largest:
            # a shorter interval at the end of an epoch means that its last step is logged in any case
            self._size = self._largest + (max(self._interval, 1) if self._interval == self._longest_interval else 1)
        return self._size


class StepUnit:
    """Unit of the steps of one log, decided row by row and so independently of the batches.

    A progress fact names the unit of the first row with a step if it is not "step", and "step" as soon as a later row
    has another unit.
    """

    def __init__(self) -> None:
        self._unit = ""
        self._new: list[tuple[int, Fact]] = []

    def examine(self, has_step: _Mask, is_epoch: _Mask) -> None:
        """Examine the next rows. has_step: whether a row has a step; is_epoch: whether that step is its epoch."""
        rows = np.flatnonzero(has_step)
        if self._unit == "step" or not len(rows):
            return
        self.note("epoch" if is_epoch[rows[0]] else "step", int(rows[0]))
        others = rows[~is_epoch[rows]]
        if len(others):
            self.note("step", int(others[0]))

    def note(self, unit: str, row: int = 0) -> None:
        """Record the unit of the step of the next row: "step", "epoch", "round" or "iteration". row: its index."""
        if unit == self._unit or self._unit == "step":
            return
        if self._unit:
            unit = "step"
        if self._unit or unit != "step":
            self._new.append((row, Fact(Topic.PROGRESS, {"unit": unit})))
        self._unit = unit

    def take(self) -> list[Fact]:
        """Return the facts since the last call, and forget them."""
        return [fact for _, fact in self.take_by_row()]

    def take_by_row(self) -> list[tuple[int, Fact]]:
        """Return (index of the row among those examined, fact) for each fact since the last call, and forget them."""
        new, self._new = self._new, []
        return new


def with_step(items: Iterable[Item]) -> list[Item]:
    """Return the points whose step is not UNKNOWN_STEP."""
    return [
        points.select(known)
        for points in items
        if isinstance(points, Points) and (known := points.steps != UNKNOWN_STEP).any()
    ]
