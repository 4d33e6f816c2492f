"""Steps over all epochs, of rows whose counter begins again with each epoch.

    epoch 1, iter 50   epoch 1, iter 100   epoch 2, iter 50   epoch 2, iter 100      steps 50, 100, 150, 200

A counter begins again if it falls where the epoch rises; the step is then the number of steps in the epochs before plus
the counter. If it goes on where the epoch rises, it counts all epochs, and falls later are restarts of the training. So
are falls while the epoch stays or falls. In the first epoch the counter is the step in either case, so that no point
has to be moved when it turns out which one it is.

An epoch has as many steps as the largest value of its counter, plus the interval of logging if the counter begins at 0.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Floats, Steps

_Mask: TypeAlias = npt.NDArray[np.bool_]
_MAX_STEP = 2**53
_MAX_EPOCHS = 100_000
"""Epochs whose first step is remembered."""


class OverallSteps:
    """Converts counters to steps, batch by batch, independently of the batches."""

    def __init__(self) -> None:
        self.restarts = False
        """Whether the counter begins again with each epoch."""
        self.continues = False
        """Whether the counter counts all epochs."""
        self.first_epoch: float | None = None
        self._epoch: float | None = None
        self._counter = 0
        """The counter of the last row."""
        self._begin = 0
        """Number of steps before the current epoch."""
        self._begins: dict[float, int] = {}
        self._smallest = self._largest = 0
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
                steps[rows[begin:]] = [self._overall(*pair) for pair in pairs]
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
        """Return whether the rows so far show the steps of a log of which they are the end. first_epoch: epoch of the
        first row of the log."""
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
            self.first_epoch = self._epoch
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

    def _overall(self, epoch: float, counter: int) -> int:
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
            self._smallest, self._largest = min(self._smallest, counter), max(self._largest, counter)
        self._epoch, self._counter = epoch, counter
        return self._begin + counter if self._begin < _MAX_STEP else counter

    def _epoch_size(self) -> int:
        if self._smallest > 0:
            return self._largest
        # a shorter interval at the end of an epoch means that its last step is logged in any case
        return self._largest + (max(self._interval, 1) if self._interval == self._longest_interval else 1)
